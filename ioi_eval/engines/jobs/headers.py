"""Precompiled headers for the leading includes of a source. A build produces the same bytes without them.

The leading includes are the beginning of a source: `#include <bits/stdc++.h>`, or lines that are blank or
include a header of the standard. The precompiled header is built from these includes alone, with the build's
flags. Why the program is the same:

- Nothing precedes the leading includes: no macro, pragma, comment, byte order mark or joined line. So g++ is
  in the same state when it has read the header as when it has read the lines. It refuses a header that was
  built with other flags or macros, or by another compiler.
- For `bits/stdc++.h`, g++ reads the precompiled header instead of the included file; nothing is read twice.
  Other headers are passed by `-include`, and then the lines are read again. This does not change g++'s state:
  these files have include guards, or define the same again (`assert.h`). A test checks this for each file.
- The header is not visible in the search path, the source's name or lines, `__COUNTER__` or
  `__INCLUDE_LEVEL__`. The source cannot guess the random name of the header's folder. The option is
  `-isystem` instead of `-I`, because the assembler would search folders of `-I`.
- The numbers by which g++ identifies source locations differ. A source could detect this only after g++ has
  used 1.5 billion numbers and forgets columns. So headers are used only for sources that cannot use so many:
  short sources that include only headers of the standard and files of the problem.
- If g++ fails or prints anything, the source is compiled again without the header. Only the second result
  counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from ioi_eval.engines.contract import HEADER, WRAPPER, BuildSpec
from ioi_eval.model.job import PRECOMPILED
from ioi_eval.model.languages import Language
from ioi_eval.model.options import BuildLimits
from ioi_eval.model.values import Blob, NamedBlob

BITS_STDCPP = ("bits/stdc++.h",)
"""The most frequent includes. Their header is built for the first source, unless a package bundles it."""
MAX_HEADERS = 16  # maximum number of headers that a run or a worker builds; each header has 30 to 120 MB
_MAX_SOURCE_BYTES = 64 << 10
_MAX_INCLUDES = 64  # of a source

# Names of the standard headers that may be precompiled. Including them again has no effect, unlike
# `bits/stdc++.h`, `cstdarg` and `complex.h`.
_NAMES = """
    algorithm any array atomic barrier bit bitset cassert ccomplex cctype cerrno cfenv cfloat charconv chrono
    cinttypes ciso646 climits clocale cmath codecvt compare complex concepts condition_variable coroutine
    csetjmp csignal cstdalign cstdbool cstddef cstdint cstdio cstdlib cstring ctgmath ctime cuchar cwchar
    cwctype deque exception execution expected filesystem format forward_list fstream functional future
    initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
    memory_resource mutex new numbers numeric optional ostream print queue random ranges ratio regex
    scoped_allocator semaphore set shared_mutex source_location span spanstream sstream stack stacktrace
    stdexcept stdfloat stop_token streambuf string string_view syncstream system_error thread tuple
    type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
    assert.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h setjmp.h signal.h
    stdalign.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h tgmath.h time.h uchar.h wchar.h
    wctype.h
"""
NAMES = frozenset(_NAMES.split())
_OTHER_KNOWN_NAMES = NAMES.union(  # names of headers that sources often include after the first lines
    ("bits/stdc++.h", "complex.h", "cstdarg", "immintrin.h", "sys/time.h", "unistd.h", "ext/rope"),
    (f"ext/pb_ds/{name}.hpp" for name in ("assoc_container", "hash_policy", "priority_queue", "tree_policy")),
)
_HEAD_LINE = re.compile(rb"[ \t]*(?:#[ \t]*include[ \t]*<([\w./+]+)>[ \t]*)?(?:\r?\n|\Z)")
_JOIN = re.compile(rb"\\[ \t\f\v\0]*\r?\n")
_READS_FILES = re.compile(rb"include|\b(?:import|embed|__has_embed)\b")
# Start of a preprocessor directive; a multi-line comment may precede its number sign.
_DIRECTIVE = re.compile(rb"#|%:|\?\?=|\*/")
_INCLUDE = re.compile(rb'[ \t]*#[ \t]*include[ \t]*(?:<([\w./+]+)>|"([\w.+-]+)")[ \t]*(?://.*)?\r?')
_COMMENT = re.compile(rb"[ \t]*//(?!.*\*/).*")


def find_leading_includes(spec: BuildSpec) -> tuple[str, ...]:
    """Return the headers that a build's main source includes first, or `()` if none may be precompiled."""
    compiled_files = {file.name for file in spec.sources} & {*spec.command}
    if not spec.precompile or compiled_files - {spec.main_source.name, spec.shared}:
        return ()
    content = spec.main_source.content
    if content.size > _MAX_SOURCE_BYTES:
        return ()
    source = content.read()
    leading_includes, source_name = _parse_leading_includes(source), PurePosixPath(spec.main_source.name).name
    if not leading_includes or not _includes_only_known_files(
        source, source_name, requires_single_include=leading_includes == BITS_STDCPP
    ):
        return ()
    # If another source includes the same header, the header adds no text there.
    other_sources = (file.content.read() for file in spec.sources if file.name not in compiled_files)
    return (
        ()
        if leading_includes == BITS_STDCPP
        and any(BITS_STDCPP[0].encode() in other_source for other_source in other_sources)
        else leading_includes
    )


