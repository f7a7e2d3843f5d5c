from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from support.folders import examples_folder

from ioi_eval.errors import InputError
from ioi_eval.model.languages import (
    LANGUAGES,
    find_install_command,
    find_language,
    find_language_by_suffix,
)
from ioi_eval.models import Limits
from ioi_eval.rules.extraction import extract
from ioi_eval.store.resources import graders_folder

CPP, PYTHON = find_language("c++"), find_language("python")


@pytest.mark.parametrize(
    "name", ["c++", "C++", "cpp", "CPP", " cpp ", "cc", "cxx", "g++", "GNU C++", "cplusplus"]
)
def test_cpp_alias_is_found_without_a_standard(name: str) -> None:
    assert find_language(name) == CPP
    assert find_language(name).standard == ""


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
def test_language_name_with_a_version_sets_the_standard(name: str, standard: str) -> None:
    language = find_language(name)
    assert (language.name, language.standard) == ("c++", standard)
    assert f"-std={standard}" in language.build_command(["a.cpp"], "a", "gnu++98")


@pytest.mark.parametrize(
    "name", ["python", "Python", "python3", "Python 3", "py", "py3", "python_3", "Python 3.11"]
)
def test_python_alias_is_found(name: str) -> None:
    assert find_language(name) is PYTHON


@pytest.mark.parametrize(
    "name",
    [
        "",
        "python2",
        "Python 2",
        "Python 2.7",
        "Python (2.7.3)",
        "Python 2 7.3.13",
        "PyPy 2 7.3.13",
        "1 " * 2000,
        "PyPy 2",
        "Python (2.7.6)",
        "Python (PyPy 2.7)",
        "PyPy (2.7.13)",
        "pascalabc.net",
        "perl",
        "c++99",
        "Rust 2022",
        "brainfuck",
    ],
)
def test_unknown_language_name_is_input_error_with_row_number(name: str) -> None:
    with pytest.raises(InputError) as caught:
        find_language(name, where="dump.jsonl", row=17)
    message = str(caught.value)
    assert message.startswith(f"dump.jsonl, line 17, field 'language': unknown language {name!r}")
    assert "c++" in message and "python" in message


def test_language_tags_are_unique() -> None:
    names = [name for language in LANGUAGES for name in language.tags - {*language.more_tags}]
    assert len(names) == len(set(names))
    assert all(find_language(language.name) is language for language in LANGUAGES)


def test_every_language_alias_and_dialect_is_found() -> None:
    for language in LANGUAGES:
        for alias in language.aliases:
            assert find_language(alias) is language
        for alias, standard in language.dialects:
            assert find_language(alias).standard == standard


def test_language_is_found_by_file_suffix() -> None:
    assert find_language_by_suffix(".cpp") is CPP
    assert find_language_by_suffix(".CC") is CPP
    assert find_language_by_suffix(".py") is PYTHON
    assert find_language_by_suffix(".txt") is None
    assert find_language_by_suffix("") is None


def test_cpp_is_built_as_on_the_contest_system() -> None:
    command = CPP.build_command(["graders/grader.cpp", "graders/sum.cpp"], "submission", "gnu++17")
    assert " ".join(command) == (
        "g++ -DEVAL -std=gnu++17 -O2 -static -s -o submission graders/grader.cpp graders/sum.cpp"
    )


def test_cpp_build_without_a_standard_uses_gnu20() -> None:
    assert "-std=gnu++20" in CPP.build_command(["a.cpp"], "a")


def test_build_command_accepts_compiler_path_and_extra_flags() -> None:
    command = CPP.build_command(["a.cpp"], "a", tool="/opt/g++", extra=["-I", "{headers}"])
    assert command[0] == "/opt/g++"
    assert command[command.index("-s") + 1 :] == ("-I", "{headers}", "-o", "a", "a.cpp")


def test_braces_in_file_names_are_not_expanded_in_build_command() -> None:
    assert CPP.build_command(["{tool}.cpp", "{}"], "{0}", "gnu++20")[-3:] == ("{0}", "{tool}.cpp", "{}")


def test_precompile_command_has_the_flags_of_the_build() -> None:
    flags = CPP.build_command([], "x", "gnu++17")[1:-2]
    assert CPP.precompile_command("h.hpp", "h.gch", "gnu++17") == (
        "g++", *flags, "-x", "c++-header", "-o", "h.gch", "h.hpp",
    )  # fmt: skip
    assert not PYTHON.precompile_template


def test_run_commands_of_cpp_and_python() -> None:
    assert CPP.run_command("/usr/bin/g++") == ("submission",)
    assert PYTHON.run_command("/usr/bin/python3.11") == ("/usr/bin/python3.11", "-I", "submission")
    assert (CPP.artifact_name, PYTHON.artifact_name) == ("submission", "submission")


