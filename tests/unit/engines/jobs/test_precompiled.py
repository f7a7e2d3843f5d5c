from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest
from support.builds import (
    HELLO,
    LITTLE,
    big_header,
    graded_problem,
    lay_out,
    named,
    plain_problem,
    recipe,
    submitted,
)
from support.engines import Recipe, submission_recipe
from support.once import seen_tool

from ioi_eval.engines.contract import BROUGHT_HEADERS, BROUGHT_LIBRARY, LIBRARY_HEADER, Profile
from ioi_eval.engines.jobs.build import OBJECT, compile_script, object_recipe
from ioi_eval.engines.jobs.headers import (
    FOLDER,
    INCLUDED,
    Demand,
    header_name,
    header_recipe,
    own_includes,
    serves,
)
from ioi_eval.models import BuildLimits, Problem, Toolchain
from ioi_eval.rules.cpp_text import starts_with

pytestmark = pytest.mark.once

HEADER = "bits/stdc++.h"
MANY = """<algorithm>
#include <bitset>
#include <cassert>
#include <iostream>
#include <bits/stdc++.h>"""
GRADER = "int add(int a, int b);\nint main() { return add(1, 2) - 3; }\n"


@pytest.mark.parametrize(
    "source",
    [
        HELLO,
        "\n\n  #include <bits/stdc++.h>",
        "// a comment\n/* and\n * another */ # include<bits/stdc++.h>\n",
        "/**/#include <bits/stdc++.h>",
    ],
)
def test_sources_that_start_with_the_header(source: str) -> None:
    assert starts_with(HEADER, source)


@pytest.mark.parametrize(
    "source",
    [
        "",
        '#pragma GCC optimize("O3")\n#include <bits/stdc++.h>\n',
        "#define int long long\n#include <bits/stdc++.h>\n",
        "#include <vector>\n#include <bits/stdc++.h>\n",
        "using x = int;\n#include <bits/stdc++.h>\n",
        "// a comment that goes on \\\n#include <bits/stdc++.h>\n",
        "/* #include <bits/stdc++.h>\n",
        '#include "bits/stdc++.h"\n',
        "#include <bits/stdc++.hpp>\n",
        '_Pragma("GCC optimize(3)")\n#include <bits/stdc++.h>\n',
    ],
)
def test_sources_that_do_not(source: str) -> None:
    assert not starts_with(HEADER, source)


def graded(grader: str, header: str = "#pragma once\n") -> Problem:
    return graded_problem(grader_files=(named("graders/grader.cpp", grader), named("graders/sum.h", header)))


def test_it_serves_beside_a_grader_without_pragmas() -> None:
    assert serves(recipe(HELLO, graded(GRADER)))
    assert not serves(recipe(HELLO, graded('#pragma GCC target("avx2")\n' + GRADER)))
    assert not serves(recipe(HELLO, graded('_Pragma("GCC optimize(3)")\n' + GRADER)))
    assert not serves(recipe("int main() {}"))


def test_it_does_not_serve_python() -> None:
    assert not serves(recipe(HELLO, language="python"))


def test_a_file_full_of_comments_is_looked_at_in_no_time() -> None:
    assert not starts_with(HEADER, "/**/ " * 20_000 + "x")


def test_demand_is_counted_by_key() -> None:
    demand = Demand(2)
    assert [demand.pays(key) for key in "aabab"] == [False, False, False, True, False]
    assert not any(Demand(None).pays("a") for _ in range(100))
    few = Demand(1, most=2)
    assert [few.pays(key) for key in "abcabca"] == [False, False, False, True, True, False, True]


# --- a source's own first includes -------------------------------------------------------------------

