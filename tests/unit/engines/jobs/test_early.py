"""The early header: it builds the programs that it cannot change, and the usual header builds the others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from building import built_once
from support.builds import (
    HELLO,
    LITTLE,
    big_header,
    graded_problem,
    lay_out,
    named,
    opened,
    plain_problem,
    recipe,
    submitted,
)
from support.once import seen_tool
from support.waits import until

from ioi_eval.engines.conditions import headers
from ioi_eval.engines.contract import BROUGHT_HEADERS, BROUGHT_LIBRARY, LIBRARY_HEADER, Recipe
from ioi_eval.engines.embedded.toolchains import find_compiler
from ioi_eval.engines.jobs.build import OBJECT, compile_script, compiling, object_recipe
from ioi_eval.engines.jobs.headers import (
    CHECKER,
    FOLDER,
    REACHED,
    Proof,
    ShippedProof,
    ShippedProofs,
    Trial,
    checker_recipe,
    checking,
    early_name,
    early_recipe,
    header_name,
    header_recipe,
    serves_early,
    shipped_proofs,
    sources_digest,
    trials,
)
from ioi_eval.model.job import Ended
from ioi_eval.models import Blob, BuildOptions, Job, Stage
from ioi_eval.rules.verdicts import MACHINE_AT_FAULT
from ioi_eval.store import Store
from ioi_eval.store.resources import graders
from ioi_eval.testing import FakeEngine

pytestmark = pytest.mark.alike

HEADER = "bits/stdc++.h"
BIG = f"#include <{HEADER}>\n"
# Each of the two headers says which it is, and none of them says that it is neither.
TELLS = BIG + "#ifndef A\n#define A 9\n#endif\n"
REACHES = TELLS + "int main() { std::vector<int> a; a.push_back(A); return a.last; }\n"


def build(box: Path, recipe: Recipe, ahead: dict[str, Path] | None = None) -> Path:
    words, built = build_and_listen(box, recipe, ahead or {})
    assert words == ""
    return built


def build_and_listen(box: Path, recipe: Recipe, ahead: dict[str, Path], tool: str = "") -> tuple[str, Path]:
    """Return the compiler's words, and what was built, which may not be there."""
    box.mkdir(exist_ok=True)
    lay_out(box, recipe)
    for name, path in ahead.items():
        (box / name).parent.mkdir(parents=True, exist_ok=True)
        (box / name).symlink_to(path)
    names = set(ahead)
    script = compile_script(
        recipe,
        tool=msgspec.structs.replace(seen_tool(), path=tool) if tool else seen_tool(),
        headers=FOLDER if header_name(recipe) in names else "",
        linked=OBJECT in names,
        early=early_name(recipe) in names,
    )
    done = subprocess.run(["bash", "-c", script], cwd=box, capture_output=True, check=False)
    return done.stdout.decode(), box / recipe.output


def small(recipe: Recipe, text: str) -> Recipe:
    """The recipe of a header with this text in place of the big one, which takes long to compile."""
    *others, wrapper = recipe.sources
    pragma = b"#pragma ioi_eval early\n" if b"early" in wrapper.content.read() else b""
    return msgspec.structs.replace(recipe, sources=(*others, named(wrapper.name, text + pragma.decode())))


@pytest.fixture(autouse=True)
def headers_are_little(request: pytest.FixtureRequest) -> None:
    """But for the tests with the real ones, which are long as a whole."""
    if all(mark.name != "long" for mark in getattr(request.function, "pytestmark", ())):
        request.getfixturevalue("little")


def made(shared: Path, wanted: Recipe) -> Path:
    """Build the recipe once for all tests, in whichever process they run."""
    place = shared / f"early-{wanted.key('', seen_tool())}"
    return built_once(place, lambda box: build(box, wanted)) / wanted.output


@pytest.fixture(scope="module")
def checker(shared: Path) -> Path:
    return made(shared, checker_recipe(recipe(HELLO)))


@pytest.fixture(scope="module")
def ahead(shared: Path, checker: Path) -> dict[str, Path]:
    """Small headers, the early one with A = 7, the usual one with A = 8."""
    some = recipe(HELLO)
    usual = small(header_recipe(some), f"{LITTLE}#define A 8\n")
    early = small(early_recipe(some, Blob.of_file(checker)), f"{LITTLE}#define A 7\n")
    return {header_name(some): made(shared, usual), CHECKER: checker, early_name(some): made(shared, early)}


def exit_code(program: Path) -> int:
    return subprocess.run([program], check=False).returncode


