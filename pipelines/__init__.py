"""End-to-end jobs with a command line: raw file or Zarr dataset in, labels, figures and a report out.

Only wires the library together: no numerics, no function of its own sent to a worker, never installed.
"""
