"""Tests of `pipelines/reproduce`."""
