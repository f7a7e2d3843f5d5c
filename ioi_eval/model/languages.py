"""The languages that submissions may be written in, as data: another language is another row of the table.

And Python's packages that programs may be promised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import nearest
from ioi_eval.model.values import Limits, Value

_LISTS = ("{flags}", "{extra}", "{sources}")  # words of a template that stand for any number of arguments
_HEAP, _ONLINE = "{heap}", "{online}"  # and so do these, where programs are run
_MEBIBYTE = 1 << 20
_LEAST_HEAP = 16  # MiB: a runtime with less does not even start, and cannot be found to use too much


class Language(Value, frozen=True, kw_only=True):
    """A language: recognised, built and run by these words.

    Templates are argument vectors. `{tool}` is the compiler or interpreter, `{output}` what a build makes,
    `{artifact}` what is run, `{standard}` the dialect; the words of `_LISTS` stand for whole lists.
    """

    name: str
    aliases: tuple[str, ...]  # as `find` sees names: lower case, no blanks, hyphens and underscores
    dialects: tuple[tuple[str, str], ...] = ()  # aliases that fix the standard themselves
    suffixes: tuple[str, ...]  # of source files; ours get the first
    command: str  # the toolchain by which an engine knows the compiler or interpreter
    remedy: str  # the command that installs the toolchain where it is missing
    tells: tuple[str, ...] = ("--version",)  # what the compiler is asked with, and answers with its version
    runner: str = ""  # another toolchain's command, where the compiler does not run what it makes
    flags: tuple[str, ...] = ()
    build_template: tuple[str, ...]
    finds_sources: bool = False  # the compiler looks for further sources itself, beside the main one
    precompile_template: tuple[str, ...] = ()  # empty: headers cannot be precompiled
    run_template: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()  # of its programs
    # How a program sees ONLINE_JUDGE, for problems of judges that define it.
    online_flags: tuple[str, ...] = ()  # of the build
    online_arguments: tuple[str, ...] = ()  # of the runtime
    online_environment: tuple[tuple[str, str], ...] = ()
    standard: str = ""  # fixed by the alias that `find` was asked for; wins over the problem's
    default_standard: str = ""
    artifact_name: str = "submission"
    helper: str = ""  # a file below graders/ that a build needs beside the sources, under that name
    control: str = ""  # a program that any working compiler takes
    acts: str = ""  # a pattern of sources that may have programs of their own run while they are built
    links_grader: bool = False  # can be built together with a grader's source in the same language
    refusals: tuple[int, ...] = (1,)  # exit codes by which the compiler says that the source is wrong
    threads: int = 1  # of its programs; 1 forbids more. A few where programs start one for a deeper stack
    heap: tuple[str, ...] = ()  # arguments that tell a runtime the memory limit, `{megabytes}`
    # How limits of a problem become those of its programs. The contest system gives all languages the same.
    time_factor: float = 1.0
    time_extra: float = 0.0  # seconds
    memory_extra: int = 0  # bytes
    proc: bool = False  # the runtime needs /proc
    address_space: bool = True  # the address space may be capped as a backstop
    header: str = ""  # brings the whole standard library: worth precompiling, and often forgotten by models
    syntax: str = ""  # how extraction tells code from prose: braces, python, pascal
    by_lines: bool = False  # its statements need no semicolons and no braces
    marks: tuple[str, ...] = ()  # a whole program holds one of these
    begins: str = ""  # a pattern of how programs begin, where syntax does not tell them from prose
    more_tags: tuple[str, ...] = ()  # of fenced blocks, besides its own names
    spare_tags: tuple[str, ...] = ()  # of blocks that hold its programs, too, where none has another tag

    @property
    def tools(self) -> tuple[str, ...]:
        """Return the commands of the toolchains that its programs need, the builder's first."""
        return (self.command, self.runner) if self.runner else (self.command,)

    @property
    def tags(self) -> frozenset[str]:
        """Return the tags of fenced blocks in this language."""
        return frozenset(
            [
                *self.aliases,
                *self.more_tags,
                *(alias for alias, _ in self.dialects),
                *(suffix[1:] for suffix in self.suffixes),
            ]
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

    def run(self, tool: str = "", memory: int | None = None, *, online: bool = False) -> tuple[str, ...]:
        """Return the command that runs the artifact.

        `tool` is the interpreter's path in the engine's toolchain, `memory` the problem's limit in bytes.
        `online`: the problem is of a judge that defines ONLINE_JUDGE.
        """
        words = {"tool": tool or self.runner or self.command, "artifact": self.artifact_name}
        lists = {_HEAP: () if memory is None else self.heap, _ONLINE: self.online_arguments if online else ()}
        megabytes = max((memory or 0) // _MEBIBYTE, _LEAST_HEAP)
        return tuple(
            text.format(**words, megabytes=megabytes)
            for word in self.run_template
            for text in lists.get(word, (word,))
        )

    def limits(self, limits: Limits) -> Limits:
        """The limits of one test for programs in this language."""
        return msgspec.structs.replace(
            limits,
            cpu_time=self._longer(limits.cpu_time),
            wall_time=self._longer(limits.wall_time),
            memory=None if limits.memory is None else limits.memory + self.memory_extra,
        )

    def _longer(self, seconds: float | None) -> float | None:
        return None if seconds is None else seconds * self.time_factor + self.time_extra

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
            "helper": self.helper,
            "standard": self.standard or standard or self.default_standard,
        }
        lists = dict(zip(_LISTS, (self.flags, extra, sources), strict=True))
        # A name of a file may hold braces: what a list brings is not a template again, except the flags.
        return tuple(
            text.format(**words) if word not in lists or word == "{flags}" else text
            for word in template
            for text in lists.get(word, (word,))
        )


def _spelled(stems: Sequence[str], endings: Mapping[str, Sequence[str]]) -> tuple[tuple[str, str], ...]:
    """Every stem with every ending, and the standard that the ending stands for."""
    return tuple(
        (stem + ending, standard) for standard, words in endings.items() for ending in words for stem in stems
    )


# --- the table ---------------------------------------------------------------------------------------

_VARIABLE = (("ONLINE_JUDGE", "true"),)
# Versions as judges put them behind a name, without a `.0`.
_GHC = [f"{major}{minor}" for major in (8, 9) for minor in ("", *(f".{n}" for n in range(1, 15)))]
_NODE = [f"{major}{minor}" for major in range(10, 31) for minor in ("", *(f".{n}" for n in range(1, 30)))]
_KOTLINS = [f"{major}{minor}" for major in (1, 2) for minor in ("", *(f".{n}" for n in range(1, 10)))]

# As on the contest system.
_C = Language(
    name="c",
    aliases=("c", "gnuc", "gcc", "ansic"),
    dialects=_spelled(
        ("c", "gnuc", "gnu", "gcc", "gnugccc"),
        {
            "gnu89": ("89", "90"),
            "gnu99": ("99", "9x"),
            "gnu11": ("11", "1x"),
            "gnu17": ("17", "18"),
            "gnu2x": ("23", "2x"),
        },
    ),
    suffixes=(".c",),
    command="gcc",
    remedy="apt-get install gcc libc6-dev",
    flags=("-DEVAL", "-std={standard}", "-O2", "-static", "-s"),
    online_flags=("-DONLINE_JUDGE",),
    build_template=("{tool}", "{flags}", "{extra}", "-o", "{output}", "{sources}", "-lm"),
    run_template=("{artifact}",),
    default_standard="gnu11",
    links_grader=True,
    control="int main(void) { return 0; }\n",
    syntax="braces",
    marks=("#include", "main(", "main ("),
    spare_tags=("c++", "cpp", "cc", "cxx"),
)

_MICROSOFTS = ("msc++", "visualc++", "microsoftvisualc++")
_CPP = Language(
    name="c++",
    aliases=(
        *("c++", "cpp", "cc", "cxx", "cplusplus", "gnuc++", "gnug++", "g++", "clang++"),
        *(stem + year for year in ("", "2010", "2013", "2015", "2019", "2022") for stem in _MICROSOFTS),
    ),
    dialects=(
        *_spelled(
            ("c++", "cpp", "cxx", "gnu++", "gnuc++", "gnug++", "g++", "clang++"),
            {
                "gnu++98": ("98",),
                "gnu++03": ("03",),
                "gnu++11": ("11", "0x"),
                "gnu++14": ("14", "1y"),
                "gnu++17": ("17", "1z"),
                "gnu++20": ("20", "2a"),
                "gnu++23": ("23", "2b"),
                "gnu++26": ("26", "2c"),
            },
        ),
        *_spelled(_MICROSOFTS, {"gnu++17": ("2017",)}),
    ),
    suffixes=(".cpp", ".cc", ".cxx", ".c++"),
    command="g++",
    remedy="apt-get install g++",
    flags=("-DEVAL", "-std={standard}", "-O2", "-static", "-s"),
    online_flags=("-DONLINE_JUDGE",),
    build_template=("{tool}", "{flags}", "{extra}", "-o", "{output}", "{sources}"),
    precompile_template=("{tool}", "{flags}", "-x", "c++-header", "-o", "{output}", "{sources}"),
    run_template=("{artifact}",),
    default_standard="gnu++20",
    links_grader=True,
    control="int main() {}\n",
    header="bits/stdc++.h",
    syntax="braces",
    marks=("#include", "main(", "main ("),
)

_PYPYS = ("pypy", "pypy3", "pypy332", "pypy364", *(f"pypy3.{minor}" for minor in range(5, 20)))

# The artifact is the source, byte for byte: the build only has the interpreter that will run it say whether
# it is Python, because the contest system calls a SyntaxError a compilation error.
# -I: neither the environment nor the folder that the program happens to lie in changes what `import` finds.
# Threads: programs that recurse deeply start one, because only a thread's stack can be made larger.
_PYTHON = Language(
    name="python",
    aliases=(
        *("python", "python3", "py", "py3", "cpython", "cpython3"),
        *(f"{stem}3.{minor}" for stem in ("python", "cpython") for minor in range(6, 20)),
    ),
    suffixes=(".py",),
    command="python3",
    remedy="apt-get install python3",
    helper="python/build.py",
    build_template=("{tool}", "-I", "-S", "./{helper}", "{output}", "{sources}"),  # no packages: it is sooner
    run_template=("{tool}", "-I", "{artifact}"),
    links_grader=True,  # the grader is what starts, and imports the submission
    online_environment=_VARIABLE,
    threads=4,
    syntax="python",
    spare_tags=_PYPYS,
)

_PYPY = msgspec.structs.replace(
    _PYTHON,
    name="pypy",
    aliases=_PYPYS,
    suffixes=(".pypy",),  # .py is Python's
    command="pypy3",
    remedy="apt-get install pypy3",
    environment=(("PYPY_GC_NURSERY", "1M"),),  # else it looks for the processor's cache, and complains
    address_space=False,  # it reserves gigabytes for a thread with a deeper stack
    more_tags=tuple(_PYTHON.tags),
    spare_tags=(),
)

# The artifact is a jar that knows its main class: graders/java/Build.java compiles and packs in one go.
# The heap starts small and grows to the memory limit; what the machine itself needs is counted like all else.
_JAVA = Language(
    name="java",
    aliases=(
        *("java", "openjdk", "java1.8"),
        *(f"{stem}{n}" for stem in ("java", "jdk", "openjdk") for n in range(6, 40)),
    ),
    suffixes=(".java",),
    command="java",
    remedy="apt-get install default-jdk-headless",
    flags=("-Xmx1g", "-Xss64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
    helper="java/Build.java",
    build_template=("{tool}", "{flags}", "{extra}", "./{helper}", "{output}", "{sources}"),
    heap=("-Xmx{megabytes}m",),
    online_arguments=("-DONLINE_JUDGE=true",),
    online_environment=_VARIABLE,
    run_template=(
        "{tool}",
        "-Deval=true",
        _ONLINE,
        "-Xms8m",
        "{heap}",
        "-XX:NewRatio=5",
        "-Xss64m",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        "-XX:-UseContainerSupport",
        "-jar",
        "{artifact}",
    ),
    control="public class Control { public static void main(String[] arguments) {} }\n",
    threads=64,
    proc=True,
    address_space=False,
    syntax="braces",
    marks=("class ", "interface ", "record ", "import java"),
)

# The crate's name is what its source says, else the file's. Its type is not for the source to say: a library
# cannot be started. Nor can what Go makes of another package than main.
_RUST = Language(
    name="rust",
    aliases=("rust", "rustc", "rs", *(f"rust1.{minor}" for minor in range(30, 130))),
    dialects=_spelled(("rust", "rs"), {edition: (edition,) for edition in ("2015", "2018", "2021", "2024")}),
    suffixes=(".rs",),
    command="rustc",
    remedy="apt-get install rustc",
    flags=(
        "--edition={standard}",
        "--crate-type=bin",
        "-Copt-level=3",
        "-Ctarget-feature=+crt-static",
        "-Cstrip=symbols",
        "--cap-lints=allow",
    ),
    build_template=("{tool}", "{flags}", "{extra}", "-o", "{output}", "{sources}"),
    run_template=("{artifact}",),
    default_standard="2021",
    finds_sources=True,
    control="fn main() {}\n",
    threads=4,
    syntax="braces",
    marks=("fn main",),
)

_GO = Language(
    name="go",
    aliases=("go", "golang", *(f"{stem}1.{minor}" for stem in ("go", "golang") for minor in range(10, 50))),
    suffixes=(".go",),
    command="go",
    tells=("version",),
    remedy="apt-get install golang-go",
    flags=("-buildmode=exe", "-ldflags=-s -w", "-buildvcs=false"),
    build_template=("{tool}", "build", "{flags}", "{extra}", "-o", "{output}", "{sources}"),
    run_template=("{artifact}",),
    control="package main\n\nfunc main() {}\n",
    refusals=(1, 2),  # 2 before version 1.20
    threads=64,
    address_space=False,
    syntax="braces",
    marks=("package main",),
)

_PASCAL = Language(
    name="pascal",
    aliases=("pascal", "pas", "freepascal", "fpc", "objectpascal", "freepascal3", "freepascal3.2", "fpc3.2"),
    dialects=_spelled(("delphi",), {"delphi": ("", "7", "10", "12")}),
    suffixes=(".pas", ".pp", ".dpr"),
    command="fpc",
    tells=("-iV",),
    remedy="apt-get install fpc",
    flags=("-dEVAL", "-M{standard}", "-O2", "-XSs", "-l-", "-vi-"),  # it writes nothing but complaints
    online_flags=("-dONLINE_JUDGE",),
    build_template=("{tool}", "{flags}", "{extra}", "-o./{output}", "{sources}"),
    run_template=("{artifact}",),
    default_standard="fpc",
    finds_sources=True,
    control="begin\nend.\n",
    syntax="pascal",
    marks=("begin", "Begin", "BEGIN"),
)

# Without a clock that interrupts (-V0): programs may have none. It would switch between threads of its own.
_HASKELL = Language(
    name="haskell",
    aliases=("haskell", "ghc", "hs", *(f"{stem}{n}" for stem in ("haskellghc", "ghc") for n in _GHC)),
    suffixes=(".hs",),
    command="ghc",
    remedy="apt-get install ghc",
    flags=("-O2", "-static", "-optl-static", "-optl-s", "-outputdir", "objects", "-with-rtsopts=-V0", "-v0"),
    build_template=("{tool}", "{flags}", "{extra}", "-o", "{output}", "{sources}"),
    run_template=("{artifact}",),
    control="main :: IO ()\nmain = return ()\n",
    # Templates, annotations, preprocessors and plugins. With CPP any of these words may be made of others.
    acts=r"TemplateHaskell|QuasiQuotes|\bANN\b|\bCPP\b|-cpp\b|-fth\b|-pgm|-fplugin|-frontend",
    threads=4,
    address_space=False,
    marks=("main =", "main=", "main ::"),
    begins=r"(?:\s|\{-(?s:.*?)-\}|--.*)*+"
    r"(?:import\s+(?:qualified\s+)?[A-Z][\w.]*\s*(?:\n|\(|(?:as|hiding|qualified)\b)"
    r"|module\s+[A-Z][\w.]*\s*(?:\(|where\b)|\w+\s*::|main\s*=)",
)

# The artifact is the source, byte for byte, as Python's is; several sources become one that has them all.
# Else it looks at folders and a configuration that boxes do not show.
_ALONE = ("--preserve-symlinks", "--preserve-symlinks-main", "--openssl-config=/dev/null")
_JAVASCRIPT = Language(
    name="javascript",
    aliases=(
        "javascript",
        "js",
        "node",
        "node.js",
        "nodejs",
        *(f"node.js{n}" for n in _NODE),
        *(f"nodejs{n}" for n in range(10, 31)),
    ),
    suffixes=(".js",),
    command="node",
    remedy="apt-get install nodejs",
    helper="javascript/build.js",
    build_template=("{tool}", *_ALONE, "./{helper}", "{output}", "{sources}"),
    heap=("--max-old-space-size={megabytes}",),
    run_template=("{tool}", *_ALONE, "--stack-size=65500", "{heap}", "{artifact}"),
    online_environment=_VARIABLE,
    threads=64,
    proc=True,  # for the programs: most of them read /dev/stdin, which leads there
    address_space=False,
    syntax="braces",
    by_lines=True,
    marks=("require(", "console.log", "process.std"),
)

# The compiler makes a folder of what does not end in .jar.
_KOTLIN = msgspec.structs.replace(
    _JAVA,
    name="kotlin",
    aliases=("kotlin", "kt", *(f"kotlin{n}" for n in _KOTLINS)),
    suffixes=(".kt",),
    command="kotlinc",
    remedy="apt-get install kotlin, or unpack a release of it from github.com/JetBrains/kotlin",
    runner="java",
    flags=("-include-runtime", "-nowarn"),
    helper="",
    build_template=("{tool}", "{flags}", "{extra}", "-d", "{output}", "{sources}"),
    artifact_name="submission.jar",
    control="fun main() {}\n",
    by_lines=True,
    marks=("fun main",),
)

_CSHARPS = (
    "mono",
    *(f"mono{n}" for n in ("5.18", "6.8")),
    *map(str, range(6, 15)),
    *("8,.netcore3.1", "10,.netsdk6", "13,.netsdk9"),
)
_CSHARP = Language(
    name="c#",
    aliases=(
        "c#",
        "csharp",
        "cs",
        "mcs",
        "mono",
        "monoc#",
        "msc#",
        ".netcorec#",
        *(f"c#{n}" for n in _CSHARPS),
    ),
    suffixes=(".cs",),
    command="mcs",
    remedy="apt-get install mono-mcs mono-runtime",
    runner="mono",
    flags=("-d:EVAL", "-optimize+", "-unsafe+", "-langversion:latest", "-r:System.Numerics.dll"),
    online_flags=("-d:ONLINE_JUDGE",),
    build_template=("{tool}", "{flags}", "{extra}", "-out:{output}", "{sources}"),
    run_template=("{tool}", "{artifact}"),
    # Threads stop by themselves for a collection. Usually a signal stops them, which the box refuses.
    environment=(("MONO_THREADS_SUSPEND", "coop"),),
    control="class Control { static void Main() {} }\n",
    threads=64,
    proc=True,
    address_space=False,
    syntax="braces",
    marks=("class ", "using System"),
)

LANGUAGES: tuple[Language, ...] = (
    *(_C, _CPP, _PYTHON, _PYPY, _JAVA, _RUST, _GO),
    *(_PASCAL, _HASKELL, _JAVASCRIPT, _KOTLIN, _CSHARP),
)


def find(name: str, *, where: str = "", row: int | None = None, field: str = "language") -> Language:
    """The language that people call `name`. A name such as C++17 fixes the standard of the one returned.

    Judges put the compiler's version and width behind it: `GNU C++20 (64)` is `gnuc++20`, `Java 17 64bit` and
    `Java 17.0.2` are `java17`, `Go 1.19.5` is `go1.19`, `GNU G++17 7.3.0` is `gnug++17`. Parentheses may tell
    more: the implementation in `Python (PyPy 3.10)`, the standard in `Rust 1.75.0 (2021)`.
    """
    outer, _, inner = name.lower().partition("(")
    found, inner = _called(outer), inner.partition(")")[0]
    if outer.strip() in ("python", "pypy") and re.match(r"\s*(?:pypy\s*)?2\b", inner):
        found = None
    if found is None:
        *others, last = (
            f"{language.name} (also {', '.join(language.aliases[1:4])})" for language in LANGUAGES
        )
        remedy = f"Known are {', '.join(others)} and {last}"
        raise InputError(f"unknown language {name!r}", where=where, row=row, field=field, remedy=remedy)
    told = _called(inner) or _called(found.name + inner)
    if told is not None and (
        found.name in told.more_tags or (told.name == found.name and told.standard and not found.standard)
    ):
        return told
    return found


_LONGEST_NAME = 100  # characters
_VERSION = r"v?\d+(?:\.\d+)*"
# The version of a compiler: behind its own name, or that of a language. `g++ 17` is the standard.
_COMPILERS = re.compile(
    rf"((?:gnu )?g\+\+|clang\+\+)(?:-{_VERSION}|\s+\d+\.[\d.]+)"
    rf"|(.*(?:[\dx]|g\+\+|clang\+\+|gcc))[\s-]+{_VERSION}"
)


@lru_cache(1024)
def _called(name: str) -> Language | None:
    """Return the language of a name in lower case; None where nobody calls one so."""
    name = name.strip()
    if len(name) > _LONGEST_NAME:
        return None
    compiler = _COMPILERS.fullmatch(name)
    tried = (
        (compiler[1],) if compiler and compiler[1] else (name, *(compiler.groups()[1:] if compiler else ()))
    )
    for each in tried:
        plain = re.sub(r"[\s_-]+", "", each)
        plain = re.sub(r"(?:32|64)bits?$", "", plain).removesuffix("diagnostics")
        plain = re.sub(r"(\d\.\d+)\.\d+$", r"\1", plain).removesuffix(".0")
        for language in LANGUAGES:
            if plain in language.aliases:
                return language
            for alias, standard in language.dialects:
                if plain == alias:
                    return msgspec.structs.replace(language, standard=standard)
    return None


def of_suffix(suffix: str) -> Language | None:
    """The language of source files that end in `suffix` (with its dot)."""
    return next((language for language in LANGUAGES if suffix.lower() in language.suffixes), None)


def remedy(command: str) -> str:
    """Return the command that installs a language's toolchain; empty for commands outside of the table."""
    own = (language.remedy for language in LANGUAGES if language.command == command)
    return next(own, next((language.remedy for language in LANGUAGES if language.runner == command), ""))


# --- packages of Python -------------------------------------------------------------------------------
# Those that programs often import and that do not come with Python, by the name in an import. A benchmark may
# promise any of these to programs; whatever else a program imports is the program's own affair.

# Which of them a machine has is what `doctor` tells.
MAIN_MODULES = ("numpy", "scipy", "sympy", "sortedcontainers", "networkx")

MODULES: Mapping[str, str] = MappingProxyType(
    {
        **{name: name for name in MAIN_MODULES},
        "PIL": "pillow",
        "atcoder": "ac-library-python",
        "bitarray": "bitarray",
        "cvxpy": "cvxpy",
        "gmpy2": "gmpy2",
        "matplotlib": "matplotlib",
        "more_itertools": "more-itertools",
        "mpmath": "mpmath",
        "numba": "numba",
        "ortools": "ortools",
        "pandas": "pandas",
        "pulp": "pulp",
        "pytest": "pytest",
        "regex": "regex",
        "requests": "requests",
        "shapely": "shapely",
        "sklearn": "scikit-learn",
        "tqdm": "tqdm",
        "torch": "torch",
        "yaml": "pyyaml",
        "z3": "z3-solver",
    }
)
"""Name in an import -> name on PyPI."""


def read_packages(text: str) -> tuple[str, ...]:
    """Return the packages that are promised to programs, of their names with commas between; `none`: none."""
    return known_modules(word for word in text.replace(",", " ").split() if word.lower() != "none")


def known_modules(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, each once. InputError for one that no interpreter is asked for."""
    found = tuple(dict.fromkeys(names))
    for name in found:
        if name not in MODULES:
            remedy = nearest(name, tuple(MODULES))
            raise InputError(f"no such package: {name!r}", field="choice.packages", remedy=remedy)
    return found
