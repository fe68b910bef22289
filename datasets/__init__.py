"""Named data: what a data set is, where its raw file lies, and how that becomes a Zarr dataset.

Runs in the client, from the checkout (`python -m datasets`), and is never installed.
"""