FEW = ("cstdio", "vector")


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("#include <cstdio>\n#include <vector>\nint a;\n", FEW),
        ("// one\n# include<cstdio> /* a */\n\n/* b\n */#include <vector> // c\n#define A\n", FEW),
        ("#include <cstdio>\n#define A 1\n#include <vector>\n", ("cstdio",)),
        ("#include <cstdio>\n#line 7\n#include <vector>\n", ("cstdio",)),
        ("#include <cstdio>\n#ifdef A\n#include <vector>\n#endif\n", ("cstdio",)),
        ("#include <cstdio>\n#include <vector> int a;\n", ("cstdio",)),
        ('#include <cstdio>\n#include "vector"\n', ("cstdio",)),
        ("#include <cstdio>\n#include <sys/mman.h>\n", ("cstdio",)),
        ("#pragma GCC optimize(3)\n#include <cstdio>\n", ()),
        ("#define NDEBUG\n#include <cassert>\n", ()),
        ("int a;\n#include <cstdio>\n", ()),
        ("#include </etc/passwd>\n", ()),
        ("#include <../vector>\n", ()),
        ("#include <immintrin.h>\n", ()),
        # What could look at files that lie beside it, by any name.
        (f'#include <cstdio>\n#include "{FOLDER}/included.hpp"\n', ()),
        (f'#include <cstdio>\n#if __has_include("{FOLDER}/included.hpp.gch")\n#endif\n', ()),
        ('#include <cstdio>\n#define A "a.gch"\n#if __has_include(A)\n#endif\n', ()),
        ('#include <cstdio>\n#define A "a.hpp"\n#include A\n', ()),
        ('#include <cstdio>\nasm(".inc" "bin \\"a\\"");\n', ()),
        ("#include <cstdio>\n#define A(x, y) x##y\n", ()),
    ],
)
def test_the_includes_that_a_source_begins_with(source: str, names: tuple[str, ...]) -> None:
    assert own_includes(recipe(source)) == names


def test_includes_are_of_the_one_source_that_is_compiled() -> None:
    source = "#include <cstdio>\n"
    assert own_includes(recipe(source, graded(GRADER))) == ("cstdio",)
    many = msgspec.structs.replace(submitted(source), files=(named("graders/b.cpp", ""),))
    assert own_includes(submission_recipe(plain_problem(), many, BuildLimits())) == ()
    for language in ("c", "python"):
        assert own_includes(recipe(source, language=language)) == ()


# --- with the compiler itself ------------------------------------------------------------------------

USES_MUCH = """
using namespace std;
namespace { struct Node { map<string, vector<int>> next; virtual ~Node() {} }; }
static int counter = 7;
int add(int a, int b) {
    Node node;
    for (int i = 0; i < 3; i++) node.next[to_string(i)].push_back(counter++);
    try { if (counter == 10) throw runtime_error(__FILE__); }
    catch (const exception& error) { cerr << error.what() << __LINE__; }
    return a + b + int(node.next.size()) - 3;
}
"""
ALONE = "int main() { return add(1, 2) - 3; }\n"


def run_build(
    box: Path,
    recipe: Recipe,
    header: Path | None = None,
    shared: bytes | None = None,
    refused: str = "",
    included: bytes | None = None,
    brought: bool = False,
) -> bytes:
    lay_out(box, recipe)
    if header is not None:
        (box / header_name(recipe)).parent.mkdir(parents=True)
        (box / header_name(recipe)).symlink_to(header)  # as the engine puts large files into a box
    if shared is not None:
        (box / OBJECT).write_bytes(shared)
    if included is not None:
        (box / FOLDER).mkdir()
        (box / f"{INCLUDED}.gch").write_bytes(included)
    script = compile_script(
        recipe,
        tool=seen_tool(),
        headers=FOLDER if header else "",
        linked=shared is not None,
        included=included is not None,
        brought=brought,
    )
    done = subprocess.run(["bash", "-c", script], cwd=box, capture_output=True, check=False)
    if refused == "?":
        return done.stdout
    if refused:
        assert done.returncode == 1 and done.stdout.decode().count(refused) == 1
        return b""
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    return (box / recipe.output).read_bytes()


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return big_header(tmp_path_factory.getbasetemp())


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("#include <bits/stdc++.h>\n" + USES_MUCH + ALONE, None),
        ('// first\n#include <bits/stdc++.h>\n#pragma GCC optimize("O3")\n' + USES_MUCH + ALONE, None),
        ("#include <bits/stdc++.h>\n" + USES_MUCH, graded('#include "sum.h"\n' + GRADER)),
        (
            "#include <bits/stdc++.h>\n" + USES_MUCH,
            graded("#define M 1\n#include <bits/stdc++.h>\n" + GRADER),
        ),
        ("#include <bits/stdc++.h>\n#include <vector>\n#include <bits/stdc++.h>\n" + USES_MUCH + ALONE, None),
        (
            '#include <bits/stdc++.h>\n#include "sum.h"\n' + USES_MUCH,
            graded('#include "sum.h"\n' + GRADER, "#pragma once\n#include <bits/stdc++.h>\n"),
        ),
    ],
    ids=["alone", "pragma after", "grader", "grader with the header after a macro", "twice", "by its header"],
)
def test_binaries_are_the_same_to_the_byte(
    tmp_path: Path, header: Path, source: str, problem: Problem | None
) -> None:
    build = recipe(source, problem)
    assert serves(build)
    assert run_build(tmp_path / "with", build, header) == run_build(tmp_path / "without", build)