def _parse_leading_includes(source: bytes) -> tuple[str, ...]:
    names, position = list[str](), 0
    while position < len(source) and (line_match := _HEAD_LINE.match(source, position)) is not None:
        position = line_match.end()
        if line_match[1] is None:
            continue
        name = line_match[1].decode()
        if not names and (name,) == BITS_STDCPP:
            return BITS_STDCPP
        if name not in NAMES:
            break
        names.append(name)
    return tuple(names)


def _includes_only_known_files(source: bytes, source_name: str, *, requires_single_include: bool) -> bool:
    """Return True if a source reads only headers of the standard and files of the problem, and not too many.

    `requires_single_include`: the source must include `bits/stdc++.h` exactly once.
    """
    included_names = list[str]()
    for line in _JOIN.sub(b"", source).split(b"\n"):
        if not (_READS_FILES.search(line) and _DIRECTIVE.search(line)) or _COMMENT.fullmatch(line):
            continue
        include_match = _INCLUDE.fullmatch(line)
        if (
            include_match is None
            or include_match[2] == source_name.encode()
            or (include_match[1] and include_match[1].decode() not in _OTHER_KNOWN_NAMES)
        ):
            return False
        included_names.append((include_match[1] or b"").decode())
    return len(included_names) <= _MAX_INCLUDES and (
        not requires_single_include or included_names.count(BITS_STDCPP[0]) == 1
    )


def make_header_file_name(leading_includes: Sequence[str]) -> str:
    """Return the file name of the precompiled header for the includes."""
    return f"{BITS_STDCPP[0] if tuple(leading_includes) == BITS_STDCPP else 'ioi-eval-head.hpp'}{PRECOMPILED}"


def make_header_options(leading_includes: Sequence[str], folder: str) -> str:
    """Return the options with which g++ reads the precompiled header for the includes from a folder."""
    option_pattern = (
        "-isystem {}"
        if tuple(leading_includes) == BITS_STDCPP
        else f"-include {{}}/{make_header_file_name(leading_includes)[: -len(PRECOMPILED)]}"
    )
    return option_pattern.format(folder)


def make_empty_build_spec(language: Language, standard: str = "", command: str = "") -> BuildSpec:
    """Return a build of an empty source file with the flags of submissions, for its precompiled headers."""
    empty_source = NamedBlob(name="empty.cpp", content=Blob.of(""))
    return BuildSpec(
        kind=HEADER,
        output=HEADER,
        command=(command or language.command,),
        sources=(empty_source,),
        control=empty_source,
        limits=BuildLimits(),
        precompile=language.precompile_command(WRAPPER, HEADER, standard, tool=command),
    )


def make_precompiled_header_spec(spec: BuildSpec, leading_includes: Sequence[str] = BITS_STDCPP) -> BuildSpec:
    """Return the build spec of the precompiled header that contains some headers, with the flags of `spec`.

    `leading_includes`: names of the headers, by default `bits/stdc++.h`.
    """
    include_lines = "".join(f"#include <{name}>\n" for name in leading_includes)
    return BuildSpec(
        kind=HEADER,
        output=HEADER,
        command=spec.precompile,
        sources=(NamedBlob(name=WRAPPER, content=Blob.of(include_lines)),),
        control=spec.control,
        limits=spec.limits.for_trusted_sources,
    )


def min_builds_before_header(leading_includes: Sequence[str]) -> int:
    """Return the number of builds with these leading includes after which their header is precompiled."""
    return 1 if tuple(leading_includes) == BITS_STDCPP else 2


# Maximum number of keys that are counted. Without a maximum, submissions could fill the memory with keys.
_MAX_COUNTED = 10_000


class PrebuiltFileUseCounter:
    """Counts how often each prebuilt file could have been used, to decide which files are worth building."""

    def __init__(self, max_files: int = _MAX_COUNTED) -> None:
        """`max_files`: maximum number of prebuilt files that are worth building."""
        self._max_files = max_files
        self._counts: Counter[str] = Counter()
        self._due_keys = set[str]()

    def is_due_after_use(self, key: str, min_builds_before_prebuilding: int) -> bool:
        """Count a build that could use the prebuilt file with this key.

        Return True if the prebuilt file is worth building: if `min_builds_before_prebuilding` builds could
        have used it.
        """
        if len(self._counts) >= _MAX_COUNTED:
            self._counts.clear()
        self._counts[key] += 1
        if self._counts[key] >= min_builds_before_prebuilding and len(self._due_keys) < self._max_files:
            self._due_keys.add(key)
        return key in self._due_keys

    def reset(self, key: str) -> None:
        """Set the count of a key to zero."""
        self._counts.pop(key, None)
        self._due_keys.discard(key)
