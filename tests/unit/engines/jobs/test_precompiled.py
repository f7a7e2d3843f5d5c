from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec
import pytest
from built_programs import built_once
from support.builds import HELLO, graded_problem, lay_out, named, plain_problem, recipe, submitted
from support.cached_lookups import sandbox_tool
from support.engines import BuildSpec, submission_recipe

from ioi_eval.engines.contract import BUNDLED_HEADERS, BUNDLED_LIBRARY_HEADER, LIBRARY_HEADER, Capabilities
from ioi_eval.engines.jobs.build import (
    OBJECT,
    make_compile_script,
    make_object_file_spec,
    make_unguessable_path,
)
from ioi_eval.engines.jobs.headers import (
    BITS_STDCPP,
    NAMES,
    PrebuiltFileUseCounter,
    find_leading_includes,
    make_header_file_name,
    make_precompiled_header_spec,
)
from ioi_eval.model.job import Ending
from ioi_eval.models import BuildLimits, Problem, Toolchain
from ioi_eval.rules.verdicts import format_build_log

LIMITS = BuildLimits()
GRADER = "int add(int a, int b);\nint main() { return add(1, 2) - 3; }\n"
FEW = ("cstdio", "vector")
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.cpp"))


def graded(grader: str, header: str = "#pragma once\n") -> Problem:
    return graded_problem(grader_files=(named("graders/grader.cpp", grader), named("graders/sum.h", header)))


@pytest.mark.parametrize(
    ("source", "head"),
    [
        (HELLO, BITS_STDCPP),
        ("\n \t\n  # include<bits/stdc++.h>", BITS_STDCPP),
        ("#include <cstdio>\r\n\r\n#include <vector>\r\nint a;\r\n", FEW),
        ("#include <cstdio>\n#include <vector>\n#include <ext/rope>\n", FEW),
        ("#include <bits/stdc++.h>\n#include <vector>\n", BITS_STDCPP),
        ("#include <vector>\n#include <bits/stdc++.h>\n", ("vector",)),
        ("#include <cstdio>\n#include <cstdarg>\n", ("cstdio",)),
        ("#include <bits/stdc++.h>\n#include <bits/stdc++.h>\n", ()),
        ("#include <cstdio>\n#define A 1\n#include <vector>\n", ("cstdio",)),
        ("#include <cstdio>\n#ifdef A\n#include <vector>\n#endif\n", ("cstdio",)),
        ('#include <cstdio>\n#include "sum.h"\n', ("cstdio",)),
        ("#include <cstdio>\n// #include <sys/mman.h>\n#define important 1\n", ("cstdio",)),
        ("", ()),
        ("int a;\n#include <cstdio>\n", ()),
        ("// a comment\n#include <cstdio>\n", ()),
        ("// \\\\\n #include <vector>\n#include <cstdio>\n", ()),
        ("/**/#include <cstdio>\n", ()),
        ("#include <cstdio> // a comment\n", ()),
        ("#include <cstdio> /* a\n*/\n", ()),
        ("#include <cstdio> \\\n\n", ()),
        ("#include \\\n<cstdio>\n", ()),
        ("#include <cstdio> int a;\n", ()),
        ("\ufeff#include <cstdio>\n", ()),
        ("\f#include <cstdio>\n", ()),
        ("#include <cstdio>\r#include <vector>\n", ()),
        ("%:include <cstdio>\n", ()),
        ("??=include <cstdio>\n", ()),
        ("#include_next <cstdio>\n", ()),
        ("#import <cstdio>\n", ()),
        ('#include "vector"\n', ()),
        ("#include <sys/mman.h>\n", ()),
        ("#include </usr/include/stdio.h>\n", ()),
        ("#include <../vector>\n", ()),
        ("#pragma GCC optimize(3)\n#include <cstdio>\n", ()),
        ("#define NDEBUG\n#include <cassert>\n", ()),
        ("#line 1\n#include <cassert>\n", ()),
    ],
)
def test_leading_includes_are_first_lines_that_include_standard_headers(
    source: str, head: tuple[str, ...]
) -> None:
    assert find_leading_includes(recipe(source)) == head