def test_only_c_cpp_and_pascal_are_limited_to_one_thread() -> None:
    assert [language.name for language in LANGUAGES if language.threads == 1] == ["c", "c++", "pascal"]
    assert all(1 <= language.threads <= 64 for language in LANGUAGES)


@pytest.mark.parametrize(
    ("name", "language", "standard"),
    [
        ("C", "c", ""),
        ("GNU C", "c", ""),
        ("GNU C11", "c", "gnu11"),
        ("C17 (GCC 13)", "c", "gnu17"),
        ("PyPy 3", "pypy", ""),
        ("PyPy 3-64", "pypy", ""),
        ("PyPy 3.10 (7.3.15, 64bit)", "pypy", ""),
        ("Java", "java", ""),
        ("Java 17", "java", ""),
        ("Java 8", "java", ""),
        ("Java 11.0.6", "java", ""),
        ("Java 21 64bit", "java", ""),
        ("Java (OpenJDK 17)", "java", ""),
        ("Rust", "rust", ""),
        ("Rust 2021", "rust", "2021"),
        ("Rust 1.75.0 (2021)", "rust", "2021"),
        ("Rust 1.89.0 (2024)", "rust", "2024"),
        ("Rust (rustc 1.89.0)", "rust", ""),
        ("Go", "go", ""),
        ("golang", "go", ""),
        ("Go 1.19", "go", ""),
        ("Go 1.22.2", "go", ""),
        ("golang 1.22", "go", ""),
        ("Python 3.8.10", "python", ""),
        ("CPython 3.11", "python", ""),
        ("Python (CPython 3.11.4)", "python", ""),
        ("Python (PyPy 3.10-v7.3.12)", "pypy", ""),
        ("PyPy 3.11-v7.3.20", "pypy", ""),
        ("PyPy3 (7.3.0)", "pypy", ""),
        ("OpenJDK 17", "java", ""),
        ("nodejs 20", "javascript", ""),
        ("GNU G++17 7.3.0", "c++", "gnu++17"),
        ("GNU G++20 11.2.0 (64 bit, winlibs)", "c++", "gnu++20"),
        ("GNU C++17 Diagnostics", "c++", "gnu++17"),
        ("C++ (GNU C++17)", "c++", "gnu++17"),
        ("C++ (GCC 9.2.1)", "c++", ""),
        ("g++-14", "c++", ""),
        ("g++ 13.2.0", "c++", ""),
        ("GNU GCC C11 5.1.0", "c", "gnu11"),
        ("Python (3.8.2)", "python", ""),
        ("Python 3 (PyPy 3.10)", "pypy", ""),
        ("PyPy3 (2.4.0)", "pypy", ""),
        ("FPC 3.2.2", "pascal", ""),
        ("Free Pascal 3.0.2", "pascal", ""),
        ("Delphi 7", "pascal", "delphi"),
        ("Haskell GHC 8.10.1", "haskell", ""),
        ("Node.js 15.8.0 (64bit)", "javascript", ""),
        ("JavaScript", "javascript", ""),
        ("Kotlin 1.9.21", "kotlin", ""),
        ("C# Mono 6.8", "c#", ""),
        ("Mono C#", "c#", ""),
        (".NET Core C#", "c#", ""),
        ("pas", "pascal", ""),
        ("Clang++17 Diagnostics", "c++", "gnu++17"),
        ("Clang++20 Diagnostics", "c++", "gnu++20"),
        ("MS C++", "c++", ""),
        ("MS C++ 2017", "c++", "gnu++17"),
        ("C# 8, .NET Core 3.1", "c#", ""),
        ("MS C#", "c#", ""),
        ("C# Mono 5.18", "c#", ""),
        ("GNU C++0x 4", "c++", "gnu++11"),
        ("GNU G++ 5.1.0", "c++", ""),
        ("g++ 12", "c++", ""),
        ("GNU G++ 13", "c++", ""),
        ("g++ 17", "c++", "gnu++17"),
        ("clang++", "c++", ""),
        ("clang++ 17", "c++", "gnu++17"),
        ("clang++-14", "c++", ""),
        ("clang++ 15.0.6", "c++", ""),
        ("gcc 12.2", "c", ""),
        ("GCC 12", "c", ""),
        ("gcc 11", "c", "gnu11"),
        ("C++ (GCC 12.2)", "c++", ""),
        ("C (gcc 12.2.0)", "c", ""),
        ("Microsoft Visual C++ 2017", "c++", "gnu++17"),
        ("Microsoft Visual C++ 2010", "c++", ""),
    ],
)
def test_language_name_of_a_dataset_gives_language_and_standard(
    name: str, language: str, standard: str
) -> None:
    language_choice = find_language(name)
    assert (language_choice.name, language_choice.standard) == (language, standard)


