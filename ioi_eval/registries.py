"""The registries by which plugins extend the core: groups of entry points of installed packages.

The plugins in `ioi_eval/plugins` register in the package's own pyproject.toml, exactly as other people's
packages do. Nothing outside that folder imports one, so that the core runs when a plugin is removed.
docs/extending.md has an example for each registry.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from ioi_eval.model.errors import InputError

VIEW_PAGE = "view."  # prefix of entries of `ROUTES` that are pages of the live view
_PLUGINS, _FOLDER = "ioi_eval.plugins", Path(__file__).parent / "plugins"


class MissingPlugin(InputError):
    """Something that only a plugin of ours can do, and the plugin was removed."""


class Registry(StrEnum):
    """A group of entry points, by what its entries are."""

    FORMATS = "ioi_eval.formats"  # a module or an object with the three functions of a package format
    BENCHMARKS = "ioi_eval.benchmarks"  # a class derived from Benchmark
    ENGINES = "ioi_eval.engines"  # a function from an EngineSetup to an Engine
    COMMANDS = "ioi_eval.commands"  # a function of one command of ioi-eval, as for typer; or COMMAND.PART
    ROUTES = "ioi_eval.routes"  # makes PluginRoutes of WorkerParts; `view.NAME`: a page of the live view
    REPORT_SECTIONS = "ioi_eval.report_sections"  # a class derived from `ReportPart`


def registered(registry: Registry) -> dict[str, Any]:
    """Load all entries of a registry, by name. Raise InputError if one cannot be loaded."""
    return {entry.name: _loaded(entry) for entry in _entries(registry) if not removed_plugin(entry)}


def registered_names(registry: Registry) -> list[str]:
    """Return the names of the entries that can be loaded, in order, and load none."""
    return [entry.name for entry in _entries(registry) if not removed_plugin(entry)]


def registered_versions(registry: Registry) -> list[str]:
    """Return what tells the code of the entries apart: their names, places and packages' versions."""
    return [
        f"{entry.name} {entry.value} {entry.dist.name if entry.dist else ''}"
        f" {entry.dist.version if entry.dist else ''}"
        for entry in _entries(registry)
    ]


def find_registered(registry: Registry, name: str) -> Any:
    """Load one entry; None if the registry has none of this name.

    Raises:
        MissingPlugin: The entry belongs to a plugin of ours that was removed.
        InputError: The entry cannot be loaded.
    """
    for entry in _entries(registry):
        if entry.name == name:
            if plugin := removed_plugin(entry):
                raise needs_plugin(f"{name} needs", plugin)
            return _loaded(entry)
    return None


def needs_plugin(subject: str, plugin: str) -> MissingPlugin:
    """Return the error about something that only a plugin of ours can do, if that plugin was removed.

    `subject`: the beginning of the message, as "DMOJ packages need".
    """
    remedy = (
        f"Install an ioi-eval that has ioi_eval/plugins/{plugin}; an installed checkout: install it again"
    )
    return MissingPlugin(f"{subject} the plugin {plugin}", remedy=remedy)


def removed_plugin(entry: EntryPoint) -> str:
    """Return the name of the plugin of ours that an entry belongs to if it was removed; else nothing."""
    if not entry.module.startswith(f"{_PLUGINS}."):
        return ""
    plugin = entry.module.split(".")[2]
    return "" if (_FOLDER / plugin / "__init__.py").is_file() else plugin


def _entries(registry: Registry) -> Iterator[EntryPoint]:
    yield from sorted(entry_points(group=registry.value), key=lambda entry: entry.name)


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        owner = entry.dist.name if entry.dist else "an installed package"
        raise InputError(
            f"{entry.name!r} ({entry.group}) cannot be loaded ({error})",
            where=owner,
            remedy="Mend that package or uninstall it",
        ) from error
