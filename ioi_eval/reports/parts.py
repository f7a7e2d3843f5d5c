"""Parts of reports that plugins and other packages add, by the registry `ioi_eval.report_sections`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from ioi_eval.registries import Registry, registered
from ioi_eval.reports.document import Section
from ioi_eval.reports.headline import Entry
from ioi_eval.reports.records import ModelSummary


class ReportPart(Protocol):
    """Numbers of models and sections that show them. A registered class has these methods."""

    def numbers(self, folder: Path, models: Sequence[ModelSummary]) -> Sequence[Any]:
        """Return a value for each model of a run's folder, as JSON has it; None for a model without one.

        `more` of the model has the value under the name of the entry, also in summary.json.
        """

    def sections(self, of: Sequence[Entry]) -> Iterable[Section]:
        """Return the sections about these models, in a run's report and in comparisons of runs."""


def with_numbers(models: Sequence[ModelSummary], folder: Path) -> tuple[ModelSummary, ...]:
    """Return models with the numbers of all parts."""
    more: list[dict[str, Any]] = [{} for _ in models]
    for name, part in _parts().items():
        for of_model, value in zip(more, part.numbers(folder, models), strict=True):
            if value is not None:
                of_model[name] = value
    return tuple(replace(model, more=found) for model, found in zip(models, more, strict=True))


def sections_of_parts(of: Sequence[Entry]) -> Iterator[Section]:
    """Yield the sections of all parts, in the order of their names."""
    for part in _parts().values():
        yield from part.sections(of)


def _parts() -> dict[str, ReportPart]:
    return {name: make() for name, make in registered(Registry.REPORT_SECTIONS).items()}
