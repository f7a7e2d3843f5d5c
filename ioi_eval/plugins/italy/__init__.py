"""Packages in CMS's italy_yaml format."""
