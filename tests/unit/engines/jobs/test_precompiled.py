from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from support.builds import HELLO, graded_problem, named, plain_problem, submitted
from support.engines import Recipe, submission_recipe

from ioi_eval.engines.contract import Profile
from ioi_eval.engines.jobs.build import (
    FOLDER,
    OBJECT,
    Demand,
    compile_script,
    header_name,
    header_recipe,
    object_recipe,
    serves,
    starts_with,
)
from ioi_eval.models import BuildLimits, Problem, Toolchain

pytestmark = pytest.mark.once

HEADER = "bits/stdc++.h"
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


def recipe(source: str, problem: Problem | None = None) -> Recipe:
    return submission_recipe(problem or plain_problem(), submitted(source), BuildLimits())


def graded(grader: str) -> Problem:
    return graded_problem(
        grader_files=(named("graders/grader.cpp", grader), named("graders/sum.h", "#pragma once\n"))
    )


def test_it_serves_beside_a_grader_without_pragmas() -> None:
    assert serves(recipe(HELLO, graded(GRADER)))
    assert not serves(recipe(HELLO, graded('#pragma GCC target("avx2")\n' + GRADER)))
    assert not serves(recipe(HELLO, graded('_Pragma("GCC optimize(3)")\n' + GRADER)))
    assert not serves(recipe("int main() {}"))


def test_it_does_not_serve_python() -> None:
    python = submission_recipe(plain_problem(), submitted(HELLO, "python"), BuildLimits())
    assert not serves(python)


def test_a_file_full_of_comments_is_looked_at_in_no_time() -> None:
    assert not starts_with(HEADER, "/**/ " * 20_000 + "x")


def test_demand_is_counted_by_key() -> None:
    demand = Demand(2)
    assert [demand.pays(key) for key in "aabab"] == [False, False, False, True, False]
    assert not any(Demand(None).pays("a") for _ in range(100))


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


def compiler() -> Toolchain:
    path = shutil.which("g++")
    assert path is not None
    return Toolchain(command="g++", path=path, version="1", identity="1")


def run_build(
    box: Path, recipe: Recipe, header: Path | None = None, shared: bytes | None = None, refused: str = ""
) -> bytes:
    for file in (recipe.control, *recipe.sources):
        (box / file.name).parent.mkdir(parents=True, exist_ok=True)
        (box / file.name).write_bytes(file.content.read())
    if header is not None:
        (box / header_name(recipe)).parent.mkdir(parents=True)
        (box / header_name(recipe)).symlink_to(header)  # as the engine puts large files into a box
    if shared is not None:
        (box / OBJECT).write_bytes(shared)
    linked = shared is not None
    script = compile_script(recipe, tool=compiler(), headers=FOLDER if header else "", linked=linked)
    done = subprocess.run(["bash", "-c", script], cwd=box, capture_output=True, check=False)
    if refused:
        assert done.returncode == 1 and done.stdout.decode().count(refused) == 1
        return b""
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    return (box / recipe.output).read_bytes()


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    box = tmp_path_factory.mktemp("header")
    wanted = header_recipe(recipe(HELLO))
    run_build(box, wanted)
    return box / wanted.output


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
    ],
    ids=["alone", "pragma after", "grader", "grader with the header after a macro"],
)
def test_binaries_are_the_same_to_the_byte(
    tmp_path: Path, header: Path, source: str, problem: Problem | None
) -> None:
    build = recipe(source, problem)
    assert serves(build)
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    assert run_build(tmp_path / "with", build, header) == run_build(tmp_path / "without", build)


def test_the_header_is_really_used(tmp_path: Path, header: Path) -> None:
    """The compiler's own list of the headers it read marks a precompiled one with an exclamation mark."""
    (tmp_path / FOLDER / "bits").mkdir(parents=True)
    (tmp_path / FOLDER / "bits/stdc++.h.gch").symlink_to(header)
    (tmp_path / "a.cpp").write_text(HELLO)
    flags = ["-DEVAL", "-std=gnu++20", "-O2", "-pipe", "-H", "-S", "-o", "/dev/null", "a.cpp"]
    done = subprocess.run(
        [compiler().path, "-I", FOLDER, *flags], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr.startswith(f"! {FOLDER}/bits/stdc++.h.gch")


# --- graders as objects ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return run_build(tmp_path_factory.mktemp("object"), object_recipe(recipe(HELLO, graded(GRADER))))


@pytest.mark.parametrize("broken", [False, True])
def test_a_graders_object_changes_no_byte(tmp_path: Path, shared: bytes, broken: bool) -> None:
    """An object that cannot be linked is done without."""
    build = recipe('#include "sum.h"\nint add(int a, int b) { return a + b; }\n', graded(GRADER))
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    made = run_build(tmp_path / "with", build, shared=b"broken" if broken else shared)
    assert made == run_build(tmp_path / "without", build)


def test_a_graders_object_is_really_used(tmp_path: Path, shared: bytes) -> None:
    build = recipe("int other() { return 1; }\n", graded("int other();\nint main() { return other(); }\n"))
    (tmp_path / "object").mkdir()
    theirs = run_build(tmp_path / "object", object_recipe(build))
    assert theirs != shared
    (tmp_path / "box").mkdir()
    own = recipe("int other() { return 1; }\nint add(int, int) { return 2; }\n", graded(GRADER))
    (tmp_path / "plain").mkdir()
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
    keys = {one.key("x86_64", compiler()) for one in (first, other)}
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
