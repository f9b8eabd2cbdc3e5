"""Scripts that make data and documents of this repository."""
