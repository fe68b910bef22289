"""Tests: clients, clusters and workers that somebody else started."""
