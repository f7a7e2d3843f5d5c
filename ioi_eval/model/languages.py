"""The languages of submissions as a table: each language is a row.

Also the Python packages that a benchmark may promise to programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import suggest_names, suggest_similar
from ioi_eval.model.values import Limits, Value

# Arguments of build templates that are replaced by several arguments.
_LIST_ARGUMENTS = ("{flags}", "{extra}", "{sources}")
# Arguments of run templates that are replaced by `Language.heap` and by `Language.online_arguments`.
_HEAP, _ONLINE = "{heap}", "{online}"
_MEBIBYTE = 1 << 20
# Minimum heap in MiB; with less, the runtime cannot start and so cannot exceed the memory limit.
_MIN_HEAP_MIB = 16


class Language(Value, frozen=True, kw_only=True):
    """A language: its names, and how its programs are recognised, built and run.

    Templates are argument vectors. `{tool}` is the compiler or interpreter, `{output}` the file that a build
    writes, `{artifact}` the file that is run, `{standard}` the dialect. The arguments in `_LIST_ARGUMENTS`
    are replaced by lists.
    """

    name: str
    # Other names of the language, in the form that `find_language` compares: lower case without blanks,
    # hyphens and underscores.
    aliases: tuple[str, ...]
    dialects: tuple[tuple[str, str], ...] = ()  # pairs of an alias and the standard that it means
    suffixes: tuple[str, ...]  # suffixes of source files; submissions get the first suffix
    command: str  # command by which an engine identifies the toolchain
    remedy: str  # command that installs the toolchain
    version_arguments: tuple[str, ...] = (
        "--version",
    )  # arguments with which the compiler prints its version
    runner: str = ""  # command of another toolchain that runs the programs; empty if they need none
    flags: tuple[str, ...] = ()
    build_template: tuple[str, ...]
    # True if the compiler gets only the main source and finds the other sources in the same folder itself.
    finds_sources: bool = False
    # Command that precompiles a header; empty if headers cannot be precompiled.
    precompile_template: tuple[str, ...] = ()
    run_template: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()  # environment variables of the language's programs
    # Compiler flags that define ONLINE_JUDGE, for problems whose original judge defines it.
    online_flags: tuple[str, ...] = ()  # compiler flags
    online_arguments: tuple[str, ...] = ()  # arguments of the runtime that define ONLINE_JUDGE
    online_environment: tuple[tuple[str, str], ...] = ()
    # Standard that the used alias means, set by `find_language`; it overrides the problem's standard.
    standard: str = ""
    default_standard: str = ""
    artifact_name: str = "submission"
    helper: str = ""  # name of a file below graders/ that a build needs next to the sources
    control: str = ""  # source of a program that every working compiler accepts
    build_code_pattern: str = (
        ""  # regular expression that matches sources that may run code during their build
    )
    # True if a submission can be built together with a grader's source, or imported by it.
    links_grader: bool = False
    refusals: tuple[int, ...] = (1,)  # exit codes with which the compiler reports errors in the source
    # Maximum number of threads of a program; some programs start a thread to get a deeper stack.
    threads: int = 1
    heap: tuple[str, ...] = ()  # arguments that pass the memory limit to the runtime, in MiB as `{megabytes}`
    # Factor for the problem's time limit. The contest system gives all languages the same limits.
    time_factor: float = 1.0
    time_extra: float = 0.0  # seconds
    memory_extra: int = 0  # bytes
    proc: bool = False  # True if the runtime needs /proc
    address_space: bool = True  # True if the address space can be limited as an additional safeguard
    # Header of the whole standard library. It is precompiled, and added to programs in which a model forgot
    # it.
    header: str = ""
    syntax: str = ""  # syntax by which code is distinguished from prose: braces, python or pascal
    ends_statements_by_line: bool = False  # True if statements need neither semicolons nor braces
    typical_strings: tuple[str, ...] = ()  # every complete program contains at least one of these strings
    start_pattern: str = ""  # regular expression for the start of a program, for languages without `syntax`
    more_tags: tuple[str, ...] = ()  # tags of fenced blocks for the language, in addition to its names
    # Tags of fenced blocks that count only if no block has another tag of the language.
    fallback_tags: tuple[str, ...] = ()

    @property
    def tools(self) -> tuple[str, ...]:
        """Return the commands of the toolchains that its programs need, the compiler's first."""
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

    def build_command(
        self,
        sources: Sequence[str],
        output: str,
        standard: str = "",
        *,
        tool: str = "",
        extra: Sequence[str] = (),
    ) -> tuple[str, ...]:
        """Return the command that builds `sources` into `output`.

        Args:
            sources: names of the sources, a grader's first.
            output: name of the program.
            standard: the dialect, or "" for the language's default.
            tool: path of the compiler, or "" for its command.
            extra: arguments that follow the flags.
        """
        return self._fill_template(self.build_template, sources, output, standard, tool, extra)

    def precompile_command(
        self, header: str, output: str, standard: str = "", *, tool: str = ""
    ) -> tuple[str, ...]:
        """Return the command that precompiles a header for builds with the same flags.

        Args:
            header: name of the header.
            output: name of the precompiled header.
            standard: the dialect, or "" for the language's default.
            tool: path of the compiler, or "" for its command.
        """
        return self._fill_template(self.precompile_template, (header,), output, standard, tool, ())

    def run_command(
        self, tool: str = "", memory: int | None = None, *, defines_online_judge: bool = False
    ) -> tuple[str, ...]:
        """Return the command that runs a program.

        `tool`: path of the interpreter in the engine's toolchain. `memory`: the problem's limit, in bytes.
        `defines_online_judge`: the problem is from a judge that defines ONLINE_JUDGE.
        """
        replacements = {"tool": tool or self.runner or self.command, "artifact": self.artifact_name}
        argument_lists = {
            _HEAP: () if memory is None else self.heap,
            _ONLINE: self.online_arguments if defines_online_judge else (),
        }
        megabytes = max((memory or 0) // _MEBIBYTE, _MIN_HEAP_MIB)
        return tuple(
            argument.format(**replacements, megabytes=megabytes)
            for item in self.run_template
            for argument in argument_lists.get(item, (item,))
        )

    def adjust_limits(self, limits: Limits) -> Limits:
        """Return the limits of a test for programs in this language."""
        return msgspec.structs.replace(
            limits,
            cpu_time=self._extend_time_limit(limits.cpu_time),
            wall_time=self._extend_time_limit(limits.wall_time),
            memory=None if limits.memory is None else limits.memory + self.memory_extra,
        )

    def _extend_time_limit(self, seconds: float | None) -> float | None:
        """Return a time limit, multiplied by `time_factor` and increased by `time_extra`."""
        return None if seconds is None else seconds * self.time_factor + self.time_extra

    def _fill_template(
        self,
        template: tuple[str, ...],
        sources: Sequence[str],
        output: str,
        standard: str,
        tool: str,
        extra: Sequence[str],
    ) -> tuple[str, ...]:
        """Return a template's arguments with all placeholders replaced."""
        replacements = {
            "tool": tool or self.command,
            "output": output,
            "helper": self.helper,
            "standard": self.standard or standard or self.default_standard,
        }
        argument_lists = dict(zip(_LIST_ARGUMENTS, (self.flags, extra, sources), strict=True))
        # Braces in a file name must not be replaced, so only the template's own arguments and the flags are
        # templates.
        return tuple(
            argument.format(**replacements) if item not in argument_lists or item == "{flags}" else argument
            for item in template
            for argument in argument_lists.get(item, (item,))
        )


def _pair_aliases_with_standards(
    language_names: Sequence[str], years_by_standard: Mapping[str, Sequence[str]]
) -> tuple[tuple[str, str], ...]:
    """Return pairs of an alias and its standard: `c++17` and `gnu++17`.

    An alias is a language name followed by a year.
    """
    return tuple(
        (name + year, standard)
        for standard, years in years_by_standard.items()
        for year in years
        for name in language_names
    )


# --- the table ---------------------------------------------------------------------------------------

_VARIABLE = (("ONLINE_JUDGE", "true"),)
# Versions of GHC without the final `.0` that judges append to the language's name.
_GHC = [f"{major}{minor}" for major in (8, 9) for minor in ("", *(f".{n}" for n in range(1, 15)))]
_NODE = [f"{major}{minor}" for major in range(10, 31) for minor in ("", *(f".{n}" for n in range(1, 30)))]
_KOTLINS = [f"{major}{minor}" for major in (1, 2) for minor in ("", *(f".{n}" for n in range(1, 10)))]

# The flags of the C compiler are the same as in the Contest Management System (CMS).
_C = Language(
    name="c",
    aliases=("c", "gnuc", "gcc", "ansic"),
    dialects=_pair_aliases_with_standards(
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
    typical_strings=("#include", "main(", "main ("),
    fallback_tags=("c++", "cpp", "cc", "cxx"),
)

_MICROSOFTS = ("msc++", "visualc++", "microsoftvisualc++")
_CPP = Language(
    name="c++",
    aliases=(
        *("c++", "cpp", "cc", "cxx", "cplusplus", "gnuc++", "gnug++", "g++", "clang++"),
        *(stem + year for year in ("", "2010", "2013", "2015", "2019", "2022") for stem in _MICROSOFTS),
    ),
    dialects=(
        *_pair_aliases_with_standards(
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
        *_pair_aliases_with_standards(_MICROSOFTS, {"gnu++17": ("2017",)}),
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
    typical_strings=("#include", "main(", "main ("),
)

_PYPYS = ("pypy", "pypy3", "pypy332", "pypy364", *(f"pypy3.{minor}" for minor in range(5, 20)))

# The program is the source, byte for byte. The build only lets the interpreter check that it is valid Python,
# because the contest system reports a SyntaxError as a compile error. With -I, neither the environment nor
# the program's folder affects imports. Several threads are allowed because a program with deep recursion
# starts a thread: only a thread's stack can be enlarged.
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
    # -S: the interpreter starts faster without packages.
    build_template=("{tool}", "-I", "-S", "./{helper}", "{output}", "{sources}"),
    run_template=("{tool}", "-I", "{artifact}"),
    links_grader=True,  # the grader is the main program and imports the submission
    online_environment=_VARIABLE,
    threads=4,
    syntax="python",
    fallback_tags=_PYPYS,
)

_PYPY = msgspec.structs.replace(
    _PYTHON,
    name="pypy",
    aliases=_PYPYS,
    suffixes=(".pypy",),  # .py is the suffix of Python's sources
    command="pypy3",
    remedy="apt-get install pypy3",
    # Without this variable, PyPy looks for the size of the processor's cache and prints a warning.
    environment=(("PYPY_GC_NURSERY", "1M"),),
    address_space=False,  # PyPy reserves gigabytes for a thread with a deeper stack
    more_tags=tuple(_PYTHON.tags),
    fallback_tags=(),
)

# The program is a jar that names its main class. graders/java/Build.java compiles it and creates the jar.
# The heap starts small and grows to the memory limit; the memory of the runtime itself counts as well.
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
    typical_strings=("class ", "interface ", "record ", "import java"),
)

# The crate's name is set by the source, or else by the file name. The source cannot set the type, because a
# library cannot be started. In the same way, the build of a Go package other than main fails.
_RUST = Language(
    name="rust",
    aliases=("rust", "rustc", "rs", *(f"rust1.{minor}" for minor in range(30, 130))),
    dialects=_pair_aliases_with_standards(
        ("rust", "rs"), {edition: (edition,) for edition in ("2015", "2018", "2021", "2024")}
    ),
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
    typical_strings=("fn main",),
)

_GO = Language(
    name="go",
    aliases=("go", "golang", *(f"{stem}1.{minor}" for stem in ("go", "golang") for minor in range(10, 50))),
    suffixes=(".go",),
    command="go",
    version_arguments=("version",),
    remedy="apt-get install golang-go",
    flags=("-buildmode=exe", "-ldflags=-s -w", "-buildvcs=false"),
    build_template=("{tool}", "build", "{flags}", "{extra}", "-o", "{output}", "{sources}"),
    run_template=("{artifact}",),
    control="package main\n\nfunc main() {}\n",
    refusals=(1, 2),  # 2 before version 1.20
    threads=64,
    address_space=False,
    syntax="braces",
    typical_strings=("package main",),
)

_PASCAL = Language(
    name="pascal",
    aliases=("pascal", "pas", "freepascal", "fpc", "objectpascal", "freepascal3", "freepascal3.2", "fpc3.2"),
    dialects=_pair_aliases_with_standards(("delphi",), {"delphi": ("", "7", "10", "12")}),
    suffixes=(".pas", ".pp", ".dpr"),
    command="fpc",
    version_arguments=("-iV",),
    remedy="apt-get install fpc",
    # These flags let the compiler print only errors.
    flags=("-dEVAL", "-M{standard}", "-O2", "-XSs", "-l-", "-vi-"),
    online_flags=("-dONLINE_JUDGE",),
    build_template=("{tool}", "{flags}", "{extra}", "-o./{output}", "{sources}"),
    run_template=("{artifact}",),
    default_standard="fpc",
    finds_sources=True,
    control="begin\nend.\n",
    syntax="pascal",
    typical_strings=("begin", "Begin", "BEGIN"),
)

# -V0 switches off the timer of the runtime, because programs may not use timers. The timer only switches
# between threads.
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
    # Template Haskell, annotations, preprocessors and plugins. CPP is included because its macros may create
    # the names of the other features.
    build_code_pattern=r"TemplateHaskell|QuasiQuotes|\bANN\b|\bCPP\b|-cpp\b|-fth\b|-pgm|-fplugin|-frontend",
    threads=4,
    address_space=False,
    typical_strings=("main =", "main=", "main ::"),
    start_pattern=r"(?:\s|\{-(?s:.*?)-\}|--.*)*+"
    r"(?:import\s+(?:qualified\s+)?[A-Z][\w.]*\s*(?:\n|\(|(?:as|hiding|qualified)\b)"
    r"|module\s+[A-Z][\w.]*\s*(?:\(|where\b)|\w+\s*::|main\s*=)",
)

# Options with which node does not search for folders and a configuration that the sandbox does not contain.
_ISOLATION_OPTIONS = ("--preserve-symlinks", "--preserve-symlinks-main", "--openssl-config=/dev/null")
# The program is a copy of the source; several sources are combined into a single file.
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
    build_template=("{tool}", *_ISOLATION_OPTIONS, "./{helper}", "{output}", "{sources}"),
    heap=("--max-old-space-size={megabytes}",),
    run_template=("{tool}", *_ISOLATION_OPTIONS, "--stack-size=65500", "{heap}", "{artifact}"),
    online_environment=_VARIABLE,
    threads=64,
    proc=True,  # programs usually read /dev/stdin, which needs /proc
    address_space=False,
    syntax="braces",
    ends_statements_by_line=True,
    typical_strings=("require(", "console.log", "process.std"),
)

