"""Generator of the built-in page set: draws pages, and writes their exact truth and recorded streams."""
