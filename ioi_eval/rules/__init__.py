"""Decisions without I/O: plans, verdicts, scores, extraction, selection, metrics and limits.

Functions here take values and return values. Code that reads files belongs in `store`, code that runs
programs in `engines`.
"""
