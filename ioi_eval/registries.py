"""Registries: groups of entry points through which installed packages extend ioi_eval.

The plugins in `ioi_eval/plugins` are registered in pyproject.toml, like those of other packages. No module
outside that folder imports a plugin, so plugins may be removed. docs/extending.md has an example for each
registry.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from ioi_eval.model.errors import InputError

VIEW_PAGE = "view."  # prefix for names of entries in `ROUTES` that are pages of the live view
_PLUGINS, _FOLDER = "ioi_eval.plugins", Path(__file__).parent / "plugins"


class MissingPlugin(InputError):
    """A plugin in `ioi_eval/plugins` is needed, and was removed."""


class Registry(StrEnum):
    """A group of entry points."""

    # Package formats: a module or an object with the three functions of a format.
    FORMATS = "ioi_eval.formats"
    BENCHMARKS = "ioi_eval.benchmarks"  # benchmarks: a class derived from Benchmark
    ENGINES = "ioi_eval.engines"  # engines: a function that creates an Engine from an EngineSetup
    # Commands of ioi-eval: a typer function; the name is COMMAND or COMMAND.PART.
    COMMANDS = "ioi_eval.commands"
    # Routes of a worker: a function from WorkerParts to PluginRoutes; an entry `view.NAME` is a page of the
    # live view.
    ROUTES = "ioi_eval.routes"
    REPORT_SECTIONS = "ioi_eval.report_sections"  # sections of reports: a class derived from `ReportPart`


def load_entries(registry: Registry) -> dict[str, Any]:
    """Load and return all entries of a registry, by name. Raises InputError if one cannot be loaded."""
    return {
        entry.name: _load_entry_point(entry)
        for entry in _list_entry_points(registry)
        if not find_removed_plugin_name(entry)
    }


def list_entry_names(registry: Registry) -> list[str]:
    """Return the sorted names of a registry's entries without loading them."""
    return [entry.name for entry in _list_entry_points(registry) if not find_removed_plugin_name(entry)]


def list_entry_versions(registry: Registry) -> list[str]:
    """Return a string for each entry with its name, its object, and its package's name and version."""
    return [
        f"{entry.name} {entry.value} {entry.dist.name if entry.dist else ''}"
        f" {entry.dist.version if entry.dist else ''}"
        for entry in _list_entry_points(registry)
    ]


def load_entry(registry: Registry, name: str) -> Any:
    """Load and return an entry, or return None if the registry has no such entry.

    Raises:
        MissingPlugin: The entry belongs to a plugin in `ioi_eval/plugins` that was removed.
        InputError: The entry cannot be loaded.
    """
    for entry in _list_entry_points(registry):
        if entry.name == name:
            if plugin := find_removed_plugin_name(entry):
                raise missing_plugin_error(f"{name} needs", plugin)
            return _load_entry_point(entry)
    return None


def missing_plugin_error(subject: str, plugin: str) -> MissingPlugin:
    """Return the error for a removed plugin. `subject`: start of the message, as "DMOJ packages need"."""
    remedy = (
        f"Install an ioi-eval that has ioi_eval/plugins/{plugin}; an installed checkout: install it again"
    )
    return MissingPlugin(f"{subject} the plugin {plugin}", remedy=remedy)


def find_removed_plugin_name(entry: EntryPoint) -> str:
    """Return the name of an entry point's plugin if `ioi_eval/plugins` lacks it, else an empty string."""
    if not entry.module.startswith(f"{_PLUGINS}."):
        return ""
    plugin = entry.module.split(".")[2]
    return "" if (_FOLDER / plugin / "__init__.py").is_file() else plugin


def _list_entry_points(registry: Registry) -> Iterator[EntryPoint]:
    yield from sorted(entry_points(group=registry.value), key=lambda entry: entry.name)


def _load_entry_point(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        owner = entry.dist.name if entry.dist else "an installed package"
        raise InputError(
            f"{entry.name!r} ({entry.group}) cannot be loaded ({error})",
            where=owner,
            remedy="Repair or uninstall that package",
        ) from error
