"""Benchmarks behind every claim of speed; they measure ratios side by side."""
