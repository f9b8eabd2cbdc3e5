"""Starting and stopping the servers that parsers run on."""
