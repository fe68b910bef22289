"""One file for each named data set, holding its frozen specification and nothing else.

`registry` lists them.
"""
