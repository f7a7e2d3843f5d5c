"""Statements and attachments of packages."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import write_package

from ioi_eval.problems import check_problems, compute_problem_hashes, load_problems
from ioi_eval.problems.statements import find_statement
from ioi_eval.store.resources import examples_folder


def folder(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"of {name}")
    return root


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["statement.md", "notes.md", "statement.pdf"], "statement.md"),
        (["README.md", "todo.txt"], None),
        (
            ["problem_statement/problem.sv.tex", "problem_statement/problem.en.tex"],
            "problem_statement/problem.en.tex",
        ),
        (["problem_statement/problem.sv.tex"], "problem_statement/problem.sv.tex"),
        (["statement/index.md", "statement/figures.tex"], "statement/index.md"),
        (
            ["statements/english/problem.tex", "statements/english/tutorial.tex"],
            "statements/english/problem.tex",
        ),
        (["statement/problem.tex", "statement/problem.md"], "statement/problem.md"),
        (
            ["statements/russian/problem.tex", "statements/russian/tutorial.tex"],
            "statements/russian/problem.tex",
        ),
        (
            ["statements/armenian/problem.tex", "statements/english/problem.tex"],
            "statements/english/problem.tex",
        ),
        (["statement/lanterns.tex"], "statement/lanterns.tex"),
        (["statement/statement.pdf"], None),
    ],
)
def test_package_statement_file_is_chosen(tmp_path: Path, names: list[str], chosen: str | None) -> None:
    statement = find_statement(folder(tmp_path, *names))
    assert (None if statement is None else statement.read().decode()) == (chosen and f"of {chosen}")


def test_pdf_only_statement_is_noted(tmp_path: Path) -> None:
    folder(write_package(tmp_path / "p" / "text"), "statement.md")
    folder(write_package(tmp_path / "p" / "paper"), "statement/statement.pdf")
    packages = {
        package.problem.id: package
        for package in check_problems(tmp_path / "p", cache=tmp_path)
        if package.problem
    }
    problem = packages["text"].problem
    assert (
        problem is not None
        and problem.statement is not None
        and problem.statement.read() == b"of statement.md"
    )
    assert packages["text"].notes == () and problem.document == ""
    paper = packages["paper"].problem
    assert paper is not None and paper.document == "statement/statement.pdf" and paper.statement is None
    assert packages["paper"].notes == ("its statement is a PDF, which is not included in prompts",)


def test_example_packages_have_statements(tmp_path: Path) -> None:
    problems = load_problems(examples_folder() / "problems", cache=tmp_path)
    assert all(problem.statement is not None for problem in problems.values())


def test_problems_are_chosen_before_they_are_read(tmp_path: Path) -> None:
    for name in "abc":
        write_package(tmp_path / "p" / name)
    header = tmp_path / "p" / "c" / "problem.json"
    header.write_text(header.read_text().replace('"Batch"', '"Batched"'))
    chosen = load_problems(tmp_path / "p", cache=tmp_path, choose=lambda ids: ids[:2])
    assert list(chosen) == ["a", "b"]
    only = load_problems(tmp_path / "p", cache=tmp_path, only={"b"}, choose=lambda ids: [*ids, "b"])
    assert list(only) == ["b"]


def test_package_attachments_are_read_without_changing_fingerprint(tmp_path: Path) -> None:
    package = write_package(tmp_path / "p" / "add")
    (fingerprint_before,) = compute_problem_hashes(load_problems(package)).values()
    folder(
        package, "att/grader.cpp", "attachments/add.h", "public/cpp/stub.cpp", "public/.hidden", "graders/x.h"
    )
    (tmp_path / "secret").write_text("secret")
    (package / "att" / "link.txt").symlink_to(tmp_path / "secret")
    (problem,) = load_problems(package).values()
    handed = {file.name: file.content.read().decode() for file in problem.attachments}
    assert handed == {
        "grader.cpp": "of att/grader.cpp",
        "add.h": "of attachments/add.h",
        "cpp/stub.cpp": "of public/cpp/stub.cpp",
    }
    (package / "graders" / "x.h").unlink()
    assert compute_problem_hashes(load_problems(package)) == {
        "add": fingerprint_before
    }  # they change no score


def test_tests_outside_subtasks_are_noted(tmp_path: Path) -> None:
    write_package(tmp_path / "p", subtasks={"all": (100, ["1-1", "2-2"])})
    write_package(tmp_path / "q")
    packages = {
        package.where.rpartition("/")[2]: package for package in check_problems(tmp_path, cache=tmp_path)
    }
    assert packages["p"].notes == ("tests that are in no subtask do not run, 2 of 4: 1-2, 2-1",)
    assert packages["q"].notes == ()
