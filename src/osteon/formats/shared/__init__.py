"""What several formats need: text, numbers, units, guesses."""