def test_what_reaches_nothing_is_built_by_it_and_what_does_by_the_usual_one(
    tmp_path: Path, ahead: dict[str, Path]
) -> None:
    assert exit_code(build(tmp_path / "a", recipe(TELLS + "int main() { return A; }\n"), ahead)) == 7
    assert exit_code(build(tmp_path / "b", recipe(REACHES), ahead)) == 8
    assert exit_code(build(tmp_path / "c", recipe(REACHES))) == 9


@pytest.mark.parametrize("broken", [CHECKER, "early"])
def test_one_that_cannot_be_used_leads_to_the_usual_one(
    tmp_path: Path, ahead: dict[str, Path], broken: str
) -> None:
    name = early_name(recipe(HELLO)) if broken == "early" else broken
    (tmp_path / "broken").write_bytes(b"\x7fELF" if broken == CHECKER else ahead[name].read_bytes()[:1000])
    with_broken = {**ahead, name: tmp_path / "broken"}
    source = recipe(TELLS + "int main() { return A; }\n")
    assert exit_code(build(tmp_path / "box", source, with_broken)) == 8


@pytest.mark.sample("a name that is not there")
@pytest.mark.parametrize(
    "source",
    [
        "#error no\n",
        "int f() {}\nint main() { return A; }\n",
        "int main() { vector<int> a; }\n",
        'asm(".no such thing");\nint main() {}\n',
        '#error "ioi-eval-early/early.so"\n',
    ],
    ids=[
        "an error",
        "a warning",
        "a name that is not there",
        "an error of the assembler",
        "the checker's name",
    ],
)
def test_words_are_those_about_the_source_alone(tmp_path: Path, ahead: dict[str, Path], source: str) -> None:
    said = list[tuple[str, int | None]]()
    for name, files in (("with", ahead), ("without", {})):
        words, built = build_and_listen(tmp_path / name, recipe(TELLS + source), files)
        said.append((words, exit_code(built) if built.exists() else None))
    assert said[0] == said[1] and said[0][0]


def test_a_refused_source_is_tried_once_and_compiled_alone(tmp_path: Path, ahead: dict[str, Path]) -> None:
    tool, calls = tmp_path / "g++", tmp_path / "calls"
    tool.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {seen_tool().path} "$@"\n')
    tool.chmod(0o755)
    build_and_listen(tmp_path / "box", recipe(TELLS + "int main() { return B; }\n"), ahead, str(tool))
    by_early, alone, control = calls.read_text().splitlines()
    assert "-fplugin" in by_early and "-I" not in alone and "control" in control


def test_sources_that_add_to_the_library_are_built_by_the_usual_one() -> None:
    """This one is an error at the end of the file, where nothing was instantiated before."""
    swap = "namespace std { template <class T> void swap(T& a, T& b) { T t(a); a = b; b = t; } }\n"
    assert serves_early(recipe(HELLO)) and not serves_early(recipe(BIG + swap + "int main() {}\n"))
    grader = (named("graders/grader.cpp", swap + "int main() {}\n"), named("graders/sum.h", ""))
    assert not serves_early(recipe(HELLO, graded_problem(grader_files=grader)))


@pytest.mark.parametrize(
    "text",
    [
        'int taken() asm("NAME");\nint taken() { return 1; }\nint main() { return taken() - 1 + A; }\n',
        "void (std::vector<int>::*kept)(int&&) = &std::vector<int>::push_back;\n"
        "int main() { return kept ? A : 0; }\n",
        "template <> void std::vector<int>::push_back(int&& a) { throw a; }\n"
        "int main() { try { std::vector<int>().push_back(A); } catch (int a) { return a; } return 0; }\n",
    ],
    ids=["a symbol of that name", "an address that is kept", "a template of its own"],
)
def test_programs_that_touch_what_was_made_early_are_built_by_the_usual_one(
    tmp_path: Path, ahead: dict[str, Path], text: str
) -> None:
    names = ahead[early_name(recipe(HELLO))].read_bytes()[-(1 << 16) :].decode(errors="replace").splitlines()
    name = next(name for name in names[1:] if name.startswith("_Z"))
    assert exit_code(build(tmp_path / "box", recipe(TELLS + text.replace("NAME", name)), ahead)) == 8


def test_a_graders_object_is_linked_beside_it(tmp_path: Path, ahead: dict[str, Path]) -> None:
    problem = graded_problem()
    source = recipe(TELLS + "int add(int a, int b) { return a + b + A; }\n", problem)
    shared = build(tmp_path / "object", object_recipe(source))
    assert exit_code(build(tmp_path / "box", source, {**ahead, OBJECT: shared})) == 7


