"""Packages of DMOJ's judge, and OJBench, whose problems are such packages."""
