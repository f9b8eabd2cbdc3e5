"""Measures, one file each: of accuracy and of speed."""
