"""Chooses the engine, the interpreter, the number of workers, and the engine that builds checkers.

A new engine is a function from an `EngineSetup` to an `Engine`, and an entry in the registry of engines.
docs/extending.md has an example.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, Self, cast

import msgspec

from ioi_eval.engines.contract import Engine, HealthCheck, ServerStates
from ioi_eval.engines.environment import (
    CALLER,
    ENDPOINTS,
    PER_ENDPOINT,
    PYTHON,
    TOKEN,
    DistributedProcess,
    read_number,
)
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import find_similar_names
from ioi_eval.model.options import CliOption, Count, Interpreter, JobShape, Slots
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value
from ioi_eval.registries import Registry, list_entry_names, load_entry
from ioi_eval.store import Store

if TYPE_CHECKING:
    from ioi_eval.engines.piston import PistonEngine

EMBEDDED, RAY, E2B = "embedded", "ray", "e2b"
# Words that people write for the engine of this machine.
_LOCAL_WORDS = ("docker", "podman", "local", "sandbox", "this-machine")


class EngineChoice(Value):
    """The user's choice of an engine, and the options for its use."""

    text: Annotated[
        str,  # name of the engine as the user wrote it: NAME or NAME:ARGUMENT
        CliOption(
            name="engine",
            metavar="ENGINE",
            help="Place where jobs run: embedded (this machine), URL[,URL...] of Piston servers, slurm,"
            " k8s:SERVICE, @FILE, ray, ray://HOST:PORT, or the NAME of an installed engine.",
            unset=f"${ENDPOINTS} if it is set, else {EMBEDDED}",
        ),
    ] = EMBEDDED
    slots: Annotated[
        Slots,  # number of simultaneous jobs; None means this process's cores here, or all slots of servers
        CliOption(name="workers", unset="one per core here, or all slots of the servers"),
    ] = None
    per_endpoint: Annotated[
        Count | None,
        CliOption(
            metavar="N",
            help="Number of jobs that run at the same time on each server.",
            unset="the server's slots, else 1",
            key_only=True,
        ),
    ] = None
    cpus_per_slot: Annotated[
        Annotated[float, msgspec.Meta(ge=0.01)],
        CliOption(metavar="N", help="Number of Ray's CPUs for each job.", unset="1", key_only=True),
    ] = 1.0
    same_compiler: Annotated[
        bool, CliOption(help="Refuse servers whose compilers differ.", key_only=True)
    ] = False
    job: Annotated[
        JobShape,
        CliOption(
            help="Number of tests in a job. batched: several; classic: one; auto: several if supported.",
            key_only=True,
        ),
    ] = "auto"
    token: Annotated[
        Secret,
        CliOption(
            name="token_file",
            typed=Path,
            metavar="FILE",
            help="File with the token for workers, or with lines ADDRESS TOKEN for other servers."
            " Default: $IOI_EVAL_TOKEN.",
        ),
    ] = Secret()
    allow_unconfined: Annotated[
        bool, CliOption(help="Judge even if the kernel does not support confinement.")
    ] = False
    python: Annotated[Interpreter, CliOption(unset=f"${PYTHON}, else caller")] = ""
    promised_packages: tuple[str, ...] = ()  # names of modules that submissions in Python may expect
    launch: DistributedProcess = (
        DistributedProcess()
    )  # this process's share of the cores, and of the servers that the environment names

    @classmethod
    def from_variables(cls, engine: str | None, variables: Mapping[str, str], **fields: Any) -> Self:
        """Return the choice of an engine: `engine`, else the engine in PISTON_ENDPOINTS, else this machine.

        Args:
            engine: name of an engine, or addresses of servers.
            variables: environment variables, which decide the fields that `fields` does not contain.
            fields: other fields of the choice.

        Raises:
            InputError: the choice is invalid.
        """
        launch, is_named = DistributedProcess.from_environment_variables(variables), engine is not None
        engine_text = (
            engine.strip() if engine is not None else variables.get(ENDPOINTS, "").strip() or EMBEDDED
        )
        try:
            find_engine(engine_text)
        except InputError as error:
            raise error.with_details(field="engine" if is_named else ENDPOINTS) from None
        if engine_text == EMBEDDED:
            fields["python"] = fields.get("python") or variables.get(PYTHON, "").strip()
        else:
            fields["token"] = fields.get("token") or Secret(variables.get(TOKEN, "").strip())
        if is_named:  # the caller named the servers, so this process uses all of them
            launch = msgspec.structs.replace(launch, rank=0, world=1)
        elif engine_text != EMBEDDED and fields.get("per_endpoint") is None:
            fields["per_endpoint"] = read_number(variables, PER_ENDPOINT, None, minimum=1)
        choice = cls(**fields, text=engine_text, launch=launch)
        choice.check()
        return choice

    def check(self) -> None:
        """Raise InputError if an option is for another kind of engine."""
        if self.same_compiler and self.text == EMBEDDED:
            raise InputError("this option works with servers only", field="same_compiler", remedy="Remove it")
        if self.per_endpoint is not None and (self.text == EMBEDDED or self.is_on_ray):
            raise InputError(
                "this option works with servers only",
                field="per_endpoint",
                remedy="Remove it, and set the number of workers",
            )
        if self.cpus_per_slot != 1 and not self.is_on_ray:
            remedy = "Leave it out, or name a cluster of Ray as the engine"
            raise InputError("this option works with Ray only", field="cpus_per_slot", remedy=remedy)
        if self.python and self.text != EMBEDDED:
            remedy = "Remove it, or judge on this machine"
            raise InputError("servers judge with an interpreter of the server", field="python", remedy=remedy)

    def check_python_interpreter(self) -> None:
        """Raise InputError if the named Python cannot run submissions on this machine."""
        if self.python and not self.is_remote:
            from ioi_eval.engines.embedded.toolchains import find_python

            find_python(self.python, self.promised_packages)

    @property
    def is_remote(self) -> bool:
        return self.text != EMBEDDED

    @property
    def is_on_ray(self) -> bool:
        return self.text.partition(":")[0] == RAY

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the description of the choice for reports."""
        options = {
            "job": "" if self.job == "auto" else self.job,
            "python": self.python,
            "allow_unconfined": "yes" if self.allow_unconfined else "",
        }
        return {"engine": self.text, **{name: value for name, value in options.items() if value}}


class EngineSetup(EngineChoice, kw_only=True):
    """The settings for a function that creates an engine."""

    store: Store


class JobAndTrustedEngines(NamedTuple):
    """Engines to open: the engine for jobs, and a local engine for trusted builds if jobs run on servers."""

    engine: Engine
    trusted: Engine | None = None

    def close_in_forked_child(self) -> None:
        """Close the kill switches of jobs in a forked child of this process.

        While the child has copies of the kill switches, jobs would continue after the parent's death.
        """
        from ioi_eval.engines.embedded import EmbeddedEngine

        for engine in self:
            if isinstance(engine, EmbeddedEngine):
                engine.close_in_forked_child()


def open_engine(
    choice: EngineChoice | Engine,
    store: Store,
    python_packages: tuple[str, ...] = (),
) -> JobAndTrustedEngines:
    """Return the engines to open for a choice. If the caller passes an engine, it is the only engine.

    `python_packages`: packages that programs in Python may import, for the choice of an interpreter here.
    """
    if not isinstance(choice, EngineChoice):
        return JobAndTrustedEngines(choice)
    choice = msgspec.structs.replace(choice, promised_packages=python_packages)
    choice.check()
    setup = EngineSetup(store=store, **_collect_choice_fields(choice))
    engine = find_engine(choice.text)(setup)
    if not choice.is_remote or choice.is_on_ray:
        return JobAndTrustedEngines(engine)
    local_choice = EngineChoice(allow_unconfined=choice.allow_unconfined, launch=choice.launch)
    return JobAndTrustedEngines(
        engine,
        _create_embedded_engine(
            EngineSetup(store=store, **_collect_choice_fields(local_choice)), default_python=""
        ),
    )


def _collect_choice_fields(choice: EngineChoice) -> dict[str, Any]:
    return {name: getattr(choice, name) for name in EngineChoice.__struct_fields__}


class ClusterNodesEngine(Protocol):
    """An engine on the nodes of a cluster, such as Ray's, with health checks of each node."""

    def servers(self) -> ServerStates: ...

    async def check_health(self) -> Mapping[str, Sequence[HealthCheck]]: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...


