"""The pages in report/: their contents and links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import ModuleType

import msgspec
import pygments.formatters
import pytest
from run_samples import SUM, problem, result, submission, write_run
from support.runs import as_json_value, result_row
from test_html_page import HOSTILE

from ioi_eval.model.text import visible
from ioi_eval.models import Verdict
from ioi_eval.reports import ReportOptions, write_reports
from ioi_eval.reports import pages as pages_of_report
from ioi_eval.reports.document import (
    ALL,
    Code,
    TableBlock,
    make_list_page_filename,
    make_submission_page_filename,
    name_attempts_script,
    name_problem_page,
    render_numbered_code,
    render_output_diff_rows,
    render_rows,
)
from ioi_eval.reports.records import PageChoice
from ioi_eval.reports.submissions import make_wrong_output_sections
from ioi_eval.store import folder as store_folder
from ioi_eval.store.files import make_draft_path
from ioi_eval.store.rows import MAX_OUTPUT

END = '<span class="blank">↵</span>'
CODE = '#include <cstdio>\n\nint main() { puts("</script><b>&"); }\n'


def run(folder: Path, *, models: int = 3, text: str = "") -> Path:
    """Write a run of two problems and three models. Each has a right, a wrong and a broken submission."""
    rows = []
    for of in (SUM, problem("tree", subtasks=False)):
        for model in range(models):
            for number, statuses in enumerate(({}, {"2-a": Verdict.WA}, {"1-a": Verdict.TLE})):
                sent = submission(
                    f"{of.id}-{model}-{number}{text}",
                    problem_id=of.id,
                    row={"model": f"model {model}{text}", "generation": f"{text}\n```cpp\n{CODE}```\n{text}"},
                )
                judged_result = result(
                    sent, statuses, problem=of, compiles=number < 2, feedback=text or "fine"
                )
                stored_output = {
                    "test_name": "2-a",
                    "output": f"1 2 3\n{text}",
                    "expected": f"1 7 3\nyes\n{text}x",
                }
                stored_output["input"] = f"4 4\n{text}\n"
                more = {"wrong_output": as_json_value(stored_output)} if number == 1 else {}
                rows.append({**result_row(sent, of, judged_result), **more})
    write_reports(write_run(folder, rows))
    return folder


@pytest.fixture(scope="module")
def finished(own_folder: Path) -> Path:
    """Return a run that tests only read."""
    return run(Path(tempfile.mkdtemp(prefix="pages-", dir=own_folder)) / "run").resolve()


# A process that is killed while it writes a report.
WRITING = """
import sys
from pathlib import Path
from ioi_eval.store.files import make_draft_path

folder = Path(sys.argv[1])
make_draft_path(folder / "report").mkdir()
for name in ("summary.json", "tests.parquet"):
    make_draft_path(folder / name).touch()
