"""Decisions without I/O: plans, verdicts, scores, extraction, selection, metrics, limits.

A rule takes values and returns values. What reads files belongs into `store`, what runs programs into
`engines`.
"""