def open_cluster_nodes_engine(choice: EngineChoice, store: Store) -> ClusterNodesEngine:
    """Return the engine on the nodes of the Ray cluster that a choice names."""
    choice.check()
    return cast(
        ClusterNodesEngine,
        find_engine(choice.text)(EngineSetup(store=store, **_collect_choice_fields(choice))),
    )


# A function that creates an engine. It may have a method `check(text)`, which raises InputError for an
# invalid value.
EngineFactory = Callable[[EngineSetup], Engine]


def find_engine(engine_text: str) -> EngineFactory:
    """Return the function that creates the engine of a name or of addresses of servers.

    Raises InputError if the name is unknown or an address is invalid.
    """
    name = engine_text.partition(":")[0]
    factory: EngineFactory | None = load_entry(Registry.ENGINES, name)
    if factory is not None:
        if check_engine_text := getattr(factory, "check", None):
            check_engine_text(engine_text)
        return factory
    if engine_text in _BUILT_IN:
        return _BUILT_IN[engine_text]
    from ioi_eval.engines.piston.discovery import KUBERNETES, SLURM, discovery

    other_names = [name for name in list_entry_names(Registry.ENGINES) if name not in (RAY, E2B)]
    similar_names = find_similar_names(name.lower(), (*other_names, EMBEDDED, RAY, E2B, SLURM, KUBERNETES))
    if similar_names and engine_text != SLURM and re.fullmatch(r"[\w-]+", engine_text):
        remedy = f"Did you mean {similar_names[0]!r}? A host of that name is http://{engine_text}:PORT"
        raise InputError(f"unknown engine {engine_text!r}", remedy=remedy)
    try:
        discovery(engine_text)
    except InputError as error:
        built_in_names = (EMBEDDED, RAY, SLURM, f"{KUBERNETES}SERVICE", "@FILE", f"{E2B}:TEMPLATE")
        known_names = ", ".join([*other_names, *built_in_names])
        if re.fullmatch(r"[\w-]+", engine_text) and engine_text != SLURM:
            remedy = f"Name an engine ({known_names}), or servers as http://HOST:PORT"
            if find_similar_names(engine_text.lower(), _LOCAL_WORDS):
                remedy = f"Did you mean {EMBEDDED!r}, which is this machine, without Docker? {remedy}"
            raise InputError(f"{engine_text!r} is not an engine and not a host", remedy=remedy) from None
        raise error.with_details(remedy=f"{error.remedy}; or name an engine: {known_names}") from None
    return create_piston_engine


def _create_embedded_engine(setup: EngineSetup, default_python: str = CALLER) -> Engine:
    """Return the engine of this machine. `default_python` is the interpreter if the setup has none."""
    from ioi_eval.engines.embedded import EmbeddedEngine

    return EmbeddedEngine(
        store=setup.store,
        slots=setup.slots or setup.launch.count_process_cores(len(os.sched_getaffinity(0))),
        allow_unconfined=setup.allow_unconfined,
        python=setup.python or default_python,
        promised_packages=setup.promised_packages,
    )


def create_piston_engine(setup: EngineChoice) -> PistonEngine:
    """Return the engine of the named servers.

    In a distributed launch, each process uses a part of the servers that the environment names.
    """
    from ioi_eval.engines.piston import PistonEngine
    from ioi_eval.engines.piston.discovery import discovery

    return PistonEngine(
        setup.launch.select_process_servers(discovery(setup.text)),
        per_endpoint=setup.per_endpoint,
        total=setup.slots,
        token=setup.token,
        same_compiler=setup.same_compiler,
        job=setup.job,
    )


# Factories of the built-in engines; other values are addresses of servers.
_BUILT_IN: dict[str, EngineFactory] = {EMBEDDED: _create_embedded_engine}
