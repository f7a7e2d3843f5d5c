"""Parts of reports that plugins and other packages add, by the registry `ioi_eval.report_sections`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ioi_eval.registries import Registry, load_entries
from ioi_eval.reports.document import Section
from ioi_eval.reports.headline import Entry
from ioi_eval.reports.records import ModelSummary, Summary


class ReportPart:
    """Base class of a part of reports: numbers, and the sections that show them.

    A registered class derives from it and overrides the methods that it needs.
    """

    files: tuple[str, ...] = ()  # names of further files in the run's folder that this part of a report reads

    def numbers(self, folder: Path, models: Sequence[ModelSummary]) -> Sequence[Any]:
        """Return a JSON value for each model of a run's folder. None means that a model has no value.

        `ModelSummary.more` and summary.json contain the value under this part's registered name.
        """
        return [None for _ in models]

    def run_numbers(self, folder: Path, models: Sequence[ModelSummary]) -> Any:
        """Return a JSON value for the whole run, or None.

        `Summary.more` and summary.json contain the value under this part's registered name.
        """
        return None

    def warnings(self, folder: Path) -> Iterable[str]:
        """Return warnings that the report shows above all numbers of the run."""
        return ()

    def first_sections(self, run: Summary) -> Iterable[Section]:
        """Return sections that come first in a run's report."""
        return ()

    def sections(self, entries: Sequence[Entry]) -> Iterable[Section]:
        """Return the sections about these models, in a run's report and in comparisons of runs."""
        return ()


def add_report_part_values(models: Sequence[ModelSummary], folder: Path) -> tuple[ModelSummary, ...]:
    """Return the models with the numbers of all registered report parts."""
    numbers: list[dict[str, Any]] = [{} for _ in models]
    for name, report_part in _load_registered_parts().items():
        for numbers_of_model, value in zip(numbers, report_part.numbers(folder, models), strict=True):
            if value is not None:
                numbers_of_model[name] = value
    return tuple(
        replace(model, more=numbers_of_model) for model, numbers_of_model in zip(models, numbers, strict=True)
    )


def collect_report_part_values(models: Sequence[ModelSummary], folder: Path) -> dict[str, Any]:
    """Return the numbers for the whole run by the names of the parts that compute such numbers."""
    values = {
        name: report_part.run_numbers(folder, models)
        for name, report_part in _load_registered_parts().items()
    }
    return {name: value for name, value in values.items() if value is not None}


def list_files_of_report_parts() -> list[str]:
    """Return the names of the files in a run's folder that the registered report parts read."""
    return sorted({name for report_part in _load_registered_parts().values() for name in report_part.files})


def collect_report_part_warnings(folder: Path) -> Iterator[str]:
    """Yield the warnings of all registered report parts, in the order of the parts' names."""
    for report_part in _load_registered_parts().values():
        yield from report_part.warnings(folder)


def make_first_report_part_sections(run: Summary) -> Iterator[Section]:
    """Yield the report parts' sections that a report shows first, in the order of the parts' names."""
    for report_part in _load_registered_parts().values():
        yield from report_part.first_sections(run)


def make_report_part_sections(entries: Sequence[Entry]) -> Iterator[Section]:
    """Yield the sections of all registered report parts, in the order of the parts' names."""
    for report_part in _load_registered_parts().values():
        yield from report_part.sections(entries)


def _load_registered_parts() -> dict[str, ReportPart]:
    return {name: make() for name, make in load_entries(Registry.REPORT_SECTIONS).items()}