print("writing", flush=True)
sys.stdin.read()
"""


def test_old_temporary_files_of_reports_are_removed(tmp_path: Path) -> None:
    folder = run(tmp_path / "run")
    temporary_files = [folder / ".report.1.tmp", folder / ".report.2.tmp", folder / ".tests.parquet.1.tmp"]
    for path in temporary_files[:2]:
        path.mkdir()
        (path / "page.html").touch()
    temporary_files[2].touch()
    os.utime(temporary_files[0], (0, 0))
    os.utime(temporary_files[2], (0, 0))
    write_reports(folder, ReportOptions(submissions=2))
    assert [path.exists() for path in temporary_files] == [False, True, False], "a temporary file in use"
    assert (folder / "report" / ALL).is_file()


def test_temporary_files_of_killed_report_are_removed_at_once(tmp_path: Path) -> None:
    """Without waiting for an hour, and even if nothing else is written."""
    folder = run(tmp_path / "run")
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        try:
            assert writer.stdout is not None and writer.stdout.readline() == "writing\n"
            write_reports(folder)
            assert len(list(folder.glob(".*.tmp"))) == 3, "temporary files in use stay"
        finally:
            writer.kill()
    living = make_draft_path(folder / "report.html")  # a temporary file of this process
    living.touch()
    write_reports(folder)
    assert list(folder.glob(".*.tmp")) == [living]


def links(page: Path) -> Iterator[Path]:
    for link in re.findall(r'(?:href|src)="([^"#]+)', page.read_text()):
        yield (page.parent / unescape(link)).resolve()


def test_submission_page_shows_code_and_tests(finished: Path) -> None:
    page = (finished / "report" / make_submission_page_filename("sum-1-1")).read_text()
    assert re.findall(r'<a id="L\d+" href="#L(\d+)">', page) == ["1", "2", "3"]
    assert '<span class="k' in page and "&lt;/script&gt;" in page
    assert [re.search(rf"<td>{name}</td><td class=\"status (\w+)\"", page)[1] for name in ("1-a", "2-a")] == [
        "ac",
        "wa",
    ]
    assert re.search(r"<strong>WA: \S+ of \S+ points. The first failed test is 2-a \(WA\)", page)
    assert 'class="status pa"' not in page and ">51.17" not in page


def test_submission_page_shows_wrong_output_with_expected(finished: Path) -> None:
    page = (finished / "report" / make_submission_page_filename("sum-1-1")).read_text()
    [table] = re.findall(r"<h2>Output of test 2-a</h2>(.*?)</section>", page, re.S)
    end = '<span class="blank">↵</span>'
    assert f"<td>1</td><td>1 <del>2</del> 3{end}</td><td>1 <ins>7</ins> 3{end}</td>" in table
    assert '<td>2</td><td class="none"></td><td><ins>yes↵</ins></td>' in table
    assert (
        "Output of test" not in (finished / "report" / make_submission_page_filename("sum-1-0")).read_text()
    )


@pytest.mark.parametrize(
    ("output", "expected", "notes"),
    [
        ("1\n", "2\n", []),
        ("1 2\n", "1  2\n", ["Only white space differs."]),
        ("2", "1\n", ["The output does not end with a line break, the expected output does."]),
        ("2\n", "1", ["The expected output does not end with a line break, the output does."]),
    ],
)
def test_output_diff_notes_differing_blanks_and_newlines(
    output: str, expected: str, notes: list[str]
) -> None:
    [section] = make_wrong_output_sections(
        {"wrong_output": {"test_name": "a", "output": output, "expected": expected}}
    )
    assert section.notes[:-1] == notes and "⇥ a tab" in section.notes[-1]


def test_test_input_is_shown_before_wrong_output() -> None:
    stored_output = {"test_name": "a", "input": "1\n" * (MAX_OUTPUT // 2), "output": "x", "expected": "y"}
    input_block, output = make_wrong_output_sections({"wrong_output": stored_output})
    assert input_block.title == "Input of test a, its first 400 bytes" and output.outputs is not None
    assert input_block.lines[0].lines == ["1"] * (MAX_OUTPUT // 2)


def test_test_input_is_shown_for_test_without_output() -> None:
    stored_output = {"test_name": "a", "input": "1\n", "output": None, "expected": "3\n"}
    input_block, expected = make_wrong_output_sections({"wrong_output": stored_output})
    assert input_block.title == "Input of test a" and expected.title == "Expected output of test a"
    assert expected.lines[0].lines == ["3"]
    [input_block] = make_wrong_output_sections({"wrong_output": stored_output | {"expected": None}})
    assert input_block.title == "Input of test a"


def test_page_without_outputs_names_keep_outputs_option(finished: Path, tmp_path: Path) -> None:
    pages = {
        name: (finished / "report" / make_submission_page_filename(f"sum-1-{name}")).read_text()
        for name in (0, 1)
    }
    assert not any("option keep-outputs" in page for page in pages.values())
    sent = submission("k", row={"model": "m"})
    write_reports(write_run(tmp_path / "bare", [result_row(sent, SUM, result(sent, {"2-a": Verdict.WA}))]))
    assert (
        "option keep-outputs"
        in (tmp_path / "bare" / "report" / make_submission_page_filename("k")).read_text()
    )


def test_submission_page_folds_reply_and_shows_code_once(tmp_path: Path) -> None:
    generation = f"Thus I think.\n```cpp\n{CODE}```\nThat is all."
    sent = submission("k", row={"model": "m", "generation": generation})
    write_reports(write_run(tmp_path / "run", [result_row(sent, SUM, result(sent))]))
    page = (tmp_path / "run" / "report" / make_submission_page_filename("k")).read_text()
    assert page.count("cstdio") == 1
    [reply] = re.findall(r"<details><summary>The reply of [^<]*</summary>(.*?)</details>", page, re.S)
    assert "Thus I think.\n```cpp\n[the code above]\n```\nThat is all." in reply


def test_submission_page_draws_subtask_points_as_bars(finished: Path) -> None:
    page = (finished / "report" / make_submission_page_filename("sum-1-0")).read_text()
    [table] = re.findall(r"<h2>Subtasks</h2>(.*?)</section>", page, re.S)
    assert (
        table.count('<span class="squares"') == len(SUM.subtasks) and table.count('class="v-ac"') == 1 + 3 + 4
    )


def test_problem_page_lists_attempts_and_equal_programs(tmp_path: Path) -> None:
    rows = []
    for number in range(3):
        sent = submission(f"k{number}", row={"model": "m", "solution_number": 7 - number})
        judged_result = msgspec.structs.replace(result(sent), repeats="k0" if number == 2 else "")
        rows.append(result_row(sent, SUM, judged_result))
    folder = write_run(tmp_path / "run", rows)
    write_reports(folder)
    page = (folder / "report" / name_problem_page("sum")).read_text()
    [equal] = re.findall(r'<section id="equal">(.*?)</section>', page, re.S)
    assert make_submission_page_filename("k0") in equal and make_submission_page_filename("k2") in equal
    assert ">Attempt</th>" in page and '<td class="number">5</td>' in page
    page_text = (folder / "report" / make_submission_page_filename("k2")).read_text()
    assert (
        f'href="{name_problem_page("sum")}#equal"' in page_text
        and f"{name_problem_page('sum')}#m-" in page_text
    )
    assert "#equal" not in (folder / "report" / make_submission_page_filename("k1")).read_text()


@pytest.mark.parametrize(
    ("output", "expected", "rows"),
    [
        ("", "", []),
        ("a\nb", "b", [("<del>a↵</del>", None), ("b", "b")]),
        ("a\n\nb", "a\nb", [(f"a{END}", f"a{END}"), ("<del>↵</del>", None), ("b", "b")]),
        ("1 <b>", "1 2 3", [("1 <del>&lt;b&gt;</del>", "1 <ins>2·3</ins>")]),
        ("x  y ", "x y", [("x<del>··</del>y<del>·</del>", "x<ins>·</ins>y")]),
        ("x\n", "x", [("x<del>↵</del>", "x")]),
        ("x\r\n", "x\n", [(f"x<del>\\r</del>{END}", f"x{END}")]),
        ("x\ty", "x y", [("x<del>⇥</del>y", "x<ins>·</ins>y")]),
        ("\u2003x\u202e", "x", [("<del>␣x\ufffd</del>", "<ins>x</ins>")]),
    ],
)
def test_output_diff_marks_differences(
    output: str, expected: str, rows: list[tuple[str | None, str | None]]
) -> None:
    def cell(content: str | None) -> str:
        return '<td class="none"></td>' if content is None else f"<td>{content}</td>"

    lines = (
        f"<tr><td>{n}</td>{cell(first)}{cell(second)}</tr>\n"
        for n, (first, second) in enumerate(rows, start=1)
    )
    assert str(render_output_diff_rows(output, expected)) == "".join(lines)


def test_reply_keeps_whitespace_on_page(tmp_path: Path) -> None:
    code = "for a in b:\n\tif  a:\n        print(a)\x1b[31m\u202e\n"
    sent = submission("k", row={"model": "m", "generation": code})
    write_reports(write_run(tmp_path / "run", [result_row(sent, SUM, result(sent))]))
    page = (tmp_path / "run" / "report" / make_submission_page_filename("k")).read_text()
    assert "<pre>for a in b:\n\tif  a:\n        print(a)\ufffd[31m\ufffd\n</pre>" in page


def test_report_links_lead_to_existing_targets(finished: Path) -> None:
    folder = finished
    every = [folder / "report.html", *(folder / "report").glob("*.html")]
    assert len(every) == 1 + 1 + 2 + 18
    reached = {link for page in every for link in links(page)}
    scripts = {folder / "report" / name_attempts_script(name) for name in ("sum", "tree")}
    shared = {folder / "report" / name for name in ("style.css", "script.js", "choices.js")}
    assert reached == {*every, *scripts, *shared}
    assert all(script.is_file() for script in scripts)
    for page in every:
        for target_parts in re.findall(r'href="(?:report/)?([^"#]*)#([^"]+)"', page.read_text()):
            target = folder / "report" / target_parts[0] if target_parts[0] else page
            assert f'id="{target_parts[1]}"' in target.read_text()


@pytest.mark.parametrize(
    ("pages", "number"),
    [(PageChoice.ALL, 18), (PageChoice.FAILED, 15), (PageChoice.SAMPLE, 14), (PageChoice.NONE, 0)],
)
def test_limited_pages_cover_failed_sampled_and_best_submissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: PageChoice, number: int
) -> None:
    """Also the examples that the report names. All links work."""
    monkeypatch.setattr(pages_of_report, "LONGEST_LIST", 7)
    monkeypatch.setattr(pages_of_report, "SAMPLE_SIZE", 9)
    folder = run(tmp_path / "run").resolve()
    for _ in range(2):  # from the pages of all rows, and from the files of the first report
        (folder / "summary.json").unlink()
        write_reports(folder, ReportOptions(pages=pages))
        every = [folder / "report.html", *(folder / "report").glob("*.html")]
        scripts = {folder / "report" / name_attempts_script(name) for name in ("sum", "tree")}
        assert {link for page in every for link in links(page)} - {*every} == {
            folder / "report" / "style.css",
            folder / "report" / "script.js",
            folder / "report" / "choices.js",
            *(scripts if number else ()),
        }
        assert len(files(folder)) == number
    # Nine of each problem: a page changes only with the submissions of its problems.
    row_counts = [
        (folder / "report" / make_list_page_filename(part_number)).read_text().count("<tr>")
        for part_number in range(4)
    ]
    assert row_counts == [7 + 1, 2 + 1, 7 + 1, 2 + 1]


def test_problem_page_lists_first_500_submissions_of_a_model(tmp_path: Path) -> None:
    first = submission("k000", row={"model": "otter", "generation": CODE})
    row = result_row(first, SUM, result(first))
    folder = write_run(tmp_path / "run", [row | {"key": f"k{number:03}"} for number in range(501)])
    write_reports(folder, ReportOptions(pages=PageChoice.NONE))
    page = (folder / "report" / name_problem_page("sum")).read_text()
    assert "The first 500; 1 more are in the list of all submissions." in page
    assert ">k000<" in page and ">k499<" in page and ">k500<" not in page


def test_problem_page_counts_failures_of_each_test(finished: Path) -> None:
    page = (finished / "report" / name_problem_page("sum")).read_text()
    numbers = re.search(r"<td>2-a</td>((?:<td class=\"number\">\d+</td>)+)", page)
    headings = re.findall(r"<th [^>]*>([^<]+)</th>", page[page.rindex("<table") :])
    assert numbers is not None
    cells = dict(zip(headings[1:], re.findall(r">(\d+)<", numbers[1]), strict=True))
    assert cells == {"Failed by": "6", "Decides": "6", "AC": "3", "WA": "3", "CE": "3"}
    assert "that no submission fails" not in page


@pytest.mark.parametrize(("other", "subtasks"), [(Verdict.AC, 2), (Verdict.SKIPPED, 1), (Verdict.WA, 1)])
def test_failed_test_decides_subtask_only_if_all_other_tests_ran(other: Verdict, subtasks: int) -> None:
    """A skipped test might have failed too. 3-a is in the last subtask."""
    tests = pages_of_report.TestStatistics()
    tests.add(result(submission("a"), {"2-a": Verdict.WA, "3-a": other}), "m", None)
    assert tests.decided == {"2-a": subtasks}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_text_from_rows_is_escaped_on_all_pages(tmp_path: Path, hostile: str) -> None:
    folder = run(tmp_path / "run", models=1, text=hostile) / "report"
    for page in folder.glob("*.html"):
        body = page.read_text()
        assert (
            body.count("<script") == 1 + page.name.startswith("submission")
            and "<img" not in body
            and 'onmouseover="' not in body
        )
        assert all(char.isprintable() or char in "\n\t" for char in body)
    shown = unescape(re.sub(r"<[^>]+>", "", (folder / ALL).read_text()))
    assert visible(f"model 0{as_json_value(hostile)}") in shown


def added(folder: Path, key: str, code: str = CODE) -> None:
    sent = submission(key, code, row={"model": "model 0", "generation": f"```cpp\n{code}```"})
    write_run(folder, [result_row(sent, SUM, result(sent, problem=SUM))])


def files(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in (folder / "report").glob("submission-*.html")}


def test_only_pages_of_new_rows_are_built(tmp_path: Path) -> None:
    folder = run(tmp_path / "run")
    (folder / "report" / "old.html").write_text("x")
    files_before, summaries = files(folder), (folder / "summary.json").stat().st_ino
    write_reports(folder)
    assert (folder / "report" / "old.html").exists() and (folder / "summary.json").stat().st_ino == summaries

    added(folder, "new")
    (folder / "report" / make_submission_page_filename("sum-0-0")).unlink()
    write_reports(folder)
    files_after = files(folder)
    assert files_after.keys() - files_before.keys() == {make_submission_page_filename("new")}
    assert {name for name in files_before if files_after[name] != files_before[name]} <= {
        make_submission_page_filename("sum-0-0")
    }
    assert "new" in (folder / "report" / ALL).read_text()
    assert not (folder / "report" / "old.html").exists()
    assert [path.name for path in folder.glob(".*.tmp")] == []


def test_report_update_reads_each_row_once_and_new_rows_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time to build its page."""
    folder = run(tmp_path / "run")
    added(folder, "new")
    reads, truly = Counter[str](), store_folder.restore_row_confinement
    monkeypatch.setattr(
        store_folder,
        "restore_row_confinement",
        lambda row, *more: reads.update([row["key"]]) or truly(row, *more),
    )
    write_reports(folder)
    assert (
        len(reads) == 19
        and {key for key, times in reads.items() if times > 1} == {"new"}
        and reads["new"] == 2
    )


