from pathlib import Path

grapes = Path("input.txt").read_text().split()[1:]
Path("output.txt").write_text(f"{sum(map(int, grapes[:10]))}\n")
