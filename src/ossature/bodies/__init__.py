"""Recording → Bodies: which markers move together, and where those bodies are."""