@pytest.mark.parametrize(
    "source_end",
    [
        "#include __FILE__\n",
        '#include "sum.cpp"\n',
        '#include "../sum.cpp"\n',
        "#include </tmp/sum.cpp>\n",
        "#include <bits/../../a>\n",
        "#inc\\\nlude __FILE__\n",
        "#inc\\ \t\r\nlude __FILE__\n",
        "# /* a\n*/ include __FILE__\n",
        "/* a\n// */ # include __FILE__\n",
        "%:include __FILE__\n",
        "#import __FILE__\n",
        "#include_next __FILE__\n",
        '#embed "sum.cpp"\n',
        "#if __has_include(__FILE__)\n#endif\n",
        "#include <cassert>\n" * 64,
        "//" + "x" * (64 << 10),
    ],
    ids=str.split,
)
def test_source_that_may_include_itself_has_no_leading_includes(source_end: str) -> None:
    """test_headers.py has such a source, which includes itself and could detect its header."""
    assert find_leading_includes(recipe("#include <cstdio>\n")) == ("cstdio",)
    assert find_leading_includes(recipe(f"#include <cstdio>\n{source_end}")) == ()


def test_leading_includes_are_read_only_from_single_cpp_source() -> None:
    source = "#include <cstdio>\n"
    assert find_leading_includes(recipe(source, graded(GRADER))) == ("cstdio",)
    many = msgspec.structs.replace(submitted(source), files=(named("graders/b.h", ""),))
    assert find_leading_includes(submission_recipe(plain_problem(), many, BuildLimits())) == ()
    for language in ("c", "python"):
        assert find_leading_includes(recipe(source, language=language)) == ()


def test_precompiled_header_is_built_after_required_number_of_sources() -> None:
    use_counter = PrebuiltFileUseCounter()
    assert [use_counter.is_due_after_use(key, 2) for key in "aabab"] == [False, True, False, True, True]
    assert PrebuiltFileUseCounter().is_due_after_use("a", 1)
    few = PrebuiltFileUseCounter(2)
    assert [few.is_due_after_use(key, 2) for key in "abcabca"] == [
        False,
        False,
        False,
        True,
        True,
        False,
        True,
    ]
    use_counter.reset("a")
    assert [use_counter.is_due_after_use("a", 2) for _ in range(2)] == [False, True]


def preprocessed(lines: Sequence[str], *options: str) -> list[str]:
    command = [sandbox_tool().path, "-std=gnu++20", "-DEVAL", "-O2", "-E", *options, "-x", "c++", "-"]
    source = "".join(f"{line}\n" for line in lines)
    completed = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    return [line for line in completed.stdout.splitlines() if line.strip()]


def includes(names: Sequence[str]) -> list[str]:
    return [f"#include <{name}>" for name in names]


def macros(names: Sequence[str]) -> list[str]:
    return sorted(preprocessed(includes(names), "-dM"))


def effects_of_second_include(state: Sequence[str], names: Sequence[str]) -> dict[str, list[str]]:
    """Return the effect of including each header once more after all headers of `state`."""
    marked = [line for name in names for line in (f'"at {name}"', *includes([name]))]
    lines, name = preprocessed([*includes(state), '"begin"', *marked], "-dD"), ""
    effects = dict[str, list[str]]()
    for line in lines[lines.index('"begin"') + 1 :]:
        if line.startswith('"at '):
            name = line.removeprefix('"at ').rstrip('"')
        elif not line.startswith("# "):
            effects.setdefault(name, []).append(line)
    return effects


USABLE = tuple(name for name in sorted(NAMES) if name not in ("expected", "print", "stacktrace", "stdfloat"))
# Repeated effects without consequence: a macro defined during an include, and `assert`.
SAYS = {"cmath": "_GLIBCXX_INCLUDE_NEXT_C_HEADERS", "assert.h": "", "cassert": ""}


@pytest.mark.nightly  # asks the compiler about a hundred headers
@pytest.mark.parametrize("state", [USABLE, USABLE[::-1]], ids=["in order", "backwards"])
def test_second_include_of_precompilable_header_has_only_known_effects(state: tuple[str, ...]) -> None:
    accepted, usable = ([name for name in names if is_taken(name)] for names in (state, USABLE))
    effects = effects_of_second_include(accepted, usable)
    for name, lines in effects.items():
        assert SAYS.get(name) is not None and all(SAYS[name] in line for line in lines), (name, lines)
    assert effects.keys() <= SAYS.keys()


