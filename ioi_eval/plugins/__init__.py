"""Plugins that come with the package: formats, benchmarks and doors that few need.

The core imports none of them and runs when a folder here is removed: each registers in pyproject.toml, as an
installed third-party package does (`ioi_eval/registries.py`). A plugin may import the core, and
nothing inside another plugin.
"""
