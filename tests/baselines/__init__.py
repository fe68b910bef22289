"""Tests of the methods that the papers compare with."""
