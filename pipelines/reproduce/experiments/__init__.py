"""One file for each experiment: its cells, how one is measured, what the paper claims, and the plot."""