@cache
def is_taken(name: str) -> bool:
    """Return True if the compiler uses the header and prints nothing."""
    command = [sandbox_tool().path, "-std=gnu++20", "-E", "-o", "/dev/null", "-x", "c++", "-"]
    completed = subprocess.run(
        command, input=f"#include <{name}>\n", capture_output=True, text=True, check=False
    )
    return not completed.returncode and not completed.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_headers_included_twice_leave_macros_unchanged(seed: int) -> None:
    """`bits/stdc++.h` does not: `cstdarg` undefines a macro of `stdio.h`."""
    names = [name for name in USABLE if is_taken(name)]
    head = random.Random(seed).sample(names, 8)
    twice = [*head, *head]
    assert macros(head) == macros(twice)
    assert preprocessed(includes(head), "-P") == preprocessed(includes(twice), "-P")
    if not seed:
        assert macros(BITS_STDCPP) != macros([*BITS_STDCPP, *BITS_STDCPP])


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
    recipe: BuildSpec,
    header: Path | None = None,
    shared: bytes | None = None,
    refused: str = "",
    has_bundled_precompiled_header: bool = False,
    readable: bool = False,
) -> bytes:
    """Run a build. With `readable`, programs can read their command line, unlike in a sandbox."""
    lay_out(box, recipe)
    for name, content in ((make_header_file_name(find_leading_includes(recipe)), header), (OBJECT, shared)):
        if content is not None:
            link = box / make_unguessable_path(name)
            link.parent.mkdir(parents=True)
            if isinstance(content, Path):
                link.symlink_to(content)
            else:
                link.write_bytes(content)
    script = make_compile_script(
        recipe,
        sandbox_tool(),
        uses_prebuilt_files=True,
        has_bundled_precompiled_header=has_bundled_precompiled_header,
    )
    if not readable:
        script = script.replace("/proc/$$/cmdline", "/nothing")
    completed = subprocess.run(["bash", "-c", script], cwd=box, capture_output=True, check=False)
    if refused == "?":
        return completed.stdout
    if refused:
        assert completed.returncode == 1 and completed.stdout.decode().count(refused) == 1
        return b""
    assert (completed.returncode, completed.stdout, completed.stderr) == (0, b"", b"")
    return (box / recipe.output).read_bytes()


@pytest.fixture(scope="module")
def header(shared: Path) -> Path:
    """Return the precompiled `bits/stdc++.h`. It is compiled once for all test processes."""
    header_build = make_precompiled_header_spec(recipe(HELLO))

    def build(box: Path) -> None:
        lay_out(box, header_build)
        subprocess.run(header_build.command, cwd=box, check=True)

    return built_once(shared / "big-header", build) / header_build.output


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("#include <bits/stdc++.h>\n" + USES_MUCH + ALONE, None),
        ('#include <bits/stdc++.h>\n#pragma GCC optimize("O3")\n' + USES_MUCH + ALONE, None),
        ('#include <bits/stdc++.h>\n#pragma GCC target("avx2")\n' + USES_MUCH + ALONE, None),
        ("#include <bits/stdc++.h>\n#include <vector>\n" + USES_MUCH + ALONE, None),
        ("#include <bits/stdc++.h>\r\n" + USES_MUCH.replace("\n", "\r\n") + ALONE, None),
        ("#include <vector>\n#include <map>\n#include <iostream>\n" + USES_MUCH + ALONE, None),
    ],
    ids=["alone", "optimized after", "for a processor after", "twice", "lines of another kind", "other head"],
)
def test_binary_with_precompiled_header_is_identical(
    tmp_path: Path, header: Path, source: str, problem: Problem | None
) -> None:
    build = recipe(source, problem)
    if find_leading_includes(build) != BITS_STDCPP:
        (tmp_path / "header").mkdir()
        run_build(tmp_path / "header", make_precompiled_header_spec(build, find_leading_includes(build)))
        header = tmp_path / "header" / "header"
    assert run_build(tmp_path / "with", build, header) == run_build(tmp_path / "without", build)


@pytest.mark.nightly
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_using_cpp_library_are_identical_with_precompiled_header(
    tmp_path: Path, header: Path, path: Path
) -> None:
    """43 programs use large parts of the library, such as threads, exceptions and regular expressions."""
    build = recipe(path.read_text())
    assert find_leading_includes(build) == BITS_STDCPP
    assert run_build(tmp_path / "with", build, header) == run_build(tmp_path / "without", build)


