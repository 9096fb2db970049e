"""What a tree minimises: the split criteria and their names."""
