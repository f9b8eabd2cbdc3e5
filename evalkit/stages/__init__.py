"""The five stages: each a folder in and a folder out."""