LEAN = ("cstdio", "initializer_list")  # quick to compile
BEGINNING = "".join(f"#include <{name}>\n" for name in LEAN)


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    box = tmp_path_factory.mktemp("lean")
    run_build(box, make_precompiled_header_spec(recipe(HELLO), LEAN))
    return box / "header"


@pytest.fixture(scope="module")
def marked_header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a precompiled header with a macro by which the program shows that it was used."""
    box = tmp_path_factory.mktemp("marked")
    wrapper = named("wrapper.hpp", "#define A 7\n")
    run_build(box, msgspec.structs.replace(make_precompiled_header_spec(recipe(HELLO)), sources=(wrapper,)))
    return box / "header"


def exit_code(box: Path, recipe: BuildSpec) -> int:
    return subprocess.run([box / recipe.output], check=False).returncode


def marks(head: str = BEGINNING) -> BuildSpec:
    return recipe(f"{head}#ifndef A\n#define A 8\n#endif\nint main() {{ return A; }}\n")


def test_precompiled_header_is_used_by_build(tmp_path: Path, marked_header: Path) -> None:
    run_build(tmp_path, marks(), marked_header)
    assert exit_code(tmp_path, marks()) == 7


def test_precompiled_header_is_not_used_if_source_can_read_command(
    tmp_path: Path, marked_header: Path
) -> None:
    run_build(tmp_path, marks(), marked_header, readable=True)
    assert exit_code(tmp_path, marks()) == 8


def test_precompiled_header_is_not_used_without_leading_includes(tmp_path: Path, marked_header: Path) -> None:
    run_build(tmp_path, marks("// a comment\n"), marked_header)
    assert exit_code(tmp_path, marks()) == 8


@pytest.mark.nightly(unless="alone-(no header|gpch.014)")
@pytest.mark.parametrize("broken", [b"no header", b"gpch.014", b"gpch.013"])
@pytest.mark.parametrize("grader", ["", GRADER], ids=["alone", "graded"])
def test_broken_precompiled_header_is_ignored_by_build(
    tmp_path: Path, grader_object: bytes, broken: bytes, grader: str
) -> None:
    (tmp_path / "header").write_bytes(broken)
    source = BEGINNING + "int add(int a, int b) { return a + b; }\n" + ("" if grader else ALONE)
    build = recipe(source, graded(grader) if grader else None)
    output = run_build(
        tmp_path / "with", build, tmp_path / "header", shared=grader_object if grader else None
    )
    assert output == run_build(tmp_path / "without", build)


@pytest.mark.parametrize("grader", ["", GRADER], ids=["alone", "graded"])
def test_precompiled_header_of_few_includes_leaves_binary_identical(
    tmp_path: Path, lean: Path, grader_object: bytes, grader: str
) -> None:
    source = "int add(int a, int b) { auto c = {__LINE__, 1, 1}; return a + b + int(c.size()) - 3; }\n"
    build = recipe(BEGINNING + source + ("" if grader else ALONE), graded(grader) if grader else None)
    assert find_leading_includes(build) == LEAN
    output = run_build(tmp_path / "with", build, lean, shared=grader_object if grader else None)
    assert output == run_build(tmp_path / "without", build)


@pytest.mark.nightly(unless="list")  # test_rebuild_without_header_cannot_read_first_artifact warns only
@pytest.mark.parametrize(
    "source", ["int f() {}\nint main() {}\n", "int main() { initializer_list<int> a; }\n"]
)
def test_compiler_log_is_same_with_precompiled_header(tmp_path: Path, lean: Path, source: str) -> None:
    build, logs = recipe(BEGINNING + source), []
    for name, header in (("with", lean), ("without", None)):
        logs.append(run_build(tmp_path / name, build, header, refused="?"))
    assert logs[0] and logs[0] == logs[1]


def test_rebuild_without_header_cannot_read_first_artifact(tmp_path: Path, lean: Path) -> None:
    """The first build warns and creates a program, whose file name is assembled into the second source."""
    looks = f'{BEGINNING}#warning own words\nasm(".data\\n.incbin \\"submission\\"");\nint main() {{}}\n'
    build, outputs = recipe(looks), []
    for name, header in (("with", lean), ("without", None)):
        outputs.append(run_build(tmp_path / name, build, header, refused="?"))
    assert b"file not found" in outputs[0]
    logs = [format_build_log(Ending(stdout=output.decode()), LIMITS) for output in outputs]
    assert logs[0] == logs[1]


def test_bundled_header_is_used_only_for_same_c_library_and_includes(
    tmp_path: Path, marked_header: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another version of the C library, or for other includes, the header is not used.

    Then an empty `bits/stdc++.h` is included, which is quick to compile.
    """
    (tmp_path / "empty" / "bits").mkdir(parents=True)
    (tmp_path / "empty" / "bits" / "stdc++.h").touch()
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", str(tmp_path / "empty"))
    for library, features in (("same", Path(LIBRARY_HEADER).read_bytes()), ("older", b"of another version")):
        (tmp_path / library / "gnu++20/bits").mkdir(parents=True)
        (tmp_path / library / "gnu++20/bits/stdc++.h.gch").symlink_to(marked_header)
        (tmp_path / library / BUNDLED_LIBRARY_HEADER).write_bytes(features)
    big, cases = "#include <bits/stdc++.h>\n", list[int]()
    for library, head in (("same", big), ("older", big), ("same", BEGINNING)):
        monkeypatch.setenv(BUNDLED_HEADERS, str(tmp_path / library))
        box = tmp_path / str(len(cases))
        run_build(box, marks(head), has_bundled_precompiled_header=True)
        cases.append(exit_code(box, marks()))
    assert cases == [7, 8, 8]


