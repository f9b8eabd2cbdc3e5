"""Text edit distance: how far normalised predicted text is from the truth, 0 best."""

from metrics.edit_distance import EditDistance

METRIC = EditDistance("text_edit", "Edit distance of text / length of the longer side; 0 is best.")