# If the output's suffix is not .jar, Kotlin's compiler creates a folder.
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
    ends_statements_by_line=True,
    typical_strings=("fun main",),
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
    # By default the runtime stops threads with a signal for a garbage collection, which the sandbox denies.
    environment=(("MONO_THREADS_SUSPEND", "coop"),),
    control="class Control { static void Main() {} }\n",
    threads=64,
    proc=True,
    address_space=False,
    syntax="braces",
    typical_strings=("class ", "using System"),
)

LANGUAGES: tuple[Language, ...] = (
    *(_C, _CPP, _PYTHON, _PYPY, _JAVA, _RUST, _GO),
    *(_PASCAL, _HASKELL, _JAVASCRIPT, _KOTLIN, _CSHARP),
)


def find_language(name: str, *, where: str = "", row: int | None = None, field: str = "language") -> Language:
    """Return the language with this name or alias. A name such as C++17 sets the standard as well.

    Versions and word sizes of compilers are removed: `GNU C++20 (64)` is `gnuc++20`, `Java 17 64bit` and
    `Java 17.0.2` are `java17`, `Go 1.19.5` is `go1.19`, `GNU G++17 7.3.0` is `gnug++17`. Parentheses may add
    the implementation, as in `Python (PyPy 3.10)`, or the standard, as in `Rust 1.75.0 (2021)`.

    Args:
        name: the name.
        where: file with the name, for the error.
        row: line with the name, for the error.
        field: field with the name, for the error.

    Raises:
        InputError: if the name is unknown.
    """
    outer_name, _, inner_name = name.lower().partition("(")
    language, inner_name = match_language_name(outer_name), inner_name.partition(")")[0]
    if outer_name.strip() in ("python", "pypy") and re.match(r"\s*(?:pypy\s*)?2\b", inner_name):
        language = None
    if language is None:
        *descriptions, last_description = (
            f"{entry.name} (also {', '.join(entry.aliases[1:4])})" for entry in LANGUAGES
        )
        names = [known_name for entry in LANGUAGES for known_name in (entry.name, *entry.aliases)]
        suggestion = suggest_similar(name.lower(), names)
        remedy = f"{suggestion}Supported are {', '.join(descriptions)} and {last_description}"
        raise InputError(f"unknown language {name!r}", where=where, row=row, field=field, remedy=remedy)
    inner_language = match_language_name(inner_name) or match_language_name(language.name + inner_name)
    if inner_language is not None and (
        language.name in inner_language.more_tags
        or (inner_language.name == language.name and inner_language.standard and not language.standard)
    ):
        return inner_language
    return language


