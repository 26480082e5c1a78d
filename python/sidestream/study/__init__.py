"""Runs in the hands of those who study them: plots, families of runs, comparison with measurements."""
