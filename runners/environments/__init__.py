"""Environments of vendors' programs: one lock file each, made on demand and apart from evalkit's own."""