# --- of a server's package -----------------------------------------------------------------------------


@pytest.fixture
def brought(tmp_path: Path, ahead: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of headers in a package."""
    place, some = tmp_path / "package", recipe(HELLO)
    for name, file in {
        BROUGHT_LIBRARY: Path(LIBRARY_HEADER),
        CHECKER: ahead[CHECKER],
        f"{HEADER}.gch/gnu++20": ahead[header_name(some)],
        f"ioi-eval-early/gnu++20/{HEADER}.gch": ahead[early_name(some)],
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place / name)
    for folder in (place, place / "ioi-eval-early" / "gnu++20"):
        (folder / HEADER).write_text(f"#include_next <{HEADER}>\n")
    monkeypatch.setenv(BROUGHT_HEADERS, str(place))
    return place


def build_there(box: Path, source: str) -> tuple[str, int | None]:
    """Return the compiler's words, and the program's exit code if there is one."""
    wanted = recipe(source)
    lay_out(box, wanted)
    script = compiling(wanted, seen_tool(), (), brought=True)
    done = subprocess.run(["bash", "-c", script], cwd=box, capture_output=True, check=False)
    built = box / wanted.output
    return done.stdout.decode(), exit_code(built) if built.exists() else None


def test_one_that_a_package_brings_serves_the_same_programs(tmp_path: Path, brought: Path) -> None:
    told = "int main() { return A; }\n"
    assert build_there(tmp_path / "a", TELLS + told) == ("", 7)
    assert build_there(tmp_path / "b", REACHES) == ("", 8)
    adds = "namespace std { struct Own {}; }\n"
    assert build_there(tmp_path / "c", TELLS + adds + told) == ("", 8)


def test_one_that_a_package_brings_is_not_used_with_another_library(tmp_path: Path, brought: Path) -> None:
    refused = build_there(tmp_path / "d", TELLS + "#error no\n")
    (brought / BROUGHT_LIBRARY).write_text("of another version of the C library")
    assert build_there(tmp_path / "e", TELLS + "int main() { return A; }\n") == ("", 9)
    assert build_there(tmp_path / "f", TELLS + "#error no\n") == refused and "#error no" in refused[0]


@pytest.mark.sample("checker|cut off|not there")
@pytest.mark.parametrize("broken", ["checker", "cut off", "of other flags", "not there"])
def test_one_of_a_package_that_cannot_be_used_leads_to_the_usual_one(
    tmp_path: Path, brought: Path, broken: str
) -> None:
    """A header that its compiler does not take is no reason to read all that is in it."""
    header = brought / "ioi-eval-early" / "gnu++20" / f"{HEADER}.gch"
    match broken:
        case "checker":
            (brought / CHECKER).write_bytes(b"\x7fELF")
        case "cut off":
            header.write_bytes(header.read_bytes()[:1000])
        case "of other flags":
            others = early_recipe(recipe(HELLO, language="c++17"), Blob.of_file(brought / CHECKER))
            shutil.copyfile(build(tmp_path / "early", small(others, LITTLE)), header)
        case _:
            header.unlink()
    assert build_there(tmp_path / "box", TELLS + "int main() { return A; }\n") == ("", 8)


# --- proofs ------------------------------------------------------------------------------------------


def test_a_proof_takes_equal_programs_and_most_of_them() -> None:
    trial = next(iter(trials(recipe(HELLO))))
    proof = Proof()
    proof.take(trial, Blob.of("a"), Blob.of("a"))
    assert proof.holds and str(proof) == "1 of 1 programs are built with it and the same"
    proof.take(trial, Blob.of("a"), None)
    assert not proof.holds  # it is of use to too few
    proof.take(trial, Blob.of("b"), Blob.of("b"))
    assert proof.holds and str(proof) == "2 of 3 programs are built with it and the same"
    for usual in (Blob.of("a"), None):
        proof.take(trial, usual, Blob.of("b"))
        assert not proof.holds and str(proof).startswith(f"other programs: {trial.name}")


def test_programs_are_tried_with_the_flags_of_the_build() -> None:
    tried = list(trials(recipe(HELLO, language="c++17")))
    assert len(tried) > 30
    for trial in tried:
        assert isinstance(trial, Trial) and trial.usual.main == trial.early.main
        assert {"-std=gnu++17", "-O2"} <= {*trial.usual.command}
        assert set(trial.early.command) - set(trial.usual.command) == {
            "-I",
            "ioi-eval-early",
            *checking("ioi-eval-early/bits/stdc++.h.gch"),
        }
        assert (trial.usual.header, trial.early.header) == (HEADER, "")


def test_shipped_proofs_are_about_the_sources_that_ship() -> None:
    """After a change: scripts/prove_headers."""
    path = graders() / "headers" / "proven.json"
    table = msgspec.json.decode(path.read_bytes(), type=ShippedProofs)
    assert table.sources == sources_digest()
    assert {proof.standard for proof in table.proofs.values()} >= {"gnu++17", "gnu++20"}
    assert all(proof.words.endswith("and the same") for proof in table.proofs.values())


async def _some_builds(folder: Path, engine: FakeEngine, numbers: range) -> list[list[str]]:
    async with opened(folder, engine, BuildOptions(precompile_after=0)) as artifacts:
        for index in numbers:
            await artifacts.submission(plain_problem(), submitted(f"{HELLO}int n{index};\n"))
            await until(lambda: not artifacts.engine.builds.busy, every=0.001)
    jobs = [job for job in engine.builds if job.keep == ("submission",)]
    return [[file.name for file in job.files] for job in jobs]


async def test_it_serves_once_it_is_proven_and_the_doctor_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = FakeEngine()
    files = await _some_builds(tmp_path, engine, range(6))
    tried = [job.files[-1].name for job in engine.builds if job.keep == ("program",)]
    corpus = sorted(path.name for path in (graders() / "headers" / "corpus").glob("*.cpp"))
    assert tried == [name for name in corpus for _ in range(2)]
    assert [CHECKER in names for names in files] == [False] * 4 + [True] * 2
    assert all(f"ioi-eval-early/{HEADER}.gch" in names for names in files[4:])
    monkeypatch.setattr("platform.machine", lambda: engine.profile_value.architecture)
    [line] = headers(engine.profile_value.toolchains["g++"], Store(tmp_path / "store"))
    words = f"{len(corpus)} of {len(corpus)} programs are built with it and the same"
    assert line.detail == (
        f"{HEADER}, precompiled for gnu++20; gnu++20 with its templates made early: {words}"
    )
    again = FakeEngine()
    assert CHECKER in (await _some_builds(tmp_path, again, range(6, 7)))[0]
    assert [job.keep for job in again.builds] == [("submission",)]


async def test_the_doctor_tells_what_a_proof_that_ships_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class All(dict[str, ShippedProof]):
        def get(self, key: str, default: object = None) -> ShippedProof:  # type: ignore[override]
            return ShippedProof(compiler="g++", standard="gnu++20", words="39 of 43 programs are the same")

        def __contains__(self, key: object) -> bool:
            return True

    monkeypatch.setattr("ioi_eval.engines.jobs.build.shipped_proofs", All)
    engine = FakeEngine()
    await _some_builds(tmp_path, engine, range(6))
    assert len([job for job in engine.builds if job.keep == ("program",)]) == 2, "one program is tried"
    monkeypatch.setattr("platform.machine", lambda: engine.profile_value.architecture)
    [line] = headers(engine.profile_value.toolchains["g++"], Store(tmp_path / "store"))
    assert "39 of 43 programs are the same, by the proof that ships, and here 1 of 1" in line.detail


@pytest.mark.parametrize(
    ("stage", "proven"),
    [
        (Stage(signal="SIGKILL"), None),
        (Stage(code=137), None),
        (Stage(code=MACHINE_AT_FAULT), None),
        (Stage(code=1, stdout="cc1plus: out of memory\n"), None),
        (Stage(code=1, stdout="error: no\n"), False),
        (Stage(code=4), False),
    ],
    ids=["killed", "killed in a shell", "a full disk", "no memory", "refused", "crashed"],
)
async def test_only_programs_that_came_to_their_end_prove_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Stage, proven: bool | None
) -> None:
    """What ended for other reasons is tried again by the next run."""
    engine = FakeEngine()
    execute = engine.run

    async def ending_so(job: Job) -> Ended:
        return Ended.of(stage) if job.keep == ("program",) else await execute(job)

    monkeypatch.setattr(engine, "run", ending_so)
    await _some_builds(tmp_path, engine, range(6))
    monkeypatch.setattr("platform.machine", lambda: engine.profile_value.architecture)
    [line] = headers(engine.profile_value.toolchains["g++"], Store(tmp_path / "store"))
    assert ("without templates made early" in line.detail) is (proven is False)
    again = FakeEngine()
    await _some_builds(tmp_path, again, range(6, 8))
    tried = any(job.keep == ("program",) for job in again.builds)
    assert tried is (proven is None)


# --- with the real headers ---------------------------------------------------------------------------


class Ways:
    """A folder in which programs are compiled by the usual header, and by the early one of this checker."""

    def __init__(self, box: Path, shared: Path, checker: Path, standard: str) -> None:
        language = standard.replace("gnu", "c")
        some = recipe(HELLO, language=language)
        for name, path in {
            header_name(some): big_header(shared, language),
            CHECKER: checker,
            early_name(some): made(shared, early_recipe(some, Blob.of_file(checker))),
        }.items():
            (box / name).parent.mkdir(parents=True, exist_ok=True)
            (box / name).symlink_to(path)
        self._box, self._standard = box, standard
        self._checking = checking(early_name(some))

    def usual(self, text: str) -> tuple[int, bytes, bytes]:
        """Return the compiler's exit code, its words and the object."""
        return self._compiled(text, "-I", FOLDER)

    def early(self, text: str) -> tuple[int, bytes, bytes]:
        return self._compiled(text, "-I", "ioi-eval-early", *self._checking)

    def _compiled(self, text: str, *words: str) -> tuple[int, bytes, bytes]:
        (self._box / "a.cpp").write_text(text)
        (self._box / "a.o").unlink(missing_ok=True)
        flags = ("-pass-exit-codes", f"-std={self._standard}", "-DEVAL", "-O2", "-pipe", "-c", "a.cpp")
        command = [seen_tool().path, *words, *flags]
        done = subprocess.run(command, cwd=self._box, capture_output=True, check=False)
        there = b"" if done.returncode else (self._box / "a.o").read_bytes()
        return done.returncode, done.stderr, there


STANDARDS = ("gnu++17", "gnu++20")


@pytest.mark.long
@pytest.mark.parametrize("standard", STANDARDS)
def test_it_changes_no_byte_of_the_examples(
    tmp_path: Path, shared: Path, checker: Path, standard: str
) -> None:
    """Try each of the corpus by both standards, each of the examples by one."""
    sources = (Path(__file__).parents[4] / "examples/problems").rglob("*.cpp")
    examples = [path.read_text() for path in sorted(sources) if "checker" not in path.name]
    corpus = (Path(__file__).parents[2] / "judge/cpp_corpus").glob("*.cpp")
    ways = Ways(tmp_path, shared, checker, standard)
    tried = equal = 0
    # At a file that is not there compilers stop: what follows is not seen.
    whole = dict.fromkeys(re.sub(r'(?m)^(#include "[^"\n]*"$)(?s:.*)', r"\1", text) for text in examples)
    half = list(whole)[STANDARDS.index(standard) :: len(STANDARDS)]
    for text in [*half, *(path.read_text() for path in sorted(corpus))]:
        early = ways.early(BIG + text)
        if early[0] == REACHED:
            tried += 1
            continue
        usual = ways.usual(BIG + text)
        if usual[0] or usual[1]:
            assert early[0] != 0 or early[1], text
            continue
        assert not text.endswith('"'), text
        tried += 1
        equal += 1
        assert early == usual, text
    assert tried > 40 and equal > 0.9 * tried, (tried, equal)


@pytest.mark.long
def test_the_proofs_for_this_compiler_are_found(tmp_path: Path, checker: Path) -> None:
    found = find_compiler()
    assert found is not None
    if found.identity not in {proof.compiler for proof in shipped_proofs().values()}:
        pytest.skip(f"no proof ships for {found.identity}")
    for language in ("c++17", "c++20"):
        wanted = early_recipe(recipe(HELLO, language=language), Blob.of_file(checker))
        assert wanted.key(os.uname().machine, found) in shipped_proofs()


@pytest.mark.long
@pytest.mark.parametrize(
    ("rule", "instead", "program"),
    [
        ("if (ordered() != before)", "if (false)", "template_hierarchy.cpp"),
        ("_exit(REACHED);", ";", "threads_and_futures.cpp"),
        ("", "", "template_hierarchy.cpp"),
    ],
    ids=["lists whose order shows", "what is reached", "as it is"],
)
def test_the_corpus_finds_a_checker_without_a_rule(
    tmp_path: Path, shared: Path, rule: str, instead: str, program: str
) -> None:
    wanted = checker_recipe(recipe(HELLO))
    text = wanted.main.content.read().decode()
    assert rule in text
    without = named(wanted.main.name, text.replace(rule, instead) if rule else text)
    checker = made(shared, msgspec.structs.replace(wanted, sources=(without,)))
    ways = Ways(tmp_path, shared, checker, "gnu++17")
    source = (graders() / "headers" / "corpus" / program).read_text()
    usual, early = ways.usual(source), ways.early(source)
    assert (usual[0], early[0]) == (0, 0)
    assert (usual == early) is (rule == "")
