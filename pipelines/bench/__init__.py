"""The benches: our figures beside the peers' and beside the machine's limits, all measured in one run.

Ours and the peer take turns, medians are compared, and nothing is judged on a busy machine.
"""
