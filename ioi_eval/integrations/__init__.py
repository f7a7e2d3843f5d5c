"""Connections to other programs: trainers, evaluation libraries and existing pipelines.

Users import these modules one by one. Only they and the command line read environment variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

from ioi_eval.errors import ExtraMissing
from ioi_eval.model.text import format_install_command

# Modules by extra, in two groups: an environment can have only one version of the package mcp, 2 or 1.
_MCP_GROUPS: tuple[Mapping[str, str], ...] = (
    {"mcp": "mcp.server.mcpserver", "verifiers": "verifiers"},
    {"openenv": "openenv", "eval-protocol": "eval_protocol"},
)


@contextmanager
def require_extra(extra: str) -> Iterator[None]:
    """Import the packages of an extra in a `with` block.

    Raises:
        ExtraMissing: A package is missing. The message says how to install the extra.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed. {format_install_command(extra)}"
        raise ExtraMissing(message + _describe_mcp_conflict(extra), name=error.name) from None


def _describe_mcp_conflict(extra: str) -> str:
    """Return the end of the message if an installed package needs another version of mcp than the extra."""
    other_modules = {
        name: module for group in _MCP_GROUPS if extra not in group for name, module in group.items()
    }
    if all(extra not in group for group in _MCP_GROUPS):
        return ""
    installed_extras = [name for name, module in other_modules.items() if _is_installed(module)]
    if not installed_extras:
        return ""
    verb = "needs" if len(installed_extras) == 1 else "need"
    extra_names = " and ".join(installed_extras)
    return f", in another environment: {extra_names} {verb} another version of the package mcp"


def _is_installed(module: str) -> bool:
    """Return True if the module can be found. It is not imported, but its packages are."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
