"""How the protocol takes a page's markdown apart into text, formulas and tables."""
