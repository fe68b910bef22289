"""Tests: what broke neighbouring systems; docstrings name the public reports, a file or two a section."""
