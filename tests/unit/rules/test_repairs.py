"""Repairs of programs, and extraction rules of other pipelines."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_programs import ADD, CPP, DRAFT, PYTHON, SCRIPT, fenced

from ioi_eval.models import Blob, NamedBlob, Problem, TaskType
from ioi_eval.rules.extraction import (
    CodeRepairs,
    Extraction,
    extract,
    insert_after_future_imports,
    list_extraction_repairs,
    read_extraction_repair,
    repair,
)

# --- repairs -----------------------------------------------------------------------------------------

HEADER = NamedBlob(name="graders/Sum.h", content=Blob.of("int add(int, int);\n"))
PROBLEM = Problem(id="sum", grader_files=(HEADER,))
ALL = CodeRepairs(add_includes=True, add_header=True, add_namespace=True)
BARE = "int add(int a, int b) { return max(a, b); }\n"


def test_default_repairs_change_nothing() -> None:
    assert repair(BARE, PROBLEM, CPP, CodeRepairs()) == (BARE, ())


def test_all_repairs_add_includes_header_and_namespace() -> None:
    code, names = repair(BARE, PROBLEM, CPP, ALL)
    assert code == '#include <bits/stdc++.h>\n#include "Sum.h"\nusing namespace std;\n' + BARE
    assert names == ("add_includes", "add_header", "add_namespace")


@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("add_includes", "#include <bits/stdc++.h>\n"),
        ("add_header", '#include "Sum.h"\n'),
        ("add_namespace", "using namespace std;\n"),
    ],
)
def test_single_repair_is_applied_once(option: str, line: str) -> None:
    options = CodeRepairs(**{option: True})
    repaired = repair(BARE, PROBLEM, CPP, options)
    assert repaired == (line + BARE, (option,))
    assert repair(repaired[0], PROBLEM, CPP, options) == (repaired[0], ())


@pytest.mark.parametrize(
    "line", ["#include <bits/stdc++.h>", "  #  include<bits/stdc++.h>", '#include "bits/stdc++.h"']
)
def test_existing_include_is_not_added(line: str) -> None:
    assert repair(line + "\n" + BARE, PROBLEM, CPP, CodeRepairs(add_includes=True))[1] == ()


def test_include_in_comment_does_not_count() -> None:
    assert repair("// #include <bits/stdc++.h>\n" + BARE, PROBLEM, CPP, CodeRepairs(add_includes=True))[1]


def test_qualified_code_gets_no_using_namespace() -> None:
    assert repair("std::string s;\n", PROBLEM, CPP, CodeRepairs(add_namespace=True))[1] == ()


IMPORTS = CodeRepairs(add_imports=True)


@pytest.mark.parametrize(
    "start", ["", "# a\n", '"""doc\x0c\n"""\nfrom __future__ import (\n  annotations,\n)\n']
)
def test_add_imports_provides_names_of_python_harnesses(start: str) -> None:
    code = (
        f"{start}found = gcd(4, 6), max(List, key=str) if () else maxsize, datetime.datetime, bisect.bisect"
    )
    repaired, names = repair(code, PROBLEM, PYTHON, IMPORTS)
    assert names == ("add_imports",)
    # In a separate process, because harnesses raise the recursion limit.
    expected = "(2, sys.maxsize, datetime.datetime, bisect.bisect)"
    check = (
        f"import builtins\nassert found == {expected}\nassert open is builtins.open, 'modules have one too'"
    )
    subprocess.run([sys.executable, "-c", f"{repaired}\n{check}"], check=True)
    assert repair(repaired, PROBLEM, PYTHON, IMPORTS) == (repaired, ())


def test_add_imports_skips_functions_and_other_languages() -> None:
    function = Problem(id="f", task_type=TaskType.FUNCTION)
    assert repair("x = 1", function, PYTHON, IMPORTS) == ("x = 1", ())
    assert repair("x = 1", PROBLEM, PYTHON, ALL) == ("x = 1", ())
    assert repair(BARE, PROBLEM, CPP, IMPORTS) == (BARE, ())


def test_add_header_does_nothing_without_problem_header() -> None:
    assert repair(BARE, Problem(id="sum"), CPP, CodeRepairs(add_header=True)) == (BARE, ())
    assert repair(BARE, Problem(id="other", grader_files=(HEADER,)), CPP, CodeRepairs(add_header=True)) == (
        BARE,
        (),
    )


def test_cpp_repairs_leave_python_code_unchanged() -> None:
    assert repair(SCRIPT, PROBLEM, PYTHON, ALL) == (SCRIPT, ())
    assert ast.parse(SCRIPT)


# --- extraction like other tools ---------------------------------------------------------------------

SEVERAL = f"<think>{fenced(DRAFT)}</think>First:\n{fenced(DRAFT)}Better:\n{fenced(ADD)}Done."


def test_mode_first_extracts_first_block_and_mode_whole_the_reply() -> None:
    assert extract(SEVERAL, CPP, Extraction.FIRST) == DRAFT
    assert extract(SEVERAL, CPP, Extraction.WHOLE) == SEVERAL
    assert extract("No code.", CPP, Extraction.FIRST) is None


@pytest.mark.parametrize(
    ("reply", "program"),
    [
        (f"So:\n```python\n{SCRIPT}```\nDone.", SCRIPT[:-1]),
        (f"```\na\n```\n```python\n{SCRIPT}```", SCRIPT[:-1]),
        (f"```python\n{SCRIPT}```\n```", ""),  # a doubled closing fence
        (f"```python\n{SCRIPT}", ""),  # cut off
        (SCRIPT, ""),
        ("x = '```'\ny = 1\nz = '```'", "y = 1"),
        ("", ""),
    ],
)
def test_livecodebench_extraction_returns_expected_block(reply: str, program: str) -> None:
    assert extract(reply, PYTHON, Extraction.LIVECODEBENCH) == program


@given(
    st.lists(st.sampled_from(["```", "```python", "    ```x", "a = 1", "", "text ``` text"])).map("\n".join)
)
def test_livecodebench_extraction_returns_text_between_last_two_fences(text: str) -> None:
    pieces, inside = [[]], text.split("\n")
    for line in inside:
        pieces[-1].append(line)
        if "```" in line:
            pieces.append([])
    expected = "\n".join(pieces[-2][:-1]) if len(pieces) > 2 else ""
    assert extract(text, PYTHON, Extraction.LIVECODEBENCH) == expected


@pytest.mark.parametrize("extraction", Extraction)
def test_extraction_is_found_in_repairs_of_row(extraction: Extraction) -> None:
    assert read_extraction_repair(["add_imports", *list_extraction_repairs(extraction)]) is extraction


def test_all_future_imports_stay_first() -> None:
    futures = "from __future__ import annotations\nfrom __future__ import division\n"
    inserted = insert_after_future_imports(f"{futures}x = 1\n", "import math\n")
    assert inserted == f"{futures}import math\nx = 1\n"
