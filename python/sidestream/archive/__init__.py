"""Copies of runs in other places: what is in them, whether it is good, and parts of it back."""
