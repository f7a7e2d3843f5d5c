"""Replace a package's constants: placeholders in its files that stand for values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ioi_eval.model.fields import Fields, format_value
from ioi_eval.model.values import Blob, NamedBlob, Problem

# Pattern for the use of a constant: `{{name}}` or `{{name.variant}}`, and in TeX statements also
# `\constant{name}`.
_CONSTANT = re.compile(rb"\{\{([\w.-]+)\}\}|\\constant\{([\w.-]+)\}", re.ASCII)
_VALUE = "value"  # key of the value without a variant, in a constant with variants such as `latex`


class Constants:
    """A package's constants: values by placeholder, `name` or `name.variant`."""

    def __init__(self, fields: Fields) -> None:
        self._values = dict[bytes, bytes]()
        for name, value in fields.values.items():
            if not isinstance(value, dict):
                self._add_constant(name, fields, name, value)
                continue
            variant_fields = fields.read_object(name)
            if not variant_fields.has_field(_VALUE):
                variant_fields.report_missing(
                    _VALUE, "the number or string that replaces the name without a variant"
                )
            for variant, variant_value in value.items():
                self._add_constant(
                    name if variant == _VALUE else f"{name}.{variant}", variant_fields, variant, variant_value
                )

    def _add_constant(self, name: str, fields: Fields, field: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            fields.report_fault(
                field, f"{format_value(value)} is neither a number nor a string", "Correct it in the file"
            )
        self._values[name.encode()] = str(value).encode()

    def fill_placeholders(self, content: bytes) -> bytes:
        """Return the content with the placeholders of known constants replaced by their values."""
        return _CONSTANT.sub(lambda match: self._values.get(match[1] or match[2], match[0]), content)

    def fill_placeholders_in_problem(self, problem: Problem, statement: Blob | None) -> Problem:
        """Return the problem with constants replaced in the statement and in all source files."""
        if not self._values:
            return problem
        checker, manager = problem.checker, problem.manager
        return replace(
            problem,
            statement=statement and Blob.of(self.fill_placeholders(statement.read())),
            included=self._fill_placeholders_in_files(problem.included),
            checker=replace(checker, sources=self._fill_placeholders_in_files(checker.sources)),
            manager=manager and replace(manager, sources=self._fill_placeholders_in_files(manager.sources)),
            solutions=tuple(
                replace(
                    solution,
                    code=self.fill_placeholders(solution.code.encode()).decode(),
                    files=self._fill_placeholders_in_files(solution.files),
                )
                for solution in problem.solutions
            ),
        )

    def _fill_placeholders_in_files(self, files: Sequence[NamedBlob]) -> tuple[NamedBlob, ...]:
        """Return the files with the values of the constants instead of the placeholders."""
        return tuple(
            replace(file, content=Blob.of(self.fill_placeholders(file.content.read()))) for file in files
        )
