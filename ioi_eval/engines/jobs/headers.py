"""Headers that are compiled ahead of the sources that begin with them. A build gives the same bytes without.

The compiler checks flags and macros itself and falls back silently. What it does not check is a `#pragma`
that comes before the include. So a source is only taken where nothing but comments does, and only beside
graders without such pragmas.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import msgspec

from ioi_eval.engines.contract import HEADER, WRAPPER, Recipe
from ioi_eval.model.languages import Language
from ioi_eval.model.options import BuildLimits
from ioi_eval.model.values import Blob, NamedBlob, Value
from ioi_eval.rules.cpp_text import adds_to_std, leading_includes, starts_with
from ioi_eval.store.resources import graders

FOLDER = "ioi-eval-headers"  # in a build's folder; searched before the compiler's own
INCLUDED = f"{FOLDER}/included.hpp"
INCLUDES_PAY_AFTER = 1  # builds
MOST_INCLUDED = 16  # such headers that are made for one run: each has 40 MB or more

_ONCE = re.compile(rb"#[ \t]*pragma[ \t]+once\b")
_PRAGMA = re.compile(rb"#[ \t]*pragma\b|\b_Pragma\b|\?\?=|%:")


def empty_recipe(language: Language, standard: str = "", tool: str = "") -> Recipe:
    """Return a build of nothing, with the flags of submissions: its headers are theirs."""
    empty = NamedBlob(name="empty.cpp", content=Blob.of(""))
    return Recipe(
        kind=HEADER,
        output=HEADER,
        command=(tool or language.command,),
        sources=(empty,),
        control=empty,
        limits=BuildLimits(),
        header=language.header,
        precompile=language.precompile(WRAPPER, HEADER, standard, tool=tool),
    )


def serves(recipe: Recipe) -> bool:
    """Return True if a precompiled header makes this build faster and cannot change its outcome."""
    if not recipe.header or not recipe.precompile:
        return False
    beginning = recipe.main.content.read()[: 64 << 10].decode(errors="replace")
    if not starts_with(recipe.header, beginning):
        return False
    others = (file.content.read() for file in recipe.sources[:-1])
    return not any(_PRAGMA.search(_ONCE.sub(b"", text)) for text in others)


def own_includes(recipe: Recipe) -> tuple[str, ...]:
    """Return the standard headers that the one source which is compiled begins with.

    The source includes them again, which says nothing new. None where it names our files.
    """
    units = {file.name for file in recipe.sources} & {*recipe.command}
    if not recipe.precompile or units - {recipe.main.name, recipe.shared}:
        return ()
    text = recipe.main.content.read().decode(errors="replace")
    return () if FOLDER in text else leading_includes(text)


def header_name(recipe: Recipe) -> str:
    return f"{FOLDER}/{recipe.header}.gch"


def header_recipe(recipe: Recipe, names: Sequence[str] = ()) -> Recipe:
    """The headers of these names, or else the language's big one, precompiled for a recipe's flags.

    The compiled file includes the real ones: where the compiler keeps them need not be known.
    """
    text = "".join(f"#include <{name}>\n" for name in names or (recipe.header,))
    wrapper = NamedBlob(name=WRAPPER, content=Blob.of(text))
    return Recipe(
        kind=HEADER,
        output=HEADER,
        command=recipe.precompile,
        sources=(wrapper,),
        control=recipe.control,
        limits=recipe.limits.trusted,
    )


_MOST_COUNTED = 10_000  # keys, which submissions decide


class Demand:
    """Counts the builds that each header, or each grader's object, would have served.

    No more than `most` of them pay.
    """

    def __init__(self, pays_after: int | None, most: int = _MOST_COUNTED) -> None:
        self._pays_after, self._most = pays_after, most
        self._builds: Counter[str] = Counter()
        self._paying = set[str]()

    def pays(self, key: str) -> bool:
        """To be asked once per build: whether what lies under this key is worth making now."""
        if len(self._builds) >= _MOST_COUNTED:
            self._builds.clear()
        self._builds[key] += 1
        enough = self._pays_after is not None and self._builds[key] > self._pays_after
        if enough and len(self._paying) < self._most:
            self._paying.add(key)
        return key in self._paying


# --- the early header --------------------------------------------------------------------------------
# The big header once more, with those templates performed that g++ would put off to the end of every
# program. graders/headers/early.cpp says which, and how each build proves that it is none the worse for them.


EARLY = "ioi-eval-early"  # in a build's folder
CHECKER = f"{EARLY}/early.so"
REACHED = 33  # the exit code of g++ for a program that such a header might change
EARLY_PAYS_AFTER, PROOF_PAYS_AFTER = 6, 50  # times as many builds as the usual header pays after


@cache
def _source(name: str) -> NamedBlob:
    path = graders() / "headers" / name
    return NamedBlob(name=path.name, content=Blob.of_file(path))


def _corpus() -> list[NamedBlob]:
    return [_source(str(path)) for path in sorted((graders() / "headers" / "corpus").glob("*.cpp"))]


def serves_early(recipe: Recipe) -> bool:
    """Return True if what the sources declare cannot change what was made early."""
    return not any(adds_to_std(file.content.read().decode(errors="replace")) for file in recipe.sources)


def early_name(recipe: Recipe) -> str:
    return f"{EARLY}/{recipe.header}.gch"


def checking(header: str) -> tuple[str, ...]:
    """Return the options that check whether a program reaches what was made early for the header."""
    return (f"-fplugin=./{CHECKER}", f"-fplugin-arg-early-header={header}")


def brought_early(place: str, standard: str, header: str) -> tuple[str, ...]:
    """Return the options that build a program by the early header of a server's package.

    `place`: the folder of its headers. A compiler that did not make the header stops at once.
    """
    folder = f"{place}/{EARLY}/{standard}"
    checked = f"-fplugin-arg-early-header={folder}/{header}.gch"
    return ("-I", folder, f"-fplugin={place}/{CHECKER}", checked, "-Werror=invalid-pch", "-Wfatal-errors")


def checker_recipe(recipe: Recipe) -> Recipe:
    """The plugin that makes an early header, and checks the programs that are compiled with it."""
    output, source = "early.so", _source("early.cpp")
    flags = ("-std=gnu++17", "-O1", "-fPIC", "-shared", "-s")
    return Recipe(
        kind="plugin",
        output=output,
        command=(recipe.tool, *flags, "-o", output, source.name),
        sources=(source,),
        control=recipe.control,
        limits=recipe.limits.trusted,
    )


def early_recipe(recipe: Recipe, checker: Blob) -> Recipe:
    """The big header for a recipe's flags, with most of its templates performed."""
    plain, usual = header_recipe(recipe), _source("usual.txt")
    tool, *words = plain.command
    asked = (f"-fplugin-arg-early-usual={usual.name}", f"-fplugin-arg-early-made={plain.output}")
    text = plain.main.content.read() + b"#pragma ioi_eval early\n"
    return msgspec.structs.replace(
        plain,
        kind="early header",
        command=(tool, "-fplugin=./early.so", *asked, *words),
        sources=(
            NamedBlob(name="early.so", content=checker),
            usual,
            NamedBlob(name=WRAPPER, content=Blob.of(text)),
        ),
    )


