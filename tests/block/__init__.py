"""Tests: pure functions of one block of rows, against numpy in float64."""
