"""Benchmarks: what `sidestream bench` starts, and how it tells what came out."""
