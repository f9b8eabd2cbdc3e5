"""CDM, the formula score: typeset both formulas, box every token, match the boxes (see docs/cdm.md)."""