WARNED = "#include <bits/stdc++.h>\nint f() {}\nint main() {}\n"


@pytest.fixture(scope="module")
def little_header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The little header, precompiled."""
    box, wrapper = tmp_path_factory.mktemp("little"), named("wrapper.hpp", LITTLE)
    wanted = msgspec.structs.replace(header_recipe(recipe(HELLO)), sources=(wrapper,))
    run_build(box, wanted)
    return box / wanted.output


# What a source's own includes make of the other is among the tests below.
@pytest.mark.usefixtures("little")
@pytest.mark.sample("warned")
@pytest.mark.parametrize(
    "text", [WARNED, "#include <bits/stdc++.h>\nint main() { vector<int> a; }\n"], ids=["warned", "refused"]
)
def test_words_are_those_about_a_source_without_the_header(
    tmp_path: Path, little_header: Path, text: str
) -> None:
    build, told = recipe(text), []
    for name, made in (("with", little_header), ("without", None)):
        told.append(run_build(tmp_path / name, build, made, refused="?"))
    assert told[0] and told[0] == told[1]


# Whichever header it is, what is done without it is the same.
@pytest.mark.usefixtures("little")
@pytest.mark.sample("gpch.014-False|None-True")
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("header", [b"no header", b"gpch.014", None])
def test_a_header_that_cannot_be_used_is_done_without(
    tmp_path: Path, shared: bytes, header: bytes | None, linked: bool
) -> None:
    if header is not None:
        (tmp_path / "header").write_bytes(header)
    add = "int add(int a, int b) { return a + b; }\n"
    build = recipe(
        "#include <bits/stdc++.h>\n" + add + ("" if linked else ALONE), graded(GRADER) if linked else None
    )
    made = run_build(tmp_path / "build", build, tmp_path / "header", shared=shared if linked else None)
    assert made.startswith(b"\x7fELF")


@pytest.mark.usefixtures("little")
def test_the_header_may_be_included_again(tmp_path: Path, little_header: Path) -> None:
    source = "#include <bits/stdc++.h>\n#include <bits/stdc++.h>\nint main() { return 0; }\n"
    assert run_build(tmp_path / "box", recipe(source), little_header).startswith(b"\x7fELF")
    # Which needs no second try.
    assert not (tmp_path / "box" / ".ioi-eval-quick.log").read_bytes()


@pytest.mark.usefixtures("little")
def test_a_header_of_the_servers_package_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one than the source's own would show in what comes out. A refused source has its own words."""
    kept, other = tmp_path / "headers", named("wrapper.hpp", "#include <cstdio>\n#define A 7\n")
    kept.mkdir()
    made = run_build(kept, msgspec.structs.replace(header_recipe(recipe(HELLO)), sources=(other,)))
    (kept / f"{HEADER}.gch").mkdir(parents=True)
    (kept / f"{HEADER}.gch" / "gnu++20").write_bytes(made)
    (kept / HEADER).write_text(f"#include_next <{HEADER}>\n")
    (kept / BROUGHT_LIBRARY).write_bytes(Path(LIBRARY_HEADER).read_bytes())
    (tmp_path / "older").mkdir()
    (tmp_path / "older" / "bits").symlink_to(kept / "bits")
    (tmp_path / "older" / BROUGHT_LIBRARY).write_text("of another version of the C library")
    build = recipe(f"#include <{HEADER}>\n#ifndef A\n#define A 8\n#endif\nint main() {{ return A; }}\n")
    broken = recipe(f"#include <{HEADER}>\nint main() {{ return A; }}\n#error no\n")
    for place, code in ((kept, 7), (tmp_path / "older", 8)):
        monkeypatch.setenv(BROUGHT_HEADERS, str(place))
        box = tmp_path / f"box-{code}"
        run_build(box, build, brought=True)
        assert subprocess.run([box / build.output], check=False).returncode == code, place
    monkeypatch.setenv(BROUGHT_HEADERS, str(kept))
    run_build(tmp_path / "broken", broken, brought=True, refused="\u2018A\u2019 was not declared")


