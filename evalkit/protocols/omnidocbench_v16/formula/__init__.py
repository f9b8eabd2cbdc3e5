"""Matching of display formulas: candidates, their cost, and the cheapest."""
