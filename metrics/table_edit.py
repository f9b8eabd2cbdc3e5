"""Table edit distance over normalised HTML, 0 best; TEDS judges tables by their tree."""

from metrics.edit_distance import EditDistance

METRIC = EditDistance("table_edit", "Edit distance of tables as HTML / length of the longer side; 0 is best.")