@pytest.mark.parametrize("own", ["little", pytest.param("", marks=pytest.mark.long)], ids=["little", "big"])
def test_the_header_is_really_used(tmp_path: Path, request: pytest.FixtureRequest, own: str) -> None:
    """The compiler's own list of the headers it read marks a precompiled one with an exclamation mark."""
    if own:
        request.getfixturevalue("little")
    made = request.getfixturevalue("little_header" if own else "header")
    (tmp_path / FOLDER / "bits").mkdir(parents=True)
    (tmp_path / FOLDER / "bits/stdc++.h.gch").symlink_to(made)
    (tmp_path / "a.cpp").write_text(f"#include <{HEADER}>\n" if own else HELLO)
    flags = ["-DEVAL", "-std=gnu++20", "-O2", "-pipe", "-H", "-S", "-o", "/dev/null", "a.cpp"]
    done = subprocess.run(
        [seen_tool().path, "-I", FOLDER, *flags], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr.startswith(f"! {FOLDER}/bits/stdc++.h.gch")


@pytest.fixture(scope="module")
def included(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return run_build(tmp_path_factory.mktemp("included"), header_recipe(recipe(HELLO), LEAN))


LEAN = ("cstdio", "initializer_list")  # quick to compile
BEGINNING = "".join(f"#include <{name}>\n" for name in LEAN)


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("grader", ["", GRADER])
def test_own_includes_change_no_byte(
    tmp_path: Path, included: bytes, shared: bytes, grader: str, broken: bool
) -> None:
    """A header that cannot be read is done without."""
    text = "int add(int a, int b) { auto c = {__LINE__, 1, 1}; return a + b + int(c.size()) - 3; }\n"
    build = recipe(BEGINNING + text + ("" if grader else ALONE), graded(grader) if grader else None)
    assert own_includes(build) == LEAN
    header = b"broken" if broken else included
    made = run_build(tmp_path / "with", build, included=header, shared=shared if grader else None)
    assert made == run_build(tmp_path / "without", build)


def test_own_includes_are_really_used(tmp_path: Path) -> None:
    """Another header than the source's own would show in what comes out."""
    wrapper = named("wrapper.hpp", "#define A 7\n")
    other = msgspec.structs.replace(header_recipe(recipe(HELLO)), sources=(wrapper,))
    header = run_build(tmp_path / "header", other)
    build = recipe("#ifndef A\n#define A 8\n#endif\nint main() { return A; }\n")
    run_build(tmp_path / "with", build, included=header)
    assert subprocess.run([tmp_path / "with" / build.output], check=False).returncode == 7


@pytest.mark.parametrize("text", ["int f() {}\nint main() {}\n", "int main() { initializer_list<int> a; }\n"])
def test_words_are_those_about_the_source_alone(tmp_path: Path, included: bytes, text: str) -> None:
    build, told = recipe(BEGINNING + text), []
    for name, header in (("with", included), ("without", None)):
        told.append(run_build(tmp_path / name, build, included=header, refused="?"))
    assert told[0] and told[0] == told[1]


@pytest.mark.long
def test_own_includes_change_no_byte_of_the_examples(tmp_path: Path) -> None:
    """Try each header with one of the examples that include it, and one with programs of the corpus."""
    examples = Path(__file__).parents[4] / "examples/problems"
    corpus = Path(__file__).parents[2] / "judge/cpp_corpus"
    texts = {path: path.read_text() for path in examples.rglob("*.cpp") if "checker" not in path.name}
    texts |= {
        Path(path.name): path.read_text().replace("<bits/stdc++.h>", MANY) for path in corpus.glob("*.cpp")
    }
    assert len(texts) > 190
    headers = dict[tuple[str, ...], Path]()
    tried, other = 0, list[Path]()
    for path, text in sorted(texts.items())[::5]:  # all of them take five minutes
        names, is_example = own_includes(recipe(text)), path.is_absolute()
        if not names or (is_example and names in headers):
            continue
        if names not in headers:
            headers[names] = tmp_path / str(len(headers))
            (headers[names] / "made").mkdir(parents=True)
            wanted = header_recipe(recipe(HELLO), names)
            (headers[names] / "a.hpp.gch").write_bytes(run_build(headers[names] / "made", wanted))
        (tmp_path / "a.cpp").write_text(text)
        beside = str(path.parents[1] / "graders") if is_example else "."
        words = ("-DEVAL", "-std=gnu++20", "-O2", "-pipe", "-I", beside, "-c", "a.cpp", "-o", "a.o")
        ways = list[tuple[int, bytes, bytes]]()
        for more in ((), ("-include", f"{headers[names]}/a.hpp")):
            (tmp_path / "a.o").unlink(missing_ok=True)
            command = [seen_tool().path, *more, *words]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
            there = b"" if done.returncode else (tmp_path / "a.o").read_bytes()
            ways.append((done.returncode, done.stderr, there))
        tried += ways[1][:2] == (0, b"")
        if ways[0][0] != ways[1][0] or (not ways[1][1] and ways[0] != ways[1]):
            other.append(path)
    assert tried > 15 and other == []


# --- graders as objects ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return run_build(tmp_path_factory.mktemp("object"), object_recipe(recipe(HELLO, graded(GRADER))))


@pytest.mark.parametrize("broken", [False, True])
def test_a_graders_object_changes_no_byte(tmp_path: Path, shared: bytes, broken: bool) -> None:
    """An object that cannot be linked is done without."""
    build = recipe('#include "sum.h"\nint add(int a, int b) { return a + b; }\n', graded(GRADER))
    made = run_build(tmp_path / "with", build, shared=b"broken" if broken else shared)
    assert made == run_build(tmp_path / "without", build)


def test_a_graders_object_is_really_used(tmp_path: Path, shared: bytes) -> None:
    build = recipe("int other() { return 1; }\n", graded("int other();\nint main() { return other(); }\n"))
    theirs = run_build(tmp_path / "object", object_recipe(build))
    assert theirs != shared
    own = recipe("int other() { return 1; }\nint add(int, int) { return 2; }\n", graded(GRADER))
    assert run_build(tmp_path / "box", own, shared=theirs) != run_build(tmp_path / "plain", own)


def test_a_source_that_is_wrong_is_refused_with_an_object(tmp_path: Path, shared: bytes) -> None:
    """What the compiler says is told once."""
    build = recipe("int add(int a, int b) { return nonsense; }\n", graded(GRADER))
    run_build(tmp_path, build, shared=shared, refused="error: ")


def test_an_object_is_of_the_problem_and_the_flags_alone() -> None:
    first, second = (object_recipe(recipe(source, graded(GRADER))) for source in ("int a;", "int b;"))
    assert first == second
    assert first.main.name == "graders/grader.cpp"
    other = object_recipe(recipe("int a;", graded(GRADER + "// another")))
    keys = {one.key("x86_64", seen_tool()) for one in (first, other)}
    assert len(keys) == 2


def test_only_alone_a_source_shares_its_grader() -> None:
    """Further files of a submission may change what the grader includes."""
    alone = submitted("int a;")
    many = msgspec.structs.replace(alone, files=(named("other.h", ""),))
    shared = [submission_recipe(graded(GRADER), one, BuildLimits()).shared for one in (alone, many)]
    assert shared == ["graders/grader.cpp", ""]
    assert not recipe(HELLO).shared


def test_different_compilers_are_told_apart() -> None:
    tools = [Toolchain(command="g++", path="/usr/bin/g++", version=v, identity=v) for v in ("12", "13")]
    alone = {"g++": tools[0]}
    profile = Profile(name="two", architecture="x86_64", toolchains=alone, offers={"g++": tuple(tools)})
    assert profile.offered("g++") == tuple(tools) and profile.offered("gcc") == ()
    assert msgspec.structs.replace(profile, offers={}).offered("g++") == (tools[0],)
