"""The options that say where jobs run, and with what."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from ioi_eval.cli.environment import read_token
from ioi_eval.cli.groups import Group, declared, option_of, values_of
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.model.errors import InputError

Unconfined = Annotated[bool, option_of(EngineChoice, "allow_unconfined")]
EngineText = Annotated[str | None, option_of(EngineChoice, "text")]
PythonText = Annotated[str | None, option_of(EngineChoice, "python")]
TokenFile = Annotated[Path | None, option_of(EngineChoice, "token")]


class EngineOptions:
    """The options of an engine as typed: what is not said comes from a file, else from the environment."""

    def __init__(self, **typed: Any) -> None:
        self._typed = typed

    def choice(self, of_file: str = "") -> EngineChoice:
        """Raise InputError for what cannot be meant. `of_file` gives way to the option only."""
        told = values_of(declared(EngineChoice), self._typed)
        if "token" in told:
            told["token"] = read_token(told["token"])
        engine = told.pop("text", None)
        try:
            return EngineChoice.meant(engine if engine is not None else of_file or None, os.environ, **told)
        except InputError as error:
            options = {each.field: each.flag for each in declared(EngineChoice)}
            options["engine"] = "--engine" if engine is not None or not of_file else "engine"
            raise error.but(field=options.get(error.field, error.field)) from None


Engine = Annotated[EngineOptions, Group("Engine", of=EngineChoice)]