# --- graders as objects ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grader_object(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return run_build(tmp_path_factory.mktemp("object"), make_object_file_spec(recipe(HELLO, graded(GRADER))))


@pytest.mark.parametrize("broken", [False, True])
def test_precompiled_grader_object_leaves_binary_identical(
    tmp_path: Path, grader_object: bytes, broken: bool
) -> None:
    """If the object cannot be linked, the grader is compiled."""
    build = recipe('#include "sum.h"\nint add(int a, int b) { return a + b; }\n', graded(GRADER))
    output = run_build(tmp_path / "with", build, shared=b"broken" if broken else grader_object)
    assert output == run_build(tmp_path / "without", build)


def test_precompiled_grader_object_is_linked(tmp_path: Path, grader_object: bytes) -> None:
    build = recipe("int other() { return 1; }\n", graded("int other();\nint main() { return other(); }\n"))
    theirs = run_build(tmp_path / "object", make_object_file_spec(build))
    assert theirs != grader_object
    own_build = recipe("int other() { return 1; }\nint add(int, int) { return 2; }\n", graded(GRADER))
    assert run_build(tmp_path / "box", own_build, shared=theirs) != run_build(tmp_path / "plain", own_build)


def test_invalid_source_is_refused_once_with_grader_object(tmp_path: Path, grader_object: bytes) -> None:
    """The compiler's messages occur once."""
    build = recipe("int add(int a, int b) { return nonsense; }\n", graded(GRADER))
    run_build(tmp_path, build, shared=grader_object, refused="error: ")


def test_grader_object_depends_on_grader_and_not_on_submission() -> None:
    first, second = (make_object_file_spec(recipe(source, graded(GRADER))) for source in ("int a;", "int b;"))
    assert first == second
    assert first.main_source.name == "graders/grader.cpp"
    other = make_object_file_spec(recipe("int a;", graded(GRADER + "// another")))
    keys = {build_recipe.make_cache_key("x86_64", sandbox_tool()) for build_recipe in (first, other)}
    assert len(keys) == 2


def test_grader_object_file_is_shared_only_by_single_source_submissions() -> None:
    """Other files of a submission may change the grader's includes."""
    alone = submitted("int a;")
    many = msgspec.structs.replace(alone, files=(named("other.h", ""),))
    shared = [
        submission_recipe(graded(GRADER), submission, BuildLimits()).shared for submission in (alone, many)
    ]
    assert shared == ["graders/grader.cpp", ""]
    assert not recipe(HELLO).shared


def test_capabilities_offer_each_compiler_version() -> None:
    tools = [Toolchain(command="g++", path="/usr/bin/g++", version=v, identity=v) for v in ("12", "13")]
    alone = {"g++": tools[0]}
    profile = Capabilities(name="two", architecture="x86_64", toolchains=alone, offers={"g++": tuple(tools)})
    assert profile.list_toolchains("g++") == tuple(tools) and profile.list_toolchains("gcc") == ()
    assert msgspec.structs.replace(profile, offers={}).list_toolchains("g++") == (tools[0],)
