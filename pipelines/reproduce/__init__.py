"""The papers' experiments: measured cells in a tidy CSV, a plot, and a verdict for each claim."""