def test_c_is_built_as_on_the_contest_system() -> None:
    assert " ".join(find_language("c").build_command(["sum.c"], "submission")) == (
        "gcc -DEVAL -std=gnu11 -O2 -static -s -o submission sum.c -lm"
    )


def test_java_command_has_memory_limit_as_heap_size() -> None:
    java = find_language("java")
    assert "-Xmx256m" in java.run_command("/usr/bin/java", 256 << 20)
    assert not any(
        argument.startswith("-Xmx") or "{" in argument for argument in java.run_command("/usr/bin/java")
    )
    assert "-Xmx16m" in java.run_command("/usr/bin/java", 1 << 20), "Java cannot start with less"
    assert CPP.run_command("", 256 << 20) == CPP.run_command()


def test_default_limits_of_all_languages_equal_contest_limits() -> None:
    limits = Limits.contest(1.5, 256 << 20)
    assert all(language.adjust_limits(limits) == limits for language in LANGUAGES)


def test_language_factors_and_extras_raise_limits() -> None:
    slow = msgspec.structs.replace(PYTHON, time_factor=2.0, time_extra=0.5, memory_extra=64 << 20)
    assert slow.adjust_limits(Limits(cpu_time=1.0, wall_time=3.0, memory=64 << 20, output=7)) == Limits(
        cpu_time=2.5, wall_time=6.5, memory=128 << 20, output=7
    )
    assert slow.adjust_limits(Limits()) == Limits()


def test_every_language_command_has_an_install_remedy() -> None:
    assert all(find_install_command(language.command) == language.remedy != "" for language in LANGUAGES)
    assert find_install_command("cobc") == ""


def test_every_language_has_an_example_program() -> None:
    of = {
        suffix_language.name
        for path in (examples_folder() / "languages").iterdir()
        if (suffix_language := find_language_by_suffix(path.suffix))
    }
    assert of == {language.name for language in LANGUAGES} - {"pypy"}, "PyPy shares Python's example"


def test_pypy_program_is_extracted_from_a_python_code_block() -> None:
    assert extract("```python\nprint(1)\n```", find_language("pypy")) == "print(1)\n"


def run(command: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def build_python(folder: Path, code: bytes) -> subprocess.CompletedProcess[str]:
    (folder / PYTHON.helper).parent.mkdir()
    shutil.copyfile(graders_folder() / PYTHON.helper, folder / PYTHON.helper)
    (folder / "submission.py").write_bytes(code)
    return run(PYTHON.build_command(["submission.py"], "submission", tool=sys.executable), folder)


@pytest.mark.parametrize("code", [b"print(1)\n", b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", b"", b"1 / 0\n"])
def test_valid_python_source_is_copied_as_build_artifact(tmp_path: Path, code: bytes) -> None:
    completed = build_python(tmp_path, code)
    assert (completed.returncode, completed.stdout, completed.stderr) == (0, "", "")
    assert (tmp_path / "submission").read_bytes() == code


@pytest.mark.parametrize(
    "code", [b"print(\n", b"  x = 1\ny = 2\n", b"x = 1\0\n", b"return 1\n", b"s = '\xff'\n", b"(" * 5000]
)
def test_python_syntax_error_fails_the_build_without_artifact(tmp_path: Path, code: bytes) -> None:
    completed = build_python(tmp_path, code)
    assert (completed.returncode, completed.stdout) == (1, "")
    assert "Error" in completed.stderr
    assert not (tmp_path / "submission").exists()


def test_python_runs_in_isolated_mode(tmp_path: Path) -> None:
    (tmp_path / "submission").write_text(
        "import sys\nprint(sys.flags.isolated, len(sys.argv))\nimport helper\n"
    )
    (tmp_path / "helper.py").write_text("print('found')\n")
    completed = run(PYTHON.run_command(sys.executable), tmp_path)
    assert completed.stdout == "1 1\n"
    assert "ModuleNotFoundError" in completed.stderr


def test_cpp_build_command_compiles_file_with_space_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "a b.cpp").write_text(
        'using namespace std;\n#include <cstdio>\nint main() { puts("hello"); }\n'
    )
    assert run(CPP.build_command(["a b.cpp"], "submission"), tmp_path).stderr == ""
    assert run((str(tmp_path / "submission"),), tmp_path).stdout == "hello\n"
