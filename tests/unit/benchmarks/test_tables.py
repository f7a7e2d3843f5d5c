"""Tables of datasets: opened, memory-mapped, and read by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from benchmark_tables import write_table

from ioi_eval.benchmarks.tables import Row, Table, TableSource, find_files, open_table
from ioi_eval.errors import InputError


def opened(folder: Path, *files: Path) -> Table:
    return open_table(TableSource(dataset="org/x", files=tuple(map(str, files))), cache=folder / "cache")


def row(folder: Path, **columns: Any) -> Row:
    return opened(folder, write_table(folder / "x.parquet", [columns]))[0]


def test_parquet_files_with_different_columns_form_one_table(tmp_path: Path) -> None:
    first = write_table(tmp_path / "1.parquet", [{"a": n, "b": "x" * n} for n in range(5)])
    second = write_table(tmp_path / "2.parquet", [{"b": "last", "c": [1.5]}])
    table = opened(tmp_path, first, second)
    assert (len(table), table.names) == (6, ("a", "b", "c"))
    assert [table_row.raw_value("a") for table_row in table] == [0, 1, 2, 3, 4, None]
    assert [bytes(table_row.read_content("b")).decode() for table_row in table] == [
        "",
        "x",
        "xx",
        "xxx",
        "xxxx",
        "last",
    ]
    assert table[5].raw_value("c") == [1.5]


def test_json_lines_become_table(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1, "b": {"c": "d"}}\n{"a": 2, "b": null}\n')
    table = opened(tmp_path, path)
    assert [(table_row.raw_value("a"), table_row.raw_value("b")) for table_row in table] == [
        (1, {"c": "d"}),
        (2, None),
    ]


def test_table_values_survive_release_of_pages(tmp_path: Path) -> None:
    long_texts = [str(n) * 3_000_000 for n in range(3)]
    table = opened(
        tmp_path, write_table(tmp_path / "x.parquet", [{"a": long_text} for long_text in long_texts])
    )
    views = [table_row.read_content("a") for table_row in table]
    for _ in range(7):  # 72 MB have been read then, more than may stay in memory
        views += [table_row.read_content("a") for table_row in table]
    assert [bytes(view).decode() for view in views] == long_texts * 8
    table.release_memory()
    assert bytes(views[1]).decode() == table[1].read_text("a") == long_texts[1]


def test_table_fingerprint_depends_on_files(tmp_path: Path) -> None:
    path = write_table(tmp_path / "x.parquet", [{"a": 1}])
    first = opened(tmp_path, path).fingerprint
    assert opened(tmp_path, path).fingerprint == first
    write_table(path, [{"a": 1}, {"a": 2}])
    assert opened(tmp_path, path).fingerprint != first


@pytest.mark.parametrize("name", ["*.arrow", "dataset_info.json"])
def test_damaged_cache_of_json_lines_table_is_rebuilt(tmp_path: Path, name: str) -> None:
    """A file system may return zeros. The error must not name the original file."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n')
    opened(tmp_path, path)
    (cache_file,) = (tmp_path / "cache" / "tables" / "datasets").rglob(name)
    cache_file.write_bytes(bytes(cache_file.stat().st_size))
    assert [table_row.raw_value("a") for table_row in opened(tmp_path, path)] == [1]
    assert not [*(tmp_path / "cache" / "tables").glob("tmp*")]


@pytest.mark.parametrize("kept_share", [0, 0.5, -8, -1], ids=["none", "half", "no end", "zeros at the end"])
def test_damaged_cached_table_is_rebuilt(tmp_path: Path, kept_share: float) -> None:
    path = write_table(tmp_path / "x.parquet", [{"a": str(n) * 9000} for n in range(9)])
    opened(tmp_path, path)
    (cache_file,) = (tmp_path / "cache").rglob("*.arrow")
    whole = cache_file.read_bytes()
    remainder = whole[: int(len(whole) * kept_share) if kept_share >= 0 else int(kept_share)]
    cache_file.write_bytes(remainder + bytes(1000) if kept_share == -1 else remainder)
    assert [table_row.raw_value("a") for table_row in opened(tmp_path, path)] == [
        str(n) * 9000 for n in range(9)
    ]
    assert cache_file.read_bytes() == whole


@pytest.mark.parametrize(
    ("name", "content"), [("x.parquet", '{"a": '), ("x.jsonl", '{"a": '), ("x.jsonl", ""), ("x.parquet", "")]
)
def test_damaged_table_file_is_input_error(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match="Is the file damaged") as caught:
        opened(tmp_path, tmp_path / name)
    assert name in caught.value.where


def test_table_fields_are_read_with_their_types(tmp_path: Path) -> None:
    typed_row = row(
        tmp_path,
        **{"text": "x", "number": 3, "float": 2.0, "written": "2.5", "flag": True, "names": ["a"]},
        **{
            "pairs": [{"in": "1", "out": None}],
            "json": json.dumps({"a": [1]}),
            "columns": {"in": ["1", "2"]},
        },
    )
    assert (typed_row.read_text("text"), typed_row.read_name("number"), typed_row.read_number("written")) == (
        "x",
        "3",
        2.5,
    )
    assert (
        typed_row.read_integer("float"),
        typed_row.read_boolean("flag"),
        typed_row.read_texts("names"),
    ) == (
        2,
        True,
        ("a",),
    )
    assert typed_row.read_list_of_objects("pairs") == ({"in": "1", "out": None},)
    assert typed_row.read_list_of_objects("columns") == ({"in": "1"}, {"in": "2"})
    assert typed_row.read_json("json") == {"a": [1]}
    assert (
        typed_row.read_text("no", "d"),
        typed_row.read_number("no", 7),
        typed_row.has_field("no"),
        typed_row.raw_value("no"),
    ) == (
        "d",
        7,
        False,
        None,
    )


