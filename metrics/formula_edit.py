"""Formula edit distance over normalised LaTeX, 0 best; CDM judges formulas by what they look like."""

from metrics.edit_distance import EditDistance

METRIC = EditDistance("formula_edit")
