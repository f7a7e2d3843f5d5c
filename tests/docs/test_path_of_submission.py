"""docs/architecture.md lists the functions from the command `score` to an engine. Each of them exists."""

import importlib
import operator
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
FUNCTION = re.compile(r"^\| \d+ \| `(?P<module>[\w/]+)\.py:(?P<name>[\w.]+)` \|$", re.MULTILINE)


def test_functions_of_submission_path_exist() -> None:
    functions = list(FUNCTION.finditer(PAGE.read_text()))
    assert len(functions) == 18
    for function in functions:
        module = importlib.import_module(f"ioi_eval.{function['module'].replace('/', '.')}")
        assert callable(operator.attrgetter(function["name"])(module))
