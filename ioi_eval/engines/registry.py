"""Engines by the name that a user gives: those that come with the package, and those that others install.

A new engine is a function from an `EngineSetup` to an `Engine` or a `Transport`, and one entry: in the table
here, or in the entry point group `ioi_eval.engines` of any installed package. docs/extending.md shows one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import entry_points

from ioi_eval.engines import Engine, Transport
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import near
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value
from ioi_eval.store import Store

GROUP = "ioi_eval.engines"
EMBEDDED, RAY = "embedded", "ray"


class EngineSetup(Value):
    """What a user says about an engine."""

    text: str  # as it was named: NAME, or NAME:WHATEVER
    store: Store
    slots: int | None = None
    per_endpoint: int | None = None
    cpus_per_slot: float = 1.0  # of what Ray gives
    same_compiler: bool = False
    token: Secret = Secret()
    allow_unconfined: bool = False
    python: str = ""  # here: the path or version of the interpreter for submissions


Factory = Callable[[EngineSetup], Engine | Transport]


def find_engine(text: str) -> Factory:
    """Return what makes the engine that is meant. Raises InputError where none can be."""
    name = text.partition(":")[0]
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name in installed:
        factory: Factory = installed[name].load()
        return factory
    if text in _BUILT_IN:
        return _BUILT_IN[text]
    if name == RAY:
        from ioi_eval.engines.ray.cluster import check_address

        check_address(text)
        return _ray
    from ioi_eval.engines.piston.discovery import KUBERNETES, SLURM, discovery

    meant = near(name.lower(), (*installed, EMBEDDED, RAY, SLURM, KUBERNETES))
    if meant and text != SLURM and re.fullmatch(r"[\w-]+", text):
        remedy = f"Did you mean {meant[0]!r}? A host of that name is http://{text}:PORT"
        raise InputError(f"there is no engine {text!r}", remedy=remedy)
    try:
        discovery(text)
    except InputError as error:
        names = ", ".join([*sorted(installed), EMBEDDED, RAY, SLURM, f"{KUBERNETES}SERVICE", "@FILE"])
        raise error.but(remedy=f"{error.remedy}; or {names}") from None
    return _servers


def _embedded(setup: EngineSetup) -> Transport:
    from ioi_eval.engines.embedded import EmbeddedEngine

    return EmbeddedEngine(
        store=setup.store,
        slots=setup.slots,
        allow_unconfined=setup.allow_unconfined,
        python=setup.python,
    )


def _servers(setup: EngineSetup) -> Transport:
    from ioi_eval.engines.piston import PistonEngine
    from ioi_eval.engines.piston.discovery import discovery

    return PistonEngine(
        discovery(setup.text),
        per_endpoint=setup.per_endpoint,
        total=setup.slots,
        token=setup.token,
        same_compiler=setup.same_compiler,
    )


def _ray(setup: EngineSetup) -> Engine:
    from ioi_eval.engines.ray import RayEngine

    return RayEngine(
        "" if setup.text == RAY else setup.text,
        slots=setup.slots,
        cpus_per_slot=setup.cpus_per_slot,
        same_compiler=setup.same_compiler,
        allow_unconfined=setup.allow_unconfined,
    )


_BUILT_IN: dict[str, Factory] = {EMBEDDED: _embedded}  # whatever else is named so are servers
