"""Two linkers for submissions: no source chooses its own, and none can tell by which it was linked.

Each of these sources is built with the quicker linker and without: it must have the same words, and what it
makes must do the same. Without a rule that keeps the two apart, one of them shows that the rule is gone.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from building import built_once
from missing import lacks
from support.builds import lay_out, plain_problem, submitted
from support.engines import submission_recipe

from ioi_eval.engines.contract import LINKING, Recipe
from ioi_eval.engines.embedded.toolchains import find_linking
from ioi_eval.engines.jobs import build
from ioi_eval.engines.jobs.build import compile_script
from ioi_eval.model.job import Ended
from ioi_eval.models import BuildLimits
from ioi_eval.rules.verdicts import log_of

pytestmark = pytest.mark.alike

_PUTS = '#include <cstdio>\nint main() { std::puts("built"); }\n'
_WARNING = 'asm(".section .gnu.warning{}, \\"\\", @progbits\\n.ascii \\"own words\\"\\n.text");\n'
# The same, as a string that ends where another one does.
_PUSHED = '\\n.pushsection .gnu.warning, \\"\\"\\n.ascii \\"own words\\"\\n.popsection\\n'
_NESTED = """#include <stdio.h>
static int twice(int (*f)(int), int x) { return f(f(x)); }
int main(void) {
  volatile int k = 5;
  int add(int x) { return x + k; }
  int (*volatile kept)(int) = add;
  printf("%d\\n", twice(kept, 3));
  return 0;
}
"""
_CONSTRUCTORS = """#include <cstdio>
void late() { std::puts("late"); }
struct A { A() { std::puts("A"); } } a;
__attribute__((constructor)) void b() { std::puts("b"); }
asm(".section .ctors, \\"aw\\", @progbits\\n.quad _Z4latev\\n.text");
int main() {}
"""
_TABLE = """#include <cstdio>
asm(".section .eh_frame, \\"a\\", @progbits\\n.long 5\\n.byte 1, 2, 3, 4, 5\\n.text");
int main() { try { throw 1; } catch (int) { std::puts("caught"); } }
"""
_CONSTANT = """#include <cstdio>
const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};  // return 42
int main() { int (*volatile f)() = (int (*)())code; std::printf("%d\\n", f()); }
"""
_OVER = "#include <cstdio>\nchar many[2147483647u];\nint main() { std::puts(many); }\n"
HOSTILE = {
    "linkers of other systems are told": '#pragma comment(linker, "-fuse-ld=mold")\n' + _PUTS,
    "directives in a section": 'asm(".section .drectve, \\"\\"\\n.ascii \\"-o /tmp/x\\"\\n.text");\n' + _PUTS,
    "libraries in a section": 'asm(".section .deplibs,\\"MS\\",@0x6fff4c04,1\\n.asciz \\"m\\"\\n.text");\n'
    + _PUTS,
    "code for the linker's plugin": 'asm(".section .gnu.lto_.opts, \\"\\"\\n.ascii \\"x\\"\\n.text");\n'
    + _PUTS,
    "a warning of its own": _WARNING.format("") + _PUTS,
    "a warning about the library": _WARNING.format(".puts") + _PUTS,
    "a section to write and to run": 'asm(".section .own, \\"awx\\"\\n.byte 0xc3\\n.text");\n' + _PUTS,
    "a stack to run": 'asm(".section .note.GNU-stack, \\"x\\", @progbits\\n.text");\n' + _PUTS,
    "a constant that runs": _CONSTANT,
    "constructors of another kind": _CONSTRUCTORS,
    "a table of exceptions": _TABLE,
    "assembly that is pasted": "#define P(a, b) a##b\nP(as, m)"
    + _WARNING.format("").removeprefix("asm")
    + _PUTS,
    "a word that form feeds join": f'as\\\f\nm("{_PUSHED}");\n{_PUTS}',
    "assembly in a name of the compiler": f'#ident "x\\"{_PUSHED}.ident \\"x"\n{_PUTS}',
    "assembly in a name of the version": f'#sccs "x\\"{_PUSHED}.ident \\"x"\n{_PUTS}',
    "assembly in a name of a function": "static int f(const char*)"
    f' __attribute__((weakref("puts{_PUSHED}")));\nint g() {{ return f("built"); }}\n{_PUTS}',
    "a label": '#include <cstdio>\nint f() asm("puts");\nint main() { std::puts("built"); return f() < 0; }\n',
    "the log of the compiler": '#include "../.ioi-eval-quick.log"\n' + _PUTS,
    "the end of the program": "#include <cstdio>\nint _end = 7, __bss_start = 8, etext = 9;\n"
    'int main() { std::printf("%d %d\\n", __bss_start, etext); }\n',
    "a symbol that is missing": "int f(int);\nint main() { return f(1); }\n",
    "no main": "int f(int x) { return x; }\n",
    "a function of the library twice": '#include <iostream>\nextern "C" void exit(int) { for (;;); }\nint main() { std::cout << 1; }\n',
    "a function that is dangerous": "#include <cstdio>\nint main(int n, char**) { return n > 5 && std::tmpnam(nullptr); }\n",
    "more than two gigabytes": _OVER,
    "words like a linker's": "#warning collect2: /usr/bin/ld.gold: a.o: no\n" + _PUTS,
    "an error of the compiler": "int main() { return x; }\n",
    "a warning of the compiler": "int f() {}\n" + _PUTS,
}
HOSTILE_IN_C = {
    "functions within functions": _NESTED,
    "a variable of threads": '#include <stdio.h>\nint errno = 5;\nint main(void) { fopen("/no", "r"); printf("%d\\n", errno); }\n',
}  # fmt: skip
ALL = {name: ("c++", text) for name, text in HOSTILE.items()} | {
    name: ("c", text) for name, text in HOSTILE_IN_C.items()
}
OPTIONS = {"stacks that run": "-Wl,-warn-execstack", "constants that run": "-Wl,-rosegment"}


class Outcome(NamedTuple):
    code: int
    words: str
    printed: tuple[int, bytes] | None


def outcome(box: Path, recipe: Recipe, *, quickly: bool) -> Outcome:
    tool = find_linking(recipe.tool)
    if tool is None or not tool.linker:
        lacks("there is no gold that links programs: apt-get install binutils")
    if not quickly:
        tool = msgspec.structs.replace(tool, linker="")
    lay_out(box, recipe)
    script = compile_script(recipe, tool=tool)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=box,
        env={**os.environ, "TMPDIR": "/tmp"},  # as in a box: words have names of files there
        capture_output=True,
        text=True,
        check=False,
    )
    words = log_of(Ended(stdout=done.stdout, stderr=done.stderr, code=done.returncode), BuildLimits())
    program = box / recipe.output
    if done.returncode or not program.exists():
        return Outcome(done.returncode, words, None)
    ran = subprocess.run([program], cwd=box, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return Outcome(done.returncode, words, (ran.returncode, ran.stdout))


def outcomes(box: Path, shared: Path, name: str, *, told: bool = False) -> tuple[Outcome, Outcome]:
    """With the quicker linker and without, which is tried once and has no rules.

    `told`: whatever the source says, the linker may be tried.
    """
    language, text = ALL[name]
    recipe = submission_recipe(plain_problem(), submitted(text, language), BuildLimits())

    def try_usual(path: Path) -> None:
        path.write_bytes(msgspec.json.encode(outcome(box / "usual", recipe, quickly=False)))

    usual = built_once(shared / f"usual-{list(ALL).index(name)}", try_usual).read_bytes()
    if told:
        recipe = msgspec.structs.replace(recipe, any_linker=True)
    return outcome(box / "quick", recipe, quickly=True), msgspec.json.decode(usual, type=Outcome)


@pytest.mark.sample("functions within|a symbol that is missing|a table of exceptions")
@pytest.mark.parametrize("name", ALL)
def test_no_source_can_tell_by_which_it_was_linked(tmp_path: Path, shared: Path, name: str) -> None:
    quick, usual = outcomes(tmp_path, shared, name)
    assert quick == usual


@pytest.mark.long
@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("sources that only compile", "a warning of its own"),
        ("sources that only compile", "a warning about the library"),
        ("sources that only compile", "a section to write and to run"),
        ("sources that only compile", "constructors of another kind"),
        ("sources that only compile", "a table of exceptions"),
        ("sources that only compile", "assembly that is pasted"),
        ("sources that only compile", "a word that form feeds join"),
        ("sources that only compile", "assembly in a name of the compiler"),
        ("sources that only compile", "assembly in a name of the version"),
        ("sources that only compile", "assembly in a name of a function"),
        ("sources that only compile", "the log of the compiler"),
        ("stacks that run", "functions within functions"),
        ("constants that run", "a constant that runs"),
        ("the linker's words", "a symbol that is missing"),
        ("the linker's words", "no main"),
        ("the linker's words", "a function of the library twice"),
        ("the linker's words", "a function that is dangerous"),
        ("the linker's words", "more than two gigabytes"),
        ("the linker's words", "the end of the program"),
        ("the linker's words", "a variable of threads"),
    ],
)
def test_without_a_rule_some_can(
    tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch, rule: str, name: str
) -> None:
    without = OPTIONS.get(rule)
    monkeypatch.setattr(build, "LINKING", tuple(word for word in LINKING if word != without))
    if rule == "the linker's words":
        monkeypatch.setattr(build, "LINKERS_WORDS", "^$never")
    quick, usual = outcomes(tmp_path, shared, name, told=rule == "sources that only compile")
    assert quick != usual
