"""Sources in C++ that differ in comments are one build, and errors are about the text as written."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.builds import HELLO, big_header, named, opened, plain_problem, recipe, submitted
from support.engines import Recipe, submission_recipe

from ioi_eval.engines.contract import Built, Rejected
from ioi_eval.models import BuildLimits, Submission
from ioi_eval.testing import FakeEngine

pytestmark = pytest.mark.once

EXAMPLES = Path(__file__).parents[3] / "examples/problems"
CORPUS = {
    path.stem: path.read_text() for path in sorted(Path(__file__).with_name("cpp_corpus").glob("*.cpp"))
}
BIG = "#include <bits/stdc++.h>\n"
FLAGS = ("g++", "-DEVAL", "-std=gnu++20", "-O2", "-pipe")
# Blanks that are not in a literal, which stays as it is.
_BLANKS = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|[ \t]+""")
SHORT = ("macros", "literals", "lines")  # what may look at the text
# As much of the library as they need, which compiles in a tenth of the time.
STANDS_IN = """#include <cassert>
namespace std {
extern struct Stream {
  template <class T> Stream& operator<<(const T&);
  template <class T> Stream& operator>>(T&);
} cin, cout;
template <class T> struct vector {
  vector(int);
  T *begin(), *end(), &operator[](int);
  int size();
};
template <class T> void sort(T, T);
}
"""


def commented(source: str, mark: str) -> str:
    """Return the program with comments of both kinds, over several lines, and blanks at the ends of lines."""
    lines = []
    for number, line in enumerate(source.splitlines()):
        before = "" if line.startswith("#") else f'/* {mark} "{number} */ '
        joins = number % 3 == 1 and not line.startswith("#") and "//" not in line
        after = f"  /* {mark}\n it's */\t" if joins else " \t"
        lines.append(f"{before}{line}{after}// {mark} /* {number}\t\n")
    return "".join(lines)


async def built_of(folder: Path, engine: FakeEngine, *sources: str) -> list[Built | Rejected]:
    async with opened(folder, engine) as artifacts:
        return [await artifacts.submission(plain_problem(), submitted(source)) for source in sources]


async def test_sources_that_differ_in_comments_are_one_build(tmp_path: Path) -> None:
    engine = FakeEngine()
    sources = [f"{HELLO}/* {number}\n */ int a;  // {number}  \n" for number in range(4)]
    first, *others = await built_of(tmp_path, engine, *sources)
    assert isinstance(first, Built) and others == [first] * 3
    [build] = engine.builds
    assert [file.content.read().decode() for file in build.files if file.name == "graders/sum.cpp"] == [
        f"{HELLO}\n int a;\n"
    ]


async def test_those_that_come_at_once_are_one_build(tmp_path: Path) -> None:
    engine = FakeEngine()
    async with opened(tmp_path, engine) as artifacts:
        work = (artifacts.submission(plain_problem(), submitted(f"{HELLO}// {n}\n")) for n in range(8))
        first, *others = await asyncio.gather(*work)
    assert others == [first] * 7
    assert len(engine.builds) == 1


async def test_an_error_is_told_in_the_words_about_the_text_as_written(tmp_path: Path) -> None:
    engine = FakeEngine(compile_errors=lambda source: "error" if "bad" in source else None)
    sources = ["bad // one\n", "bad // another\n", "bad // one\n"]
    found = await built_of(tmp_path, engine, *sources)
    assert all(isinstance(each, Rejected) for each in found)
    # The one without comments, and each as it was written: all are remembered.
    assert len(engine.builds) == 3


@pytest.mark.parametrize(
    ("source", "language"),
    [("puts(__FILE__); // a", "c++"), ("int a;", "c++"), ("int a; // b", "c"), ("a = 1 # // b", "python")],
)
def test_what_is_built_as_it_was_written(source: str, language: str) -> None:
    assert recipe(source, language=language).without_comments() is None


def test_a_submission_of_several_files_is_built_as_it_was_written() -> None:
    """Another file could embed the main one."""
    many = Submission(key="1", problem_id="sum", code="int a; // b", files=(named("b.h"),), language="c++")
    assert submission_recipe(plain_problem(), many, BuildLimits()).without_comments() is None


