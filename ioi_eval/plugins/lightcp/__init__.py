"""Packages of LightCPVerifier, and LiveCodeBench Pro, whose problems are such packages."""
