"""The regression gate: a run judged against a baseline by rules, with intervals from its own pages and repeats."""
