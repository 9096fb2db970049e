"""The plan of a tree and its growing: the one place where Python calls the growers of the core."""
