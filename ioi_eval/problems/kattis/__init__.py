"""Read problem packages in the ICPC's format (Kattis): version `legacy` and the newer versions."""
