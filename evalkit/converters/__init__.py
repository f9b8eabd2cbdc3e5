"""Raw output of a system to blocks and markdown, one file a format family."""