def test_long_table_hides_rows_after_200() -> None:
    table_parts = str(
        render_rows(TableBlock(heads=["A"], rows=[[f"{n}"] for n in range(201)], align="l"))
    ).split("<tbody hidden>")
    assert [table_part.count("<tr>") for table_part in table_parts] == [200, 1]
    assert "<tbody" not in str(render_rows(TableBlock(heads=["A"], rows=[["1"]] * 200, align="l")))


def test_page_of_a_replaced_row_is_rebuilt(tmp_path: Path) -> None:
    """The row has the same key, but another position or other results."""
    folder = run(tmp_path / "run")
    lines = (folder / "results.jsonl").read_bytes().splitlines(keepends=True)
    page, marked = (
        folder / "report" / make_submission_page_filename("sum-0-0"),
        lines[0].replace(b"puts", b"gets"),
    )
    (folder / "results.jsonl").write_bytes(b"".join([*lines[1:], marked]))
    write_reports(folder)
    assert "gets" in page.read_text()


def test_report_is_rebuilt_for_other_options_or_missing_file(tmp_path: Path) -> None:
    folder = run(tmp_path / "run")
    assert write_reports(folder, ReportOptions(ks=(2,))).models[0].pass_at[0].k == 2
    assert write_reports(folder).models[0].pass_at[0].k == 1
    (folder / "report.html").unlink()
    rebuilt = write_reports(folder)
    assert (folder / "report.html").exists() and write_reports(folder) == rebuilt


