"""`--columns` and `--repair`, each of which sets several options for reading rows."""

from __future__ import annotations

import pytest

from ioi_eval.cli.console import format_input_error
from ioi_eval.cli.options import RowOptions
from ioi_eval.model.errors import InputError
from ioi_eval.runs import CodeRepairs, DumpOptions


@pytest.mark.parametrize(
    ("typed", "fields"),
    [
        (["problem=meta.id,code=out"], {"problem_column": "meta.id", "code_column": "out"}),
        (["problem=meta.id", "code=out"], {"problem_column": "meta.id", "code_column": "out"}),
        (["id="], {"id_column": ""}),
        (["code=a,b"], {"code_column": "a,b"}),
        (["prompt=x=y,year=when"], {"prompt_column": "x=y", "year_column": "when"}),
        (
            ["model=m,language=l,subtask=s"],
            {"model_column": "m", "language_column": "l", "subtask_column": "s"},
        ),
    ],
)
def test_columns_option_sets_dump_columns(typed: list[str], fields: dict[str, str]) -> None:
    assert RowOptions(columns=typed).options == DumpOptions(**fields)


def test_expected_column_of_columns_option_is_no_reading_option() -> None:
    rows = RowOptions(columns=["code=out,expected=score"])
    assert (rows.expected_column, rows.options) == ("score", DumpOptions(code_column="out"))


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["out"], "--columns: 'out' does not name a column"),
        (["problm=x"], "Did you mean problem=x?"),
        (["problem"], "Did you mean problem=COLUMN?"),
        (["code=out,c=d"], "--columns: 'c=d' does not name a column"),
        (["code=out,=d"], "--columns: '=d' does not name a column"),
        (["a=b,c=d"], "--columns: 'a=b' does not name a column"),
        (["code=a", "code=b"], "--columns: two columns are named for code"),
        (["code="], "--columns: 'code=' does not name a column"),
        ([""], "--columns: '' does not name a column"),
    ],
)
def test_malformed_columns_option_is_input_error(typed: list[str], message: str) -> None:
    with pytest.raises(InputError) as refused:
        RowOptions(columns=typed)
    assert message in format_input_error(refused.value)


def test_repair_option_accepts_names_with_commas() -> None:
    assert RowOptions(repair="includes, imports").options.repairs == CodeRepairs(
        add_includes=True, add_imports=True
    )
    with pytest.raises(InputError, match="unknown repair 'include'"):
        RowOptions(repair="include")


def test_library_message_names_command_line_options() -> None:
    error = InputError("no program", remedy="Did you mean code_column=out? Else id_column=NAME")
    assert format_input_error(error) == "no program. Did you mean --columns code=out? Else --columns id=NAME"