@pytest.mark.parametrize(
    ("read_field", "message"),
    [
        (lambda one: one.read_text("number"), "3 is not a text"),
        (lambda one: one.read_text("long"), "is not a text"),
        (lambda one: one.read_name("blank"), "' ' is not a string or a whole number"),
        (lambda one: one.read_number("text"), "'x' is not a number"),
        (lambda one: one.read_number("number", above=3), "3 is not a number above 3"),
        (lambda one: one.read_integer("half"), "2.5 is not a whole number"),
        (lambda one: one.read_boolean("text"), "'x' is not true or false"),
        (lambda one: one.read_texts("numbers"), "[1] is not a list of texts"),
        (lambda one: one.read_list_of_objects("numbers"), "[1] is not a list of objects"),
        (lambda one: one.read_json("text"), "the value is not valid JSON"),
        (lambda one: one.read_content("number"), "3 is not a text"),
        (
            lambda one: one.read_text("absent"),
            "missing column. Is it the right dataset? The columns are: number",
        ),
    ],
)
def test_table_field_of_wrong_type_is_input_error_with_row(
    tmp_path: Path, read_field: Any, message: str
) -> None:
    columns = {"number": 3, "text": "x", "blank": " ", "half": 2.5, "numbers": [1], "long": [1] * 99}
    with pytest.raises(InputError) as caught:
        read_field(row(tmp_path, **columns))
    assert message in str(caught.value) and len(str(caught.value)) < 300
    assert (caught.value.row, caught.value.where) == (1, str(tmp_path / "x.parquet"))


# --- copies on disk ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "source", "expected_files"),
    [
        (["x/train.parquet", "x/test.parquet"], {"split": "test"}, ["x/test.parquet"]),
        (
            ["x/train.parquet", "x/test.parquet"],
            {"split": "train+test"},
            ["x/test.parquet", "x/train.parquet"],
        ),
        (["x/data/train-00000-of-00002.parquet"], {}, ["x/data/train-00000-of-00002.parquet"]),
        (["train/0.parquet", "test/0.parquet"], {}, ["train/0.parquet"]),
        (["all.jsonl", "all.parquet"], {}, ["all.parquet"]),
        (["x/2024/train.parquet", "x/2023/train.parquet"], {"config": "2024"}, ["x/2024/train.parquet"]),
        (["x/data/2024/a.parquet"], {"config": "2024"}, ["x/data/2024/a.parquet"]),
        (["x/rows.parquet", "x/tests/cases_1.parquet"], {"without": "cases_*"}, ["x/rows.parquet"]),
        (["x/.cache/train.parquet", "x/train.parquet"], {}, ["x/train.parquet"]),
        (["x/deep/er/one.parquet"], {"path": "tests/one.parquet"}, ["x/deep/er/one.parquet"]),
    ],
)
def test_table_files_are_found_by_split(
    tmp_path: Path, files: list[str], source: dict[str, str], expected_files: list[str]
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    paths = find_files(tmp_path, TableSource(dataset="org/x", **source))
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == expected_files


@pytest.mark.parametrize("source", [{"split": "test"}, {"config": "2020"}, {"path": "a/b.parquet"}])
def test_missing_table_files_are_input_error(tmp_path: Path, source: dict[str, str]) -> None:
    (tmp_path / "train.parquet").touch()
    with pytest.raises(InputError) as caught:
        find_files(tmp_path, TableSource(dataset="org/x", **source))
    assert str(tmp_path) in caught.value.where and caught.value.remedy


def test_conflicting_schemas_are_input_error(tmp_path: Path) -> None:
    first = write_table(tmp_path / "1.parquet", [{"a": 1}])
    second = write_table(tmp_path / "2.parquet", [{"a": [1]}], pa.schema([("a", pa.list_(pa.int64()))]))
    with pytest.raises(InputError, match="cannot be loaded"):
        opened(tmp_path, first, second)


@pytest.mark.parametrize(
    ("folders", "source_options", "missing"),
    [
        (("ioi",), {"dataset": "open-r1/ioi-test-cases", "config": "2024"}, "ioi-test-cases"),
        (("apps", "taco"), {"dataset": "open-r1/codeforces", "split": "test"}, "codeforces"),
    ],
)
def test_folder_of_other_datasets_is_refused_with_name_of_missing_folder(
    tmp_path: Path, folders: tuple[str, ...], source_options: dict[str, str], missing: str
) -> None:
    for name in folders:
        (tmp_path / name).mkdir()
        (tmp_path / name / "test.jsonl").write_text("{}\n")
    dataset_names = {"open-r1/ioi", "metr-evals/apps", "BAAI/taco", "open-r1/codeforces"}
    source = TableSource(**source_options)
    with pytest.raises(
        InputError, match=f"the folder has no subfolder '{missing}', only {', '.join(folders)}"
    ) as no:
        find_files(tmp_path, source, dataset_names)
    assert no.value.remedy == f"Fetch {source_options['dataset']} into {tmp_path / missing}"
    config_folder = tmp_path / source_options.get("config", "")
    config_folder.mkdir(exist_ok=True)
    (config_folder / "test-own.jsonl").write_text("{}\n")
    files = find_files(tmp_path, msgspec.structs.replace(source, split="test"), dataset_names)
    assert files == [config_folder / "test-own.jsonl"], "only the dataset's rows"
