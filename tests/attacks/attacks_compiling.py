"""Attacks at compile time:

sources that include secrets, and sources that exhaust a compiler. An included file appears in the program, which
prints it, or in the compiler's messages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from attack import SECRET

CE, WA = "CE", "WA"
EMBEDS = "g++ 15"


DEEP, MILD = 18, 16  # a quarter of the work is still more than any limit here


@dataclass(frozen=True, kw_only=True)
class SourceAttack:
    name: str
    source: str  # {answer}, {home}, {neighbour}: paths of secrets; {depth}: levels, each of which doubles the work
    heading: str = "stealing"
    language: str = "c++"
    verdicts: tuple[str, ...]
    layers: tuple[str, ...]
    sign: str = SECRET  # the string that shows that a secret was read
    needs: str = ""  # the user without whom it cannot succeed
    bomb: bool = False  # wins when it is built at all
    whole: bool = False  # the layer that stops it is in the judge, not in the proctor: tried end to end


_PRINTED = """
#include <cstdio>
extern "C" const char found[], found_end[];
int main() {{ fwrite(found, 1, found_end - found, stdout); }}
"""


def _binary(path: str) -> str:
    return (
        f'asm(".data\\n.globl found, found_end\\nfound: .incbin \\"{path}\\"\\nfound_end: .byte 0\\n");'
        + _PRINTED
    )


def _stealing(name: str, layers: str, source: str, *verdicts: str) -> SourceAttack:
    return SourceAttack(name=name, source=source, layers=tuple(layers.split()), verdicts=verdicts or (CE,))


def _bomb(name: str, layers: str, source: str) -> SourceAttack:
    return SourceAttack(
        name=name, heading="stopping", source=source, layers=tuple(layers.split()), bomb=True, verdicts=(CE,)
    )


def _strange(name: str, layers: str, source: str, *, language: str = "c++") -> SourceAttack:
    return SourceAttack(
        name=name, heading="confusing", source=source, layers=tuple(layers.split()), verdicts=(CE,),
        language=language, whole=True,
    )  # fmt: skip


_TREE = """
template <long N, long M> struct T {{ static const long v = T<N - 1, 2 * M>::v + T<N - 1, 2 * M + 1>::v; }};
template <long M> struct T<0, M> {{ static const long v = M; }};
int main() {{ return T<{depth}, 1>::v == 7; }}
"""
# The interpreter compiles the body of a `finally` twice.
_NESTED = "".join(f"{' ' * n}try: pass\n{' ' * n}finally:\n" for n in range(19)) + " " * 19 + "pass\n"
_CONSTANTS = """
struct Node {{ Node* next; }};
constexpr int f(int n) {{
  Node* last = nullptr;
  for (int i = 0; i < n; i++) last = new Node{{last}};
  while (last) {{ Node* next = last->next; delete last; last = next; }}
  return 7;
}}
static_assert(f(30000000) == 7);
int main() {{}}
"""
COMPILING = (
    _stealing("include-the-answer", "landlock namespaces", '#include "{answer}"\nint main() {{}}'),
    _stealing("embed-the-answer-as-bytes", "landlock namespaces", _binary("{answer}")),
    _stealing("assemble-the-answer", "landlock namespaces", 'asm(".include \\"{answer}\\"");\nint main() {{}}'),
    replace(_stealing("embed-the-answer", "landlock namespaces", 'const char found[] = {{\n#embed "{answer}"\n}};\n#include <cstdio>\nint main() {{ fwrite(found, 1, sizeof found, stdout); }}'), needs=EMBEDS),
    _stealing("answer-in-the-build", "build", _binary("t/0.out")),
    _stealing("include-from-the-build", "build", '#include "t/0.out"\nint main() {{}}'),
    _stealing("include-from-home", "landlock namespaces", '#include "{home}"\nint main() {{}}'),
    _stealing("include-a-neighbours", "landlock namespaces uid", '#include "{neighbour}"\nint main() {{}}'),
    _stealing("the-compilers-environment", "environment landlock", 'asm(".include \\"/proc/self/environ\\"");\nint main() {{}}', CE, WA),
    replace(_stealing("include-users", "landlock namespaces", '#include "/etc/passwd"\nint main() {{}}'), sign="root:x:0:"),
    replace(_stealing("include-standard-input", "build streams", '#include "/dev/stdin"\nint main() {{}}', CE, WA), whole=True),
    _bomb("data-of-gigabytes", "rlimit-fsize", 'asm(".data\\n.fill 300000000, 1, 7");\nint main() {{}}'),
    _bomb("templates-that-multiply", "polling rlimit-cpu", _TREE),
    _bomb("includes-that-multiply", "polling rlimit-cpu", "#if __INCLUDE_LEVEL__ < {depth} + 2\n#include __FILE__\n#include __FILE__\n#endif\n#if __INCLUDE_LEVEL__ == 0\nint main() {{}}\n#endif\n"),
    replace(_strange("brackets-in-python", "status", "(" * 100000 + ")" * 100000, language="python"), heading="stopping"),
    replace(_strange("brackets-in-cpp", "status", "int x = " + "(" * 200000 + "1" + ")" * 200000 + ";"), heading="stopping"),
    replace(_strange("blocks-that-double", "status", _NESTED, language="python"), heading="stopping"),
    replace(_strange("constants-that-fill-memory", "status", _CONSTANTS), heading="stopping"),
    replace(_strange("include-standard-output", "status", '#include "/dev/stdout"\nint main() {{}}'), heading="stopping"),
    _strange("an-empty-source", "status", ""),
    _strange("a-source-of-nul", "status", "\0" * 4096),
    _strange("nul-in-python", "status", "print(1)\0print(2)", language="python"),
    replace(_strange("an-empty-program-in-python", "apart", "", language="python"), verdicts=(WA,)),
    _strange("an-unknown-coding", "status", "# coding: rot-14\nprint(1)", language="python"),
    _strange("messages-of-the-judge", "status", '#error "Time limit exceeded" Resource temporarily unavailable\n'),
    # The compiler repeats the line. It is longer than the 4 MB that servers usually accept in a request.
    _strange("a-source-of-five-megabytes", "cleaning", "#error " + "x" * (5 << 20) + "\n"),
)  # fmt: skip
