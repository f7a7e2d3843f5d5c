"""Problem sources are searched, loaded and checked."""

from __future__ import annotations

import errno
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from package_files import Write, zipped
from support.plugins import needs_plugin

from ioi_eval import Store
from ioi_eval.errors import InputError
from ioi_eval.model.fields import Faults
from ioi_eval.models import Blob, Problem, Solution, Test
from ioi_eval.problems import Problems, check_problems, compute_problem_hashes, load_problems
from ioi_eval.problems.package import list_files, read_mapping_file

SHARED = Path(os.environ.get("IOI_EVAL_SHARED") or Path(__file__).parents[4] / "shared")
REAL = SHARED / "data" / "ioi-2024"


def test_source_folder_contains_packages_and_zips(write_package: Write, cache: Path) -> None:
    root = write_package("sum").parent
    other = write_package("other", code="other")
    zipped(other, root / "other.zip", top="other")
    shutil.rmtree(other)
    (root / "README.md").write_text("not a package")
    (root / "notes").mkdir()
    problems = load_problems(root, cache=cache)
    assert list(problems) == ["other", "sum"]
    assert problems.find("other").source == f"{root}/other.zip/other"
    assert problems.find("sum").source == str(root / "sum")


@pytest.mark.parametrize("top", ["", "sum", "anything"])
def test_zip_package_loads_with_or_without_top_folder(write_package: Write, cache: Path, top: str) -> None:
    folder = write_package()
    archive = zipped(folder, folder.parent / "package.zip", top=top)
    problems = load_problems(archive, cache=cache)
    assert list(problems) == ["sum"]
    assert problems.find("sum").tests[0].input.read() == b"1 2\n"
    assert compute_problem_hashes(problems) == compute_problem_hashes(load_problems(str(folder), cache=cache))


def test_only_argument_skips_other_packages(write_package: Write, cache: Path) -> None:
    root = write_package("sum").parent
    write_package("broken", code="broken", time_limit=-1)
    assert load_problems(root, cache=cache, only={"sum"}).keys() == {"sum"}
    with pytest.raises(InputError, match="time_limit"):
        load_problems(root, cache=cache)
    with pytest.raises(InputError, match="no problem 'nothing'"):
        load_problems(root, cache=cache, only={"sum", "nothing"})


def test_unknown_package_id_is_refused_with_suggestion(write_package: Write, cache: Path) -> None:
    root = write_package("sum").parent
    write_package("tree", code="tree")
    assert [package.where for package in check_problems(root, cache=cache, only={"tree"})] == [
        str(root / "tree")
    ]
    with pytest.raises(InputError, match=r"no problem 'trees'\. Did you mean 'tree'\?"):
        check_problems(root, cache=cache, only={"sum", "trees"})
    write_package("broken", code="broken", time_limit=-1)
    with pytest.raises(InputError, match=r"the source has no problem 'trees'"):
        check_problems(root, cache=cache, only={"sum", "trees"})


def test_selected_broken_package_is_reported(write_package: Write, cache: Path) -> None:
    root = write_package("sum").parent
    write_package("broken", code="broken", time_limit=-1)
    (broken_package,) = check_problems(root, cache=cache, only={"broken"})
    assert broken_package.problem is None and "time_limit" in str(broken_package.errors[0])


