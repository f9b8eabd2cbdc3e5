"""Parsers of two stages: a layout request for the page, then a request for each region."""
