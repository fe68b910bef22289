"""Tests: faults that are put into real worker processes while a fit runs."""