# --- with the compiler itself ------------------------------------------------------------------------


@pytest.fixture
def big(tmp_path: Path, shared: Path) -> Path:
    """The folder of the big header, compiled ahead."""
    (tmp_path / "big" / "bits").mkdir(parents=True)
    (tmp_path / "big" / "bits" / "stdc++.h.gch").symlink_to(big_header(shared))
    return tmp_path / "big"


def compiled(folder: Path, own: Recipe, beside: Iterable[Path] = ()) -> list[tuple[int, bytes, bytes]]:
    """Return how the compiler ends, its words and its assembly, as written and without comments.

    Equal assembly is equal objects.
    """
    plain = own.without_comments()
    assert plain is not None
    source = folder / "source.cpp"
    command = [*FLAGS, "-S", "-o", "-", source.name, *(f"-I{place}" for place in beside)]
    made = []
    for build in (own, plain):
        source.write_bytes(build.main.content.read())
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        made.append((done.returncode, done.stderr, done.stdout))
    return made


def refuted(folder: Path, source: str, beside: Iterable[Path] = ()) -> str:
    """Return the words of a compiler that makes something else of the text without comments."""
    own = recipe(commented(source, "a"))
    if own.without_comments() is None:
        return ""  # it is built as it was written
    written, plain = compiled(folder, own, beside)
    if plain[:2] != (0, b""):
        return ""  # it says something: then the text as written is built
    return "" if written == plain else f"{written[:2]}"


def test_different_comments_are_equal_texts() -> None:
    for name, source in CORPUS.items():
        plain = [recipe(commented(source, mark)).without_comments() for mark in ("one", "the other")]
        assert plain[0] is not None and plain[0] == plain[1], name
    assert len(CORPUS) >= 30


@pytest.mark.parametrize("name", SHORT)
def test_objects_are_the_same_to_the_byte(tmp_path: Path, name: str) -> None:
    assert not refuted(tmp_path, CORPUS[name].replace(BIG, STANDS_IN))


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(CORPUS))
def test_objects_of_the_corpus_are_the_same_to_the_byte(tmp_path: Path, big: Path, name: str) -> None:
    assert not refuted(tmp_path, CORPUS[name], [big])


def _blank(found: re.Match[str]) -> str:
    return found[1] or " "


def preprocessed(folder: Path, build: Recipe, beside: Iterable[Path]) -> tuple[int, bytes, list[str]]:
    """Return the exit code, the words and the lines of the preprocessor."""
    (folder / "source.cpp").write_bytes(build.main.content.read())
    command = [*FLAGS, "-E", "source.cpp", *(f"-I{place}" for place in beside)]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return done.returncode, done.stderr, done.stdout.decode().splitlines()


def differ(line: str, other: str) -> bool:
    """Say whether two lines differ by more than blanks outside of literals."""
    return line != other and _BLANKS.sub(_blank, line).strip() != _BLANKS.sub(_blank, other).strip()


@pytest.mark.long
def test_the_compiler_reads_the_same_of_the_examples(tmp_path: Path) -> None:
    """To compile all of them, and to compare that, takes a hundred times as long: of every eighth."""
    sources = sorted(path for path in EXAMPLES.rglob("*.cpp") if "checker" not in path.name)
    compared = 0
    for number, path in enumerate(sources):
        own = recipe(commented(path.read_text(), "a"))
        package = EXAMPLES / path.relative_to(EXAMPLES).parts[0]
        beside = {header.parent for kind in ("*.h", "*.inc") for header in package.rglob(kind)}
        plain = own.without_comments()
        assert plain is not None, path
        read = preprocessed(tmp_path, plain, beside)
        if read[:2] == (0, b""):  # where the compiler says something, the text as written is built
            compared += 1
            written = preprocessed(tmp_path, own, beside)
            assert written[:2] == read[:2] and len(written[2]) == len(read[2]), path
            assert not any(map(differ, written[2], read[2])), path
        assert number % 8 or not refuted(tmp_path, path.read_text(), beside), path
    assert compared > 150
