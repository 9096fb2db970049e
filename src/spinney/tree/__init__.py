"""What a fitted tree is, and what can be read from it: prediction, rules, text, pruning, cost."""
