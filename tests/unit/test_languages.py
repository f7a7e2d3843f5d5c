from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ioi_eval.errors import InputError
from ioi_eval.languages import LANGUAGES, find, of_suffix

CPP, PYTHON = find("c++"), find("python")


@pytest.mark.parametrize(
    "name", ["c++", "C++", "cpp", "CPP", " cpp ", "cc", "cxx", "g++", "GNU C++", "cplusplus"]
)
def test_names_of_cpp(name: str) -> None:
    assert find(name) == CPP
    assert find(name).standard == ""


@pytest.mark.parametrize(
    ("name", "standard"),
    [
        ("cpp17", "gnu++17"),
        ("cpp20", "gnu++20"),
        ("C++17", "gnu++17"),
        ("c++ 14", "gnu++14"),
        ("C++11", "gnu++11"),
        ("cpp_23", "gnu++23"),
        ("GNU C++17", "gnu++17"),
        ("GNU C++20 (64)", "gnu++20"),
        ("C++20 (GCC 13-64)", "gnu++20"),
        ("GNU G++17", "gnu++17"),
        ("gnu++2a", "gnu++20"),
        ("c++0x", "gnu++11"),
    ],
)
def test_names_that_fix_the_standard(name: str, standard: str) -> None:
    language = find(name)
    assert (language.name, language.standard) == ("c++", standard)
    assert f"-std={standard}" in language.build(["a.cpp"], "a", "gnu++98")


@pytest.mark.parametrize(
    "name", ["python", "Python", "python3", "Python 3", "py", "py3", "python_3", "Python 3.11"]
)
def test_names_of_python(name: str) -> None:
    assert find(name) is PYTHON


@pytest.mark.parametrize(
    "name", ["", "python2", "Python 2", "Python 2.7", "pypy3", "java", "c", "c++99", "brainfuck"]
)
def test_unknown_names_are_bad_input(name: str) -> None:
    with pytest.raises(InputError) as caught:
        find(name, where="dump.jsonl", row=17)
    message = str(caught.value)
    assert message.startswith(f"dump.jsonl, line 17, field 'language': unknown language {name!r}")
    assert "c++" in message and "python" in message


def test_no_name_is_of_two_languages() -> None:
    names = [name for language in LANGUAGES for name in language.tags]
    assert len(names) == len(set(names))
    assert all(find(language.name) is language for language in LANGUAGES)


def test_every_alias_is_found() -> None:
    for language in LANGUAGES:
        for alias in language.aliases:
            assert find(alias) is language
        for alias, standard in language.dialects:
            assert find(alias).standard == standard


def test_suffixes() -> None:
    assert of_suffix(".cpp") is CPP
    assert of_suffix(".CC") is CPP
    assert of_suffix(".py") is PYTHON
    assert of_suffix(".txt") is None
    assert of_suffix("") is None


def test_cpp_is_built_as_on_the_contest_system() -> None:
    command = CPP.build(["graders/grader.cpp", "graders/sum.cpp"], "submission", "gnu++17")
    assert " ".join(command) == (
        "g++ -DEVAL -std=gnu++17 -O2 -pipe -static -s -o submission graders/grader.cpp graders/sum.cpp"
    )


def test_the_standard_has_a_default() -> None:
    assert "-std=gnu++20" in CPP.build(["a.cpp"], "a")


def test_a_tool_and_more_flags() -> None:
    command = CPP.build(["a.cpp"], "a", tool="/opt/g++", extra=["-I", "{headers}"])
    assert command[0] == "/opt/g++"
    assert command[command.index("-s") + 1 :] == ("-I", "{headers}", "-o", "a", "a.cpp")


def test_names_of_files_are_no_templates() -> None:
    assert CPP.build(["{tool}.cpp", "{}"], "{0}", "gnu++20")[-3:] == ("{0}", "{tool}.cpp", "{}")


def test_headers_are_precompiled_with_the_flags_of_builds() -> None:
    flags = CPP.build([], "x", "gnu++17")[1:-2]
    assert CPP.precompile("h.hpp", "h.gch", "gnu++17") == (
        "g++", *flags, "-x", "c++-header", "-o", "h.gch", "h.hpp",
    )  # fmt: skip
    assert not PYTHON.precompile_template


def test_commands_that_run() -> None:
    assert CPP.run("/usr/bin/g++") == ("submission",)
    assert PYTHON.run("/usr/bin/python3.11") == ("/usr/bin/python3.11", "-I", "submission")
    assert (CPP.artifact_name, PYTHON.artifact_name) == ("submission", "submission")
    assert (CPP.source_name, PYTHON.source_name) == ("submission.cpp", "submission.py")


def test_no_language_has_threads() -> None:
    assert [language.threads for language in LANGUAGES] == [1, 1]


def run(command: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("code", [b"print(1)\n", b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", b"", b"1 / 0\n"])
def test_python_that_compiles_is_its_own_artifact(tmp_path: Path, code: bytes) -> None:
    (tmp_path / "submission.py").write_bytes(code)
    done = run(PYTHON.build(["submission.py"], "submission", tool=sys.executable), tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "submission").read_bytes() == code


@pytest.mark.parametrize(
    "code", [b"print(\n", b"  x = 1\ny = 2\n", b"x = 1\0\n", b"return 1\n", b"s = '\xff'\n", b"(" * 5000]
)
def test_python_that_does_not_compile_makes_no_artifact(tmp_path: Path, code: bytes) -> None:
    (tmp_path / "submission.py").write_bytes(code)
    done = run(PYTHON.build(["submission.py"], "submission", tool=sys.executable), tmp_path)
    assert done.returncode == 1
    assert "Error" in done.stderr
    assert not (tmp_path / "submission").exists()


def test_python_runs_without_the_folder_and_the_environment(tmp_path: Path) -> None:
    (tmp_path / "submission").write_text(
        "import sys\nprint(sys.flags.isolated, len(sys.argv))\nimport helper\n"
    )
    (tmp_path / "helper.py").write_text("print('found')\n")
    done = run(PYTHON.run(sys.executable), tmp_path)
    assert done.stdout == "1 1\n"
    assert "ModuleNotFoundError" in done.stderr


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_the_compiler_takes_the_command(tmp_path: Path) -> None:
    (tmp_path / "a b.cpp").write_text(
        'using namespace std;\n#include <cstdio>\nint main() { puts("hello"); }\n'
    )
    assert run(CPP.build(["a b.cpp"], "submission"), tmp_path).stderr == ""
    assert run((str(tmp_path / "submission"),), tmp_path).stdout == "hello\n"
