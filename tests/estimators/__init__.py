"""Tests: the estimators against dense references, and bit for bit against themselves."""
