"""HTML reports made from the files of a run; they read, and never score."""
