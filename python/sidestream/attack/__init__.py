"""Attacks on the programs themselves: what is killed, damaged, limited or absurd, and what has to hold then."""
