"""Learning from labelled data: training a kernel machine, testing it, and predicting with a saved one.

The jobs are `train` and `predict`; what they hand on are the frozen records of `records`.
"""
