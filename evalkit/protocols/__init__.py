"""Scoring protocols: what is compared with what, and by which rules."""
