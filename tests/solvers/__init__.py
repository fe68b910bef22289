"""Tests: loops over passes, run on small rows through Dask's own schedulers."""
