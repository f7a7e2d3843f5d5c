"""Names of the pages beside report.html.

Names are hashes, because keys and problems are text of others.
"""

from __future__ import annotations

import hashlib

FOLDER, ALL = "report", "submissions.html"
EQUAL = "equal"  # the place on a problem's page that lists equal programs


def submission_page(key: str) -> str:
    return f"submission-{_hash(key)}.html"


def part_page(number: int) -> str:
    """Return the page with a part of a long list of all submissions; parts count from 0."""
    return f"submissions-{number + 1}.html"


def is_sampled(key: str, step: int) -> bool:
    """Return True for one key of so many, always the same one."""
    return drawn(key) % step == 0


def drawn(key: str) -> int:
    """Return the number of a key by which samples are drawn."""
    return int(_hash(key)[-15:], 16)


def problem_page(problem: str) -> str:
    return f"problem-{_hash(problem)}.html"


def attempts_script(problem: str) -> str:
    return f"attempts-{_hash(problem)}.js"


def model_page(model: str) -> str:
    return f"model-{_hash(model)}.html"


def model_anchor(model: str) -> str:
    return f"m-{_hash(model)}"


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:16]
