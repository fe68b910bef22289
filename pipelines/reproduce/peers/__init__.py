"""Ours and other packages on the same rows: a method is measured in a process of its own, within limits."""