_MAX_NAME_LENGTH = 100  # maximum characters of a language's name
_VERSION = r"v?\d+(?:\.\d+)*"
# Pattern for the version of a compiler after its name or the language's name. In `g++ 17`, the number is the
# standard.
_COMPILERS = re.compile(
    rf"((?:gnu )?g\+\+|clang\+\+)(?:-{_VERSION}|\s+\d+\.[\d.]+)"
    rf"|(.*(?:[\dx]|g\+\+|clang\+\+|gcc))[\s-]+{_VERSION}"
)


@lru_cache(1024)
def match_language_name(name: str) -> Language | None:
    """Return the language with this lower-case name, or None. `find_language` also reads parentheses."""
    name = name.strip()
    if len(name) > _MAX_NAME_LENGTH:
        return None
    compiler_match = _COMPILERS.fullmatch(name)
    candidate_names = (
        (compiler_match[1],)
        if compiler_match and compiler_match[1]
        else (name, *(compiler_match.groups()[1:] if compiler_match else ()))
    )
    for candidate_name in candidate_names:
        normalized = re.sub(r"[\s_-]+", "", candidate_name)
        normalized = re.sub(r"(?:32|64)bits?$", "", normalized).removesuffix("diagnostics")
        normalized = re.sub(r"(\d\.\d+)\.\d+$", r"\1", normalized).removesuffix(".0")
        for language in LANGUAGES:
            if normalized in language.aliases:
                return language
            for alias, standard in language.dialects:
                if normalized == alias:
                    return msgspec.structs.replace(language, standard=standard)
    return None