def test_invalid_problem_source_is_input_error(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        load_problems(tmp_path / "absent", cache=cache)
    with pytest.raises(InputError, match="the folder contains no problem packages"):
        load_problems(tmp_path, cache=cache)
    text_file = tmp_path / "x.txt"
    text_file.write_text("hello")
    with pytest.raises(InputError, match="not a zip"):
        load_problems(text_file, cache=cache)


def test_packages_are_found_two_folders_deep(write_package: Write, cache: Path) -> None:
    root = write_package("2024/day1/sum").parents[2]
    write_package("2025/tree", code="tree")
    write_package("2025/day1/more/deep", code="deep")
    archive = zipped(root / "2024", root / "2025" / "old.zip", "old")
    found_packages = check_problems(root, cache=cache)
    assert [package.where.removeprefix(f"{root}/") for package in found_packages] == [
        "2024/day1/sum",
        "2025/old.zip/old/day1/sum",
        "2025/tree",
    ]
    assert set(load_problems(root / "2025", cache=cache)) == {"deep", "sum", "tree"}
    assert archive.exists()


def test_zip_without_package_is_input_error(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "x.txt").write_text("hello")
    with pytest.raises(InputError, match="the zip archive contains no problem packages"):
        load_problems(zipped(folder, tmp_path / "a.zip"), cache=cache)


def test_nested_zip_is_input_error(write_package: Write, tmp_path: Path, cache: Path) -> None:
    """In a contest's folder both packages are read."""
    folder = write_package("contest/sum").parent
    zipped(write_package("other", code="other"), folder / "other.zip")
    assert list(load_problems(folder, cache=cache)) == ["other", "sum"]
    with pytest.raises(
        InputError, match=r"zips in zips are not supported: other[.]zip\. Extract this archive"
    ):
        load_problems(zipped(folder, tmp_path / "contest.zip"), cache=cache)


def test_package_without_header_is_input_error(write_package: Write, cache: Path) -> None:
    folder = write_package(files={"problem.json": None})
    for source in (folder, folder.parent):
        with pytest.raises(InputError, match="missing file") as caught:
            load_problems(source, cache=cache)
        assert caught.value.where == f"{folder}/problem.json"


def test_duplicate_package_id_is_input_error(write_package: Write, cache: Path) -> None:
    root = write_package("a").parent
    write_package("b")
    with pytest.raises(InputError, match="second package with the id 'sum'") as caught:
        load_problems(root, cache=cache)
    assert (caught.value.where, caught.value.field) == (str(root / "b"), "code")
    assert str(root / "a") in str(caught.value)
    first, second = check_problems(root, cache=cache)
    assert first.problem is not None
    assert "second package" in str(second.errors[0])


def test_check_problems_reports_all_errors_of_each_package(write_package: Write, cache: Path) -> None:
    root = write_package("good").parent
    write_package("bad", code="bad", time_limit=-1, memory_limit="x")
    (root / "torn.zip").write_bytes(b"PK")
    bad, good, torn = check_problems(root, cache=cache)
    assert {error.field for error in bad.errors} == {"time_limit", "memory_limit"}
    assert bad.problem is None
    assert good.errors == ()
    assert good.problem is not None
    assert "not a zip" in str(torn.errors[0])


@pytest.mark.parametrize("listed", [False, True], ids=["not listed", "listed and not entered"])
def test_unreadable_package_folder_is_input_error(
    write_package: Write, cache: Path, monkeypatch: pytest.MonkeyPatch, listed: bool
) -> None:
    """For example subtasks that root has copied. Without them the package would have other points."""
    package = write_package()
    closed, scandir, access = str(package / "subtasks"), os.scandir, os.access

    def scanned(folder: str) -> Any:
        if str(folder) == closed and not listed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
        return scandir(folder)

    (package / "subtasks").mkdir(exist_ok=True)
    assert load_problems(package, cache=cache)["sum"].tests
    monkeypatch.setattr(os, "scandir", scanned)
    monkeypatch.setattr(os, "access", lambda place, mode: str(place) != closed and access(place, mode))
    with pytest.raises(InputError, match=r"subtasks: cannot be read \(Permission denied\)\. Give your user"):
        load_problems(package, cache=cache)
    [closed_package] = check_problems(package, cache=cache)
    assert closed_package.problem is None and [error.where for error in closed_package.errors] == [closed]


@pytest.mark.parametrize("link", ["tests/2-01.in", "checker/checker.cpp", "subtasks/02-all.json"])
def test_broken_link_in_package_is_input_error(write_package: Write, cache: Path, link: str) -> None:
    """git-annex leaves such links for files that it has not fetched."""
    package = write_package(files={link: None, "tests/2-01.out": None} if "tests" in link else {link: None})
    (package / link).symlink_to("nowhere")
    with pytest.raises(InputError, match=rf"{link}: cannot be read \(a broken link\)"):
        load_problems(package, cache=cache)


def test_broken_link_in_unread_folder_is_ignored(write_package: Write, cache: Path) -> None:
    package = write_package(files={"att/read.me": ""})
    for link in ("tools", "att/sample.zip"):
        (package / link).symlink_to("nowhere")
    (package.parent / "other").symlink_to("nowhere")
    assert [file.name for file in load_problems(package.parent, cache=cache)["sum"].attachments] == [
        "read.me"
    ]


def test_extracted_desktop_metadata_is_ignored(write_package: Write, cache: Path) -> None:
    """It has the package's folders, with a hidden file for each file."""
    root = write_package("sum").parent
    for name in ("problem.json", "tests/1-01.in", "subtasks/01-small.json"):
        metadata_file = root / "__MACOSX" / "sum" / name
        metadata_file.parent.mkdir(parents=True, exist_ok=True)
        metadata_file.with_name(f"._{metadata_file.name}").write_bytes(b"\0")
    assert list(load_problems(root, cache=cache)) == ["sum"]


@pytest.mark.parametrize("config", ["type: default\nsubtasks: []\n", None])
def test_hydro_package_is_refused_by_its_name(tmp_path: Path, cache: Path, config: str | None) -> None:
    folder = tmp_path / "P1000"
    (folder / "testdata").mkdir(parents=True)
    (folder / "problem.yaml").write_text("pid: P1000\nowner: 2\ntitle: A + B\ntag: [easy]\nnSubmit: 0\n")
    (folder / "problem_zh.md").write_text("# A + B\n")
    for name in ("1.in", "1.out"):
        (folder / "testdata" / name).write_text("1\n")
    if config is not None:
        (folder / "testdata" / "config.yaml").write_text(config)
    for source in (folder, zipped(folder, tmp_path / "P1000.zip", "P1000")):
        (package,) = check_problems(source, cache=cache)
        assert package.format == "Hydro"
        (error,) = package.errors
        assert "this is a Hydro package (problem.yaml and testdata/config.yaml)" in str(error)
        assert "Write a problem.json" in error.remedy


def test_non_utf8_file_names_are_refused_or_ignored(write_package: Write, cache: Path) -> None:
    """Older archives have such names, and Linux accepts any bytes."""
    folder = write_package()
    odd = os.fsdecode(b"caf\xe9")
    (folder / "solutions" / odd).mkdir()
    for name in (f"correct/{odd}.py", f"{odd}/best.cpp"):
        (folder / "solutions" / name).write_text("print(1)\n")
    (package,) = check_problems(folder, cache=cache)
    assert package.problem is not None
    assert [solution.name for solution in package.problem.solutions] == ["best.cpp", "naive.py"]
    assert package.notes == (
        r"solutions are ignored because their names are not UTF-8: 'best.cpp', 'caf\udce9.py'",
    )
    for name in (f"graders/{odd}.h", f"checker/{odd}.h"):
        (folder / name).write_text("\n")
        with pytest.raises(InputError, match=r"the name '\w+/caf\\udce9.h' is not UTF-8\. Rename the file"):
            load_problems(folder, cache=cache)
        (folder / name).unlink()


def test_extracted_zip_stays_cached_until_problems_close(write_package: Write, cache: Path) -> None:
    folder = write_package()
    problems = load_problems(zipped(folder, folder.parent / "package.zip"), cache=cache)
    evicting = Store(cache, limit=1)
    evicting.put("something", b"that is over the limit")
    assert problems["sum"].tests[0].input.read() == b"1 2\n"
    problems.close()
    evicting.put("something-else", b"that is over the limit")
    assert not Path(problems["sum"].tests[0].input.path or "").exists()


# --- finding -----------------------------------------------------------------------------------------


def of(problem_id: str, year: int | None = None) -> Problem:
    return Problem(id=problem_id, year=year, source=f"{problem_id}-{year}")


def test_year_is_needed_only_for_ambiguous_problem() -> None:
    problems = Problems([of("a"), of("b", 2023), of("c", 2022), of("c", 2024)])
    assert problems.find("a").year is None
    assert problems.find("a", 2020).year is None
    assert problems.find("b").year == 2023
    assert problems.find("c", 2024).year == 2024
    with pytest.raises(InputError, match="years: 2022, 2024") as caught:
        problems.find("c")
    assert caught.value.field == "year"
    with pytest.raises(InputError, match="no problem 'b' of 2024"):
        problems.find("b", 2024)
    with pytest.raises(InputError, match="no problem 'c' of 2023"):
        problems.find("c", 2023)


def test_problem_without_year_next_to_one_with_year_is_ambiguous() -> None:
    problems = Problems([of("a"), of("a", 2024)])
    assert problems.find("a", 2024).year == 2024
    assert problems.find("a", 2020).year is None
    with pytest.raises(InputError, match="without a year"):
        problems.find("a")


def test_unknown_problem_error_suggests_similar_ids() -> None:
    problems = Problems([of("machine"), of("message"), of("tree")])
    with pytest.raises(InputError, match="Did you mean 'machine'"):
        problems.find("machin")
    with pytest.raises(InputError, match="There are: machine, message, tree"):
        problems.find("zzz")
    with pytest.raises(InputError, match="There are none"):
        Problems([]).find("x")


def test_problem_labels_distinguish_years() -> None:
    problems = Problems([of("a"), of("c", 2024), of("c", 2022)])
    assert list(problems) == ["a", "c@2022", "c@2024"]
    assert problems["c@2022"].year == 2022
    assert [problems.label(problem) for problem in problems.values()] == list(problems)
    assert compute_problem_hashes(problems).keys() == problems.keys()


# --- identity ----------------------------------------------------------------------------------------


def test_fingerprint_changes_with_everything_that_changes_scores(write_package: Write, cache: Path) -> None:
    def hashed(**changes: Any) -> str:
        return compute_problem_hashes(load_problems(write_package("p", **changes), cache=cache))["sum"]

    first = hashed()
    assert hashed() == first
    assert hashed(name="Another title", files={"solutions/correct/best.cpp": "int y;"}) == first
    changed = [
        hashed(time_limit=2),
        hashed(memory_limit=1 << 30),
        hashed(score_precision=0),
        hashed(score_type="Sum"),
        hashed(checker="testlib"),
        hashed(cpp_standard="gnu++17"),
        hashed(task_type_params=["grader", ["in.txt", ""], "comparator"]),
        hashed(files={"graders/sum.h": "// other"}),
        hashed(files={"checker/testlib.h": "// other"}),
        hashed(files={"tests/1-01.in": "7 7\n"}),
        hashed(files={"tests/1-01.in": "1 2\n", "tests/1-01.out": "4\n"}),
        hashed(
            files={"tests/1-01.out": "3\n", "subtasks/01-small.json": '{"score": 41, "testcases": ["1-01"]}'}
        ),
    ]
    assert len({first, *changed}) == len(changed) + 1


def test_fingerprint_ignores_storage_and_solutions(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"1\n")
    in_memory = Problem(id="a", tests=(Test(name="1", input=Blob.of(b"1\n")),))
    lying = msgspec.structs.replace(in_memory, tests=(Test(name="1", input=Blob.of_file(path)),))
    solved = msgspec.structs.replace(
        in_memory, solutions=(Solution(name="x", language="c++", code="", expected="correct"),)
    )
    assert (
        len({compute_problem_hashes(Problems([problem]))["a"] for problem in (in_memory, lying, solved)}) == 1
    )


@pytest.mark.skipif(not REAL.exists(), reason="the real packages are not on this machine")
def test_two_real_packages_load(cache: Path) -> None:
    problems = load_problems(REAL, cache=cache)
    plus, machine = problems.find("aplusb"), problems.find("machine")
    assert (len(plus.tests), len(machine.tests)) == (17, 43)
    assert [subtask.points for subtask in plus.subtasks] == [0, 20, 30, 50]
    assert sum(subtask.points for subtask in machine.subtasks) == 100
    assert {solution.expected for solution in plus.solutions} == {"correct", "incorrect", "model_solution"}
    assert machine.task_type == "Communication"
    assert (machine.options.with_grader, machine.options.processes) == (True, 1)
    assert machine.manager is not None
    names = [file.name for file in machine.manager.sources]
    assert names == [f"graders/{name}" for name in ("manager.cpp", "machine.h", "stub.cpp", "testlib.h")]
    assert not machine.checker.sources
    assert Counter(solution.expected for solution in machine.solutions)["incorrect"] == 12


def test_hidden_files_in_problem_folders_are_skipped(tmp_path: Path) -> None:
    for name in ("b/x.h", "b/.x.h", "b/.git/x.h", "b/c/x.h", "x.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [file.name for file in list_files(tmp_path, "b")] == ["b/c/x.h", "b/x.h"]


@needs_plugin("dmoj")
def test_package_of_two_formats_is_noted(write_package: Write, cache: Path) -> None:
    """The format that is read decides the points of tests."""
    folder = write_package(files={"init.yml": "test_cases: [{in: tests/1-01.in, out: tests/1-01.out}]"})
    (package,) = check_problems(folder, cache=cache)
    assert package.format == "DMOJ"
    assert "read by init.yml; problem.json of ioi_eval/CMS, which also exists, is ignored" in package.notes


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("x.json", '{"a": {"b": 1, "b": 1}}'),
        ("x.yaml", "a:\n  b: 1\n  b: 1\n"),
        ("x.yaml", "title: x\ntitle: y\na: {b: 1}\n"),
        ("x.yaml", "credits:\n  authors: x\n  authors: y\na: {b: 1}\n"),
        ("x.yaml", "source: [{url: x, url: y}]\na: {b: 1}\n"),
        ("x.json", '{"title": "x", "title": "y", "a": {"b": 1}}'),
        ("x.json", '{"a": {"b": 1}, "author": [{"mail": "x", "mail": "y"}]}'),
    ],
)
def test_repeated_harmless_key_is_noted(tmp_path: Path, file: str, content: str) -> None:
    (tmp_path / file).write_text(content)
    faults = Faults("package")
    mapping = read_mapping_file(tmp_path, file, faults)
    assert mapping is not None and mapping["a"] == {"b": 1}
    assert not faults.errors
    assert len(faults.notes) == 1 and "occurs twice; the last value wins" in faults.notes[0]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("x.json", '{"a": 1, "a": 2}'),
        ("x.json", '{"a": {"title": "x", "title": "y"}}'),
        ("x.json", '{"a": [{"b": 1}, {"c": 1, "c": 2}]}'),
        ("x.yaml", "a: 1\na: 2\n"),
        ("x.yaml", "a: 1\na: '1'\n"),
        ("x.yaml", "name: x\nname: y\n"),  # an id in some formats
        ("x.yaml", "a:\n  name: x\n  name: y\n"),
    ],
)
def test_repeated_key_with_different_value_is_refused(tmp_path: Path, file: str, content: str) -> None:
    (tmp_path / file).write_text(content)
    faults = Faults("package")
    assert read_mapping_file(tmp_path, file, faults) is None
    assert len(faults.errors) == 1 and "duplicate key" in str(faults.errors[0])


def test_git_lfs_pointers_in_a_zip_are_input_error(write_package: Write, cache: Path) -> None:
    package = write_package(files={"tests/1-01.out": "version https://git-lfs.github.com/spec/v1\n"})
    [pointer_package] = check_problems(zipped(package, package.parent / "sum.zip"), cache=cache)
    assert ["1 file of tests is a pointer of Git LFS" in str(error) for error in pointer_package.errors] == [
        True
    ]
