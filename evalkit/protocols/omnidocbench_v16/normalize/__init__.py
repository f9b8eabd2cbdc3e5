"""How the protocol normalises text, formulas and tables before it compares them."""