class Trial(NamedTuple):
    """A program of the corpus, to be built by the usual header and by the early one."""

    usual: Recipe
    early: Recipe

    @property
    def name(self) -> str:
        return self.usual.main.name


def trials(recipe: Recipe) -> Iterable[Trial]:
    """Yield the programs that show for a recipe's flags whether an early header changes any."""
    tool, *words = recipe.precompile
    flags = words[: words.index("-x")]
    for program in _corpus():
        usual = Recipe(
            kind="trial",
            output="program",
            command=(tool, *flags, "-o", "program", program.name),
            sources=(program,),
            control=recipe.control,
            limits=recipe.limits.trusted,
            header=recipe.header,
        )
        options = ("-I", EARLY, *checking(early_name(recipe)))
        early = msgspec.structs.replace(
            usual, header="", command=(tool, *options, *usual.command[1:]), refusals=(1, REACHED)
        )
        yield Trial(usual, early)


class Proof:
    """The outcomes of trials."""

    def __init__(self) -> None:
        self.tried, self.equal, self.others = 0, 0, list[str]()

    def take(self, trial: Trial, usual: Blob | None, early: Blob | None) -> None:
        """Note the two programs. None: nothing came of it, or the compiler had words."""
        self.tried += 1
        if early is None:
            return  # such a program is built by the usual header
        if usual is not None and usual.sha256 == early.sha256:
            self.equal += 1
        else:
            self.others.append(trial.name)

    @property
    def holds(self) -> bool:
        """No program is another one, and most are built by the early header."""
        return not self.others and 2 * self.equal > self.tried

    def __str__(self) -> str:
        if self.others:
            return f"other programs: {', '.join(self.others)}"
        return f"{self.equal} of {self.tried} programs are built with it and the same"


class ShippedProof(Value):
    """A proof that comes with the package."""

    compiler: str  # its identity
    standard: str
    words: str


class ShippedProofs(Value):
    """The proofs that come with the package, by the key of the early header."""

    sources: str  # the digest of all that they were made with
    proofs: Mapping[str, ShippedProof]


@cache
def shipped_proofs() -> Mapping[str, ShippedProof]:
    """Return the proofs that come with the package, by the key of the early header."""
    return msgspec.json.decode(_source("proven.json").content.read(), type=ShippedProofs).proofs


def sources_digest() -> str:
    """Hash what a proof is made with: the checker, the usual names and the corpus."""
    digest = hashlib.sha256()
    for source in (_source("early.cpp"), _source("usual.txt"), *_corpus()):
        digest.update(f"{source.name} {source.content.sha256}\n".encode())
    return digest.hexdigest()


def proof_key(early: str) -> str:
    """Return the key under which the proof of the early header with this key is remembered."""
    return hashlib.sha256(early.encode() + b" proven").hexdigest()
