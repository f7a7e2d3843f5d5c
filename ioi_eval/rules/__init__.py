"""Decisions without I/O: plans, verdicts, scores, extraction, selection, metrics and limits.

Functions in this package convert values to values. Code that reads files belongs in `store`, code that runs
programs in `engines`.
"""
