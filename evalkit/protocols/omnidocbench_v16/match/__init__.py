"""Which annotated block each piece of a prediction is compared with."""
