"""Frozen words that everything else speaks: values, errors, languages, and what proctor and package say.

Nothing here reads a file, starts a program or knows a contest's rules.
"""
