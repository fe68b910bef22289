"""Tests: what comes from outside, altered at random: stores, models, arguments."""
