"""Helpers of the tests, and the internal names of the package that several tests import.

A test imports public names, this package, and the module that it tests. If an internal name moves to another
module, only one import changes here.
"""
