"""Reading a package's YAML: the same faults as for JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ioi_eval.problems.fields import Faults


def read_yaml(folder: Path, file: str, faults: Faults) -> dict[str, Any] | None:
    """The mapping in a file, empty for an empty file; None once it is noted why there is none."""
    try:
        value = _parsed((folder / file).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        faults.add("missing file", file, remedy="Add it; is this the package's folder?")
    except UnicodeDecodeError as error:
        row = error.object.count(b"\n", 0, error.start) + 1
        faults.add("not UTF-8", file, row=row, remedy="Save it as UTF-8")
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        faults.add(f"broken YAML: {error.problem}", file, row=line, remedy="Correct it in the file")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        words = " ".join(str(error).split())
        faults.add(f"broken YAML: {words}", file, remedy="Correct it in the file")
    else:
        if isinstance(value, dict):
            return value
        if value is None:
            return {}
        faults.add("not a YAML mapping", file, remedy="Expected lines `key: value`")
    return None


def _without_blanks(value: dict[Any, Any]) -> dict[str, Any]:
    """A key without a value is as good as none."""
    return {
        str(key): _without_blanks(inner) if isinstance(inner, dict) else inner
        for key, inner in value.items()
        if inner is not None
    }


def _parsed(text: str) -> Any:
    """Without aliases: a few lines of them can stand for more values than there is memory."""
    for token in yaml.scan(text):
        if isinstance(token, yaml.AliasToken):
            raise yaml.MarkedYAMLError(problem="aliases are not taken", problem_mark=token.start_mark)
    value = yaml.safe_load(text)
    return _without_blanks(value) if isinstance(value, dict) else value
