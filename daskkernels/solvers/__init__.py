"""Layer 4: loops over passes. A solver takes rows, a kernel, numbers and a runtime, and returns a frozen
result.
"""
