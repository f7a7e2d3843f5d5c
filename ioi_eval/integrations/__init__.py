"""Doors for other people's programs: trainers, evaluation libraries, pipelines that exist already.

Each module is imported by who uses it. They alone, besides the command line, read the environment.
"""
