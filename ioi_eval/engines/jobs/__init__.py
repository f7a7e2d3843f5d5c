"""Builds and tests as jobs of an engine."""
