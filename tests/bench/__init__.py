"""Measurements against peers, side by side in one run: `python -m tests.bench [--quick] [--json FILE]`."""
