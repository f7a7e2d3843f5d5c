"""The languages that submissions may be written in, as data: another language is another row of the table."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from ioi_eval.errors import InputError
from ioi_eval.models import Value

_LISTS = ("{flags}", "{extra}", "{sources}")  # words of a template that stand for any number of arguments


class Language(Value, frozen=True, kw_only=True):
    """How sources of one language are recognised, built and run.

    Templates are argument vectors. `{tool}` is the compiler or interpreter, `{output}` what a build makes,
    `{artifact}` what is run, `{standard}` the dialect; the words of `_LISTS` stand for whole lists.
    """

    name: str
    aliases: tuple[str, ...]  # as `find` sees names: lower case, no blanks, hyphens and underscores
    dialects: tuple[tuple[str, str], ...] = ()  # aliases that fix the standard themselves
    suffixes: tuple[str, ...]  # of source files; ours get the first
    command: str  # the toolchain by which an engine knows the compiler or interpreter
    flags: tuple[str, ...] = ()
    build_template: tuple[str, ...]
    precompile_template: tuple[str, ...] = ()  # empty: headers cannot be precompiled
    run_template: tuple[str, ...]
    standard: str = ""  # fixed by the alias that `find` was asked for; wins over the problem's
    default_standard: str = ""
    artifact_name: str = "submission"
    links_grader: bool = False  # can be built together with a grader's source
    threads: int = 1
    proc: bool = False  # the runtime needs /proc
    address_space: bool = True  # the address space may be capped as a backstop
    header: str = ""  # brings the whole standard library: worth precompiling, and often forgotten by models
    syntax: str = ""  # how extraction tells code from prose: braces, python
    marks: tuple[str, ...] = ()  # a whole program holds one of these

    @property
    def source_name(self) -> str:
        """The name of a submission's source where the problem does not ask for another."""
        return "submission" + self.suffixes[0]

    @property
    def tags(self) -> frozenset[str]:
        """What a fenced block of this language may be tagged with."""
        return frozenset(
            [*self.aliases, *(alias for alias, _ in self.dialects), *(suffix[1:] for suffix in self.suffixes)]
        )

    def build(
        self,
        sources: Sequence[str],
        output: str,
        standard: str = "",
        *,
        tool: str = "",
        extra: Sequence[str] = (),
    ) -> tuple[str, ...]:
        """The command that builds `sources`, a grader's first, into `output`. `extra` follows the flags."""
        return self._filled(self.build_template, sources, output, standard, tool, extra)

    def precompile(self, header: str, output: str, standard: str = "", *, tool: str = "") -> tuple[str, ...]:
        """The command that precompiles a header for builds with the same flags."""
        return self._filled(self.precompile_template, (header,), output, standard, tool, ())

    def run(self, tool: str = "") -> tuple[str, ...]:
        """The command that runs the artifact. `tool` is the interpreter's path in the engine's toolchain."""
        return tuple(
            word.format(tool=tool or self.command, artifact=self.artifact_name) for word in self.run_template
        )

    def _filled(
        self,
        template: tuple[str, ...],
        sources: Sequence[str],
        output: str,
        standard: str,
        tool: str,
        extra: Sequence[str],
    ) -> tuple[str, ...]:
        words = {
            "tool": tool or self.command,
            "output": output,
            "standard": self.standard or standard or self.default_standard,
        }
        lists = dict(zip(_LISTS, (self.flags, extra, sources), strict=True))
        # A name of a file may hold braces: what a list brings is not a template again, except the flags.
        return tuple(
            text.format(**words) if word not in lists or word == "{flags}" else text
            for word in template
            for text in lists.get(word, (word,))
        )


_CPP_STEMS = ("c++", "cpp", "cxx", "gnu++", "gnuc++", "gnug++", "g++")
_CPP_STANDARDS = {
    "gnu++98": ("98",),
    "gnu++03": ("03",),
    "gnu++11": ("11", "0x"),
    "gnu++14": ("14", "1y"),
    "gnu++17": ("17", "1z"),
    "gnu++20": ("20", "2a"),
    "gnu++23": ("23", "2b"),
    "gnu++26": ("26", "2c"),
}

# As on the contest system.
_CPP = Language(
    name="c++",
    aliases=("c++", "cpp", "cc", "cxx", "cplusplus", "gnuc++", "gnug++", "g++"),
    dialects=tuple(
        (stem + ending, standard)
        for standard, endings in _CPP_STANDARDS.items()
        for ending in endings
        for stem in _CPP_STEMS
    ),
    suffixes=(".cpp", ".cc", ".cxx", ".c++"),
    command="g++",
    flags=("-DEVAL", "-std={standard}", "-O2", "-pipe", "-static", "-s"),
    build_template=("{tool}", "{flags}", "{extra}", "-o", "{output}", "{sources}"),
    precompile_template=("{tool}", "{flags}", "-x", "c++-header", "-o", "{output}", "{sources}"),
    run_template=("{artifact}",),
    default_standard="gnu++20",
    links_grader=True,
    header="bits/stdc++.h",
    syntax="braces",
    marks=("#include", "main(", "main ("),
)

# The artifact is the source, byte for byte: the build only has the interpreter that will run it say whether
# it is Python, because the contest system calls a SyntaxError a compilation error.
_PYTHON_CHECK = (
    "import sys; data = open(sys.argv[2], 'rb').read(); "
    "compile(data, sys.argv[2], 'exec'); open(sys.argv[1], 'wb').write(data)"
)

# -I: neither the environment nor the folder that the program happens to lie in changes what `import` finds.
_PYTHON = Language(
    name="python",
    aliases=("python", "python3", "py", "py3", "cpython3", *(f"python3.{minor}" for minor in range(6, 20))),
    suffixes=(".py",),
    command="python3",
    build_template=("{tool}", "-I", "-c", _PYTHON_CHECK, "{output}", "{sources}"),
    run_template=("{tool}", "-I", "{artifact}"),
    syntax="python",
)

LANGUAGES: tuple[Language, ...] = (_CPP, _PYTHON)


def find(name: str, *, where: str = "", row: int | None = None, field: str = "language") -> Language:
    """The language that people call `name`. A name such as C++17 fixes the standard of the one returned."""
    plain = _plain(name)
    for language in LANGUAGES:
        if plain in language.aliases:
            return language
        for alias, standard in language.dialects:
            if plain == alias:
                return msgspec.structs.replace(language, standard=standard)
    raise InputError(
        f"unknown language {name!r}", where=where, row=row, field=field, remedy=f"Known are {_known()}"
    )


def of_suffix(suffix: str) -> Language | None:
    """The language of source files that end in `suffix` (with its dot)."""
    return next((language for language in LANGUAGES if suffix.lower() in language.suffixes), None)


def _plain(name: str) -> str:
    """`GNU C++20 (64)` becomes `gnuc++20`: judges put the compiler's version and width into brackets."""
    return re.sub(r"[\s_-]+", "", name.lower().partition("(")[0])


def _known() -> str:
    described = (f"{language.name} (also {', '.join(language.aliases[1:4])})" for language in LANGUAGES)
    return " and ".join(described)
