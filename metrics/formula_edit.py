"""Formula edit distance over normalised LaTeX, 0 best; CDM judges formulas by what they look like."""

from metrics.edit_distance import EditDistance

METRIC = EditDistance("formula_edit", "Edit distance of formulas as LaTeX / length of the longer side; 0 is best.")
