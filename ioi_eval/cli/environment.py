"""The environment: the cache's place and the servers' secret, read here and nowhere below."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from ioi_eval.cli import console
from ioi_eval.cli.groups import OptionGroup, declared, option_of, values_of
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.model.errors import InputError
from ioi_eval.model.secret import Secret
from ioi_eval.store import Store
from ioi_eval.store.contents import default_root

TOKEN_VARIABLE = "IOI_EVAL_TOKEN"
CACHE_VARIABLE = "IOI_EVAL_CACHE"
CACHE_LIMIT = 8 << 30  # bytes; precompiled headers alone are about 100 MB each


def open_store() -> Store:
    folder = cache_folder()
    remedy = f"Name another folder in {CACHE_VARIABLE}"
    try:
        return Store(folder, CACHE_LIMIT)
    except InputError as error:
        raise error.but(remedy=remedy) from error
    except OSError as error:
        problem = f"the cache cannot be written: {error.strerror or error}"
        raise InputError(problem, where=str(folder), remedy=remedy) from error


def cache_folder() -> Path:
    return default_root(os.environ.get(CACHE_VARIABLE))


def read_token(path: Path | str | None) -> Secret:
    """Return the file's content, else the variable's; empty: no token."""
    if path is None:
        return Secret(os.environ.get(TOKEN_VARIABLE, "").strip())
    token = Secret(Path(path).read_text(errors="replace").strip())
    if not token:
        remedy = "Write the token into it"
        raise InputError("the file is empty", where=str(path), field="--token-file", remedy=remedy)
    return token


def read_own_token(path: Path | str | None) -> Secret:
    """Return the token that requests to a server of ours must bring."""
    token = read_token(path)
    if len(token.split()) > 1:
        where = TOKEN_VARIABLE if path is None else str(path)
        remedy = "Leave out addresses: those are for clients"
        raise InputError("a server's own token is one word", where=where, remedy=remedy)
    return token


# --- engines -----------------------------------------------------------------------------------------


Unconfined = Annotated[bool, option_of(EngineChoice, "allow_unconfined")]
EngineText = Annotated[str | None, option_of(EngineChoice, "text")]
PythonText = Annotated[str | None, option_of(EngineChoice, "python")]
Slots = Annotated[int | None, option_of(EngineChoice, "slots", name="slots", unset="one per core")]
TokenFile = Annotated[Path | None, option_of(EngineChoice, "token")]


class EngineOptions:
    """The options of an engine as typed: what is not said comes from a file, else from the environment."""

    def __init__(self, **typed: Any) -> None:
        self._typed = typed

    def choice(self, of_file: str = "") -> EngineChoice:
        """Raise InputError for what cannot be meant. `of_file` gives way to the option only."""
        typed = values_of(declared(EngineChoice), self._typed)
        if "token" in typed:
            typed["token"] = read_token(typed["token"])
        engine = typed.pop("text", None)
        try:
            return EngineChoice.meant(engine if engine is not None else of_file or None, os.environ, **typed)
        except InputError as error:
            named = "--engine" if engine is not None or not of_file else "engine"
            flags = {**console.FLAGS, "engine": named}
            raise error.but(field=flags.get(error.field, error.field)) from None


Engine = Annotated[EngineOptions, OptionGroup("Engine", of=EngineChoice)]