def find_language_by_suffix(suffix: str) -> Language | None:
    """Return the language of source files with this suffix, which starts with a dot, or None."""
    return next((language for language in LANGUAGES if suffix.lower() in language.suffixes), None)


def find_install_command(command: str) -> str:
    """Return the command that installs a toolchain, or "" for a command that is not in the table."""
    compiler_remedies = (language.remedy for language in LANGUAGES if language.command == command)
    return next(
        compiler_remedies, next((language.remedy for language in LANGUAGES if language.runner == command), "")
    )


# --- Python packages -----------------------------------------------------------------------------------
# Packages outside of Python's standard library that programs often import, by the name in an import. A
# benchmark may promise any of them. Other packages are not checked.

# The packages about which `ioi-eval doctor` reports.
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
    """Return the packages in a list of names separated by commas. `none` means no packages."""
    return require_supported_packages(
        name for name in text.replace(",", " ").split() if name.lower() != "none"
    )


def require_supported_packages(package_names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without duplicates. Raises InputError for a name that is not in `MODULES`."""
    distinct_names = tuple(dict.fromkeys(package_names))
    for name in distinct_names:
        if name not in MODULES:
            remedy = suggest_names(name, tuple(MODULES))
            raise InputError(f"unknown Python package {name!r}", field="choice.packages", remedy=remedy)
    return distinct_names
