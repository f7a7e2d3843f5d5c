"""Audits of the tests of a source of problems."""
