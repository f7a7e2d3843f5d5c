"""Frozen values that all other packages use: problems, results, errors, languages, messages to the proctor.

Nothing here reads a file, starts a program or contains the rules of a contest.
"""