def test_pygments_is_usable_while_another_thread_loads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its package replaces itself during the import, so that another thread may see the first module."""
    first = ModuleType("pygments.formatters")
    first.__path__ = list(pygments.formatters.__path__)
    monkeypatch.setitem(sys.modules, "pygments.formatters", first)
    unloaded_lexer = "objective-c++"  # lexers that other tests used are already loaded
    assert "<span" in str(render_numbered_code(Code(text="int main() {}", lexer=unloaded_lexer)))


def test_code_lines_are_numbered_once_each() -> None:
    for code in ("a\n\n\nb", "\n\nx = '''\n\n'''\n", "/*\n*/\n", "\tx\r\n"):
        for lexer in ("", "python", "cpp"):
            shown = str(render_numbered_code(Code(text=code, lexer=lexer)))
            assert shown.count("<a ") == code.rstrip("\n").count("\n") + 1, (code, lexer)


def test_slow_to_highlight_program_is_not_coloured() -> None:
    """Pygments needs 30 s for 20,000 consecutive blanks."""
    for code in (f"int {' ' * 1100}f", "\n" * 1100 + "int f;", "#if 0\n" + "x\n" * 600):
        assert "<span" not in str(render_numbered_code(Code(text=code, lexer="cpp")))
    long = f"int x[] = {{{'1, ' * 600}2}};  // {'word ' * 190}\n"
    assert "<span" in str(render_numbered_code(Code(text=long, lexer="cpp")))
