"""The package registry of pip's settings, as environment variables for pip and uv.

`python -m support.pip_registry` prints the variables for uv as shell exports.
"""

from __future__ import annotations

import ast
import shlex
import subprocess
import sys
from collections.abc import Mapping

_FOR_UV = {
    "PIP_INDEX_URL": "UV_DEFAULT_INDEX",
    "PIP_EXTRA_INDEX_URL": "UV_INDEX",
    "PIP_CERT": "SSL_CERT_FILE",
}


def pip_settings() -> dict[str, str]:
    """Return pip's current settings as environment variables."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    settings = {}
    for line in sorted(listed.splitlines(), key=lambda line: line.startswith(":env:")):  # the last one wins
        name, _, value = line.partition("=")
        settings[f"PIP_{name.rpartition('.')[2].replace('-', '_').upper()}"] = str(ast.literal_eval(value))
    return settings


def for_uv(pip: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which uv uses pip's registry."""
    settings = {_FOR_UV[name]: value for name, value in pip.items() if name in _FOR_UV}
    if links := pip.get("PIP_FIND_LINKS"):
        settings["UV_FIND_LINKS"] = ",".join(links.split())
    return {**settings, "UV_INDEX_STRATEGY": "unsafe-best-match"}  # pip also compares all indexes


if __name__ == "__main__":
    for name, value in for_uv(pip_settings()).items():
        print(f"export {name}={shlex.quote(value)}")
