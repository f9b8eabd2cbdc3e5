"""Figures that papers, model cards and leaderboards have published, each with its source; never measured here."""
