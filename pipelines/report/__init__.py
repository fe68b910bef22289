"""The report: one HTML file that needs nothing else, made from the record of a finished job.

Drawn by matplotlib, readable on a light or a dark screen and on paper, with a text for each picture.
"""

from pipelines.report.page import render, write_report

__all__ = ["render", "write_report"]
