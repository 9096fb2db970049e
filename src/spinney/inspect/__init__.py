"""Reading a fitted model: rules, text and the words that both share."""
