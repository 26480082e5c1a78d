"""A run folder and what is in it: results, events, outputs, and what they add up to."""
