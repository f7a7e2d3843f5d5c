"""What several tests need of the package beyond its public names, and helpers of their own.

A test imports public names, this package, and, where it tests one module on purpose, that module. What moves
in the package then moves in one line here.
"""
