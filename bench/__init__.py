"""Measurements; `python -m bench` runs them all. See docs/benchmarks.md."""
