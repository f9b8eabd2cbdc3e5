"""Table edit distance over normalised HTML, 0 best; TEDS judges tables by their tree."""

from metrics.edit_distance import EditDistance

METRIC = EditDistance("table_edit")
