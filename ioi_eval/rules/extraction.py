"""The code in what a model wrote: unless told otherwise the last block of the language, after the reasoning.

Every step is linear in the length of the generation. Then repairs: additions that other harnesses make, by
option, named in the rows that they changed.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Protocol, TypeVar

from ioi_eval.model.options import Said
from ioi_eval.model.values import Problem, TaskType, Value

# --- reasoning ---------------------------------------------------------------------------------------

# An opening mark stands at the start of a line; elsewhere it is talked about. A closing one may follow
# anything. Models of different makers have different marks: tags, those of Magistral, Kimi, Command A and
# Sky-T1, and the channels of gpt-oss, of which words remain where special tokens are left out.
_THOUGHT = "(?:seed:|longcat_)?(?:think|thinking|thought|reasoning)"
_REASONING = re.compile(
    rf"""
      (?P<opening> ^[ \t]*
        (?: (?i:<{_THOUGHT}>) | \[THINK] | ◁think▷ | <\|START_THINKING\|> | <\|begin_of_thought\|>
          | (?:<\|start\|>assistant)?<\|channel\|>analysis<\|message\|> ))
    | (?i:</{_THOUGHT}>) | \[/THINK] | ◁/think▷ | <\|END_THINKING\|> | <\|end_of_thought\|>
    | \[BEGIN[ ]FINAL[ ]RESPONSE] | <\|channel\|>final<\|message\|> | assistantfinal
    """,
    re.M | re.X,
)


# Roles of messages that hold code, in lower case: Gemma and Gemini have `model`, frameworks the others.
ANSWERS = ("assistant", "model", "ai", "bot", "chatbot", "gpt")
THOUGHTS = frozenset({"reasoning", "redacted_thinking", "thinking", "thought"})  # types of parts


def text_of(parts: Iterable[Any]) -> str:
    """Return the text of an answer's parts; what a model thought is none of it.

    Servers cut texts anywhere. Only what stood apart, with a call of a tool between, is in lines of its own.
    """
    said, apart = list[str](), False
    for part in parts:
        spoken = isinstance(part, Mapping) and not part.get("thought") and part.get("type") not in THOUGHTS
        text = part.get("text") if spoken else part if isinstance(part, str) else None
        text = text.get("value") if isinstance(text, Mapping) else text
        if text is None:
            apart = True
        elif text:
            said += ["\n"] * (apart and bool(said)) + [str(text)]
            apart = False
    return "".join(said)


def _without_reasoning(text: str) -> str:
    """Take all reasoning, finished or cut off, out of a generation."""
    kept: list[str] = []
    opened, position = False, 0
    for tag in _REASONING.finditer(text):
        if tag["opening"]:
            if not opened:
                kept.append(text[position : tag.start()])
            opened = True
        else:
            if not opened:  # the opening tag was in the prompt: all so far was reasoning
                kept.clear()
            opened, position = False, tag.end()
    return "".join(kept if opened else [*kept, text[position:]])


def _lines(generation: str) -> str:
    """The text with the line ends of Unix, and without a mark of its encoding."""
    text = generation.removeprefix("\ufeff").replace("\r\n", "\n")
    return text if "\n" in text else text.replace("\r", "\n")


# --- fences ------------------------------------------------------------------------------------------

_RUN = re.compile(r"`{3,}|~{3,}")
# The word behind a fence; of `language-cpp`, `GNU C++17` and `src/main.cpp` the part that tells the language.
_TAG = re.compile(
    r"[\s{.]*+(?:lang(?:uage)?-|gnu\s++|(?:[\w.+#-]*+/)*+(?:[\w+#-]*+\.)++(?=[a-z]))?([\w+#.-]*+)", re.I
)
# What may follow the fence that ends a block: </answer>, marks that close what it stands in, <|im_end|> and
# whatever a model writes behind that.
_BEHIND = re.compile(
    r"[ \t]*+(?:<\|[^<>|\n]++\|>|</s>)[^\n]*+\n?|(?:[\s\u200b\u2060\ufeff]++|<[^<>\n]++>|[]*}).])*+"
)
_NOTHING = re.compile(r"[\s\u200b\u2060\ufeff]*+")  # blanks, also those without a width
_MARGIN = re.compile(r"(?:[ \t]*+(?:>|[-*+][ \t]|[0-9]{1,9}[.)][ \t]))++[ \t]*+")  # of quotes and lists
_QUOTED = re.compile(r"(?:[ \t]*+>[^\n]*+(?:\n|\Z))*+")
_DOCUMENTS = ("markdown", "md")  # blocks whose own text has fences
# A fence behind the mark of a remark, as in " * ```", belongs to what the program says of itself.
_REMARK = re.compile(r"(?:[ \t]*+>)*+[ \t]*+(?://[/!]?|/?\*++|\#++|--)[ \t]*+")
_DOCUMENTING = re.compile(
    r"""(?P<mark>\"{3}|'{3}|/\*)|(?://|\#)[^\n]*+|"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?"""
)
_DOCUMENTED = {'"""': '"""', "'''": "'''", "/*": "*/"}  # what ends a docstring or a comment


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with fence characters: its bounds and those of its first and last run of them."""

    start: int
    end: int
    first: tuple[int, int]
    last: tuple[int, int]
    runs: int


@dataclass(frozen=True, slots=True)
class _Block:
    """A fenced block, as places in the text so that a generation of many blocks is not copied."""

    tag: str
    fence: str
    indent: int | None  # None: it begins behind something else, such as the mark of a list or of a quote
    column: int  # of its fence
    start: int
    end: int = -1
    closed: bool = False

    def code(self, text: str) -> str:
        body = text[self.start : self.end]
        indent = self.indent
        if indent is None:
            if _QUOTED.fullmatch(body):
                body = re.sub(r"^[ \t]*> ?", "", body, flags=re.M)
            indent = min(map(len, re.findall(r"^([ \t]*+)\S", body, flags=re.M)), default=0)
        if indent:
            body = re.sub(rf"^[ \t]{{1,{indent}}}", "", body, flags=re.M)
        return body if body.endswith("\n") or not body else body + "\n"


def _fence_lines(text: str, begin: int, stop: int) -> Iterator[_Line]:
    line: _Line | None = None
    for run in _RUN.finditer(text, begin, stop):
        if line is not None and run.start() <= line.end:
            line = replace(line, last=run.span(), runs=line.runs + 1)
            continue
        if line is not None:
            yield line
        start = text.rfind("\n", line.end if line else begin, run.start()) + 1
        end = text.find("\n", run.end(), stop)
        line = _Line(max(start, begin), end if end >= 0 else stop, run.span(), run.span(), 1)
    if line is not None:
        yield line


def _blank(text: str, start: int, end: int) -> bool:
    return _NOTHING.fullmatch(text, start, end) is not None


def _opened(text: str, line: _Line) -> _Block | None:
    """The block that a line outside of any block opens."""
    fence = text[line.first[0] : line.first[1]]
    if _blank(text, line.start, line.first[0]) and (line.runs == 1 or fence[0] == "~"):
        return _block(text, line, line.first, indent=line.first[0] - line.start)
    if line.runs == 1 and _MARGIN.fullmatch(text, line.start, line.first[0]):
        return _block(text, line, line.first, indent=None)
    # Models also write "the code: ```cpp". An even number of runs is code within the line; more than a word
    # after the run is a sentence about fences.
    info = text[line.last[1] : line.end]
    if line.runs % 2 and text[line.last[0]] == "`" and re.fullmatch(r"\s*[\w{.\"'\[<(]\S*\s*", info):
        return _block(text, line, line.last, indent=None)
    return None


def _block(text: str, line: _Line, run: tuple[int, int], *, indent: int | None) -> _Block:
    tag = _TAG.match(text, run[1], line.end)
    assert tag is not None, "every part of the pattern may be empty"
    fence, column = text[run[0] : run[1]], run[0] - line.start
    return _Block(tag.group(1).lower(), fence, indent, column, min(line.end + 1, len(text)))


def _closed(text: str, line: _Line, block: _Block) -> _Block | None:
    """`block` with its end, if this line of it closes it."""
    fence = text[line.first[0] : line.first[1]]
    ended = _BEHIND.fullmatch(text, line.first[1], line.end)
    if line.runs > 1 or not fence.startswith(block.fence) or not ended:
        return None
    if _blank(text, line.start, line.first[0]):
        return replace(block, end=max(line.start, block.start), closed=True)
    # "}```": nothing of a program's own ends in three backticks, but for remarks.
    remark = _REMARK.fullmatch(text, line.start, line.first[0])
    return replace(block, end=line.first[0], closed=True) if fence == block.fence and not remark else None


def _reopened(text: str, line: _Line, block: _Block) -> _Block | None:
    """A new block that starts where `block`, which was never closed, should have ended."""
    fence = text[line.first[0] : line.first[1]]
    if line.runs > 1 or not fence.startswith(block.fence) or not _blank(text, line.start, line.first[0]):
        return None
    opened = _block(text, line, line.first, indent=line.first[0] - line.start)
    return opened if opened.tag else None


def _blocks(text: str, begin: int, stop: int, *, nested: bool = False) -> Iterator[_Block]:
    """All blocks in their order; those inside a block of markdown in place of it."""
    for block in _flat_blocks(text, begin, stop):
        if block.tag in _DOCUMENTS and not nested:
            yield from _blocks(text, block.start, block.end, nested=True)
        else:
            yield block


def _behind_documentation(text: str, known: int, place: int, stop: int, ends: dict[str, int]) -> int:
    """Return `place`, or the end of the docstring or of the comment that it is in.

    `known`: a place before it in neither. `ends`: where the next end of each kind is, as far as it was looked
    for; `stop` where there is none.
    """
    while known < place:
        found = _DOCUMENTING.search(text, known, place)
        if found is None:
            return place
        known, mark = found.end(), found["mark"]
        if mark is None:
            continue
        if ends.get(mark, -1) < known:
            end = text.find(_DOCUMENTED[mark], known, stop)
            ends[mark] = end if end >= 0 else stop
        if ends[mark] < stop:
            known = ends[mark] + len(mark)
    return known


def _flat_blocks(text: str, begin: int, stop: int) -> Iterator[_Block]:
    block: _Block | None = None
    ends: dict[str, int] = {}
    known = begin  # of the block's text, where no docstring is open
    for line in _fence_lines(text, begin, stop):
        if block is None:
            block = _opened(text, line)
            known = line.end
            continue
        if line.first[0] - line.start > block.column:
            known = _behind_documentation(text, known, line.start, stop, ends)
            if known > line.start:
                continue
        if closed := _closed(text, line, block):
            yield closed
            block = None
        elif opened := _reopened(text, line, block):
            yield replace(block, end=line.start)
            block, known = opened, line.end
    if block is not None:
        yield replace(block, end=stop)


# --- what looks like code ----------------------------------------------------------------------------

_LONGEST_PARSED = 1 << 18  # characters: a syntax tree takes about 500 bytes for each

_LEXEMES = r"""
      (?P<directive> ^[ \t]*+\#[ \t]*+(?:include|define|undef|pragma|if|el|endif|error|line)
                     (?:[^\\\n]|\\.)*+ )
    | (?P<comment> //(?:[^\\\n]|\\.)*+ | /\*(?:.*?\*/|.*) )
    | (?P<literal> R"(?P<end>[^\s()\\]{0,16})\((?:.*?\)(?P=end)"|.*) | "(?:[^"\\\n]|\\.)*+"? | \d[\w.']*+
                 | (?<=[&<])'[a-z_]\w*+(?!') | '(?:[^'\\\n]|\\.)*+'? )
    """
_LEXEME = re.compile(_LEXEMES, re.X | re.M | re.S)
_TICKED = re.compile(rf"{_LEXEMES} | (?P<ticked> `(?:[^`\\]|\\.)*+`? )", re.X | re.M | re.S)
_DIRECTIVE = "\x01"
_STANDINS = {"directive": _DIRECTIVE, "comment": " ", "literal": "0", "ticked": "0"}
_STATEMENT = re.compile(r"([^;}\x01]*+)([;}\x01]|\Z)")
_DECLARING = (
    "alignas|auto|bool|char|class|const|constexpr|double|enum|explicit|extends|extern|float|fn|friend|fun|func|"
    "impl|implements|inline|int|long|mutable|namespace|operator|register|short|signed|static|struct|template|"
    "typedef|typename|union|unsigned|"
    "using|virtual|void|volatile"
)
# The end of a sentence, a colon that introduces what follows, marks of markdown and LaTeX (but those of
# attributes and annotations), or four words in a row.
_PROSE = re.compile(
    r"[A-Za-z][.!?](?=\s)|[A-Za-z]:[ \t]*+$|`|\#(?!!?\[)|@(?![A-Z])|\\[a-z]{3}"
    rf"|(?:\b(?!(?:{_DECLARING})\b)[A-Za-z]++\s++){{4}}",
    re.M,
)


# A line of a language that needs no semicolons; the beginning of a program in Pascal, and what prints there.
_LINE = re.compile(r"\s*+(?:(?:import|package)\s|[^\n]*?[=(){}\[\];,]|\Z)")
_PASCAL = re.compile(
    r"(?>\s+|\{[^}]*+\}|\(\*.*?\*\)|//[^\n]*+)*+"
    r"(?:program\s+\w+\s*[;(]|uses\s+\w+\s*[,;]|(?:const|type|var|label)\s+\w+\s*[,:=;]"
    r"|begin\s+\w+\s*[:(;\[]|(?:procedure|function)\s+\w+\s*[(:;])",
    re.I | re.S,
)
_WRITING = re.compile(r"\bwrite(?:ln)?\s*+[(;]", re.I)


def _skeleton(text: str, lexeme: re.Pattern[str] = _LEXEME) -> str:
    """Code in braces without comments, and with literals and directives reduced to one character each."""
    return lexeme.sub(lambda found: _STANDINS[found.lastgroup or ""], text)


def _outside_braces(skeleton: str) -> str | None:
    """The text at depth 0 with `{}` for every block; None where braces do not match or there are none."""
    pieces: list[str] = []
    depth = position = 0
    for brace in re.finditer(r"[{}]", skeleton):
        depth += 1 if brace.group() == "{" else -1
        if depth < 0:
            return None
        if brace.group() == "{" and depth == 1:
            pieces.append(skeleton[position : brace.start()] + "{}")
        position = brace.end()
    return "".join([*pieces, skeleton[position:]]) if pieces and depth == 0 else None


def _braces_only(text: str) -> bool:
    """Return True for nothing but declarations: every statement outside of braces reads like one."""
    outside = _outside_braces(_skeleton(text))
    if outside is None:
        return False
    # Directives stand between statements, and nothing follows the last one.
    statements = (found.groups() for found in _STATEMENT.finditer(outside))
    return all(
        not _PROSE.search(statement) if end in (";", "}") else not statement.strip()
        for statement, end in statements
    )


def _lines_only(text: str) -> bool:
    """Return True for nothing but lines of a language without semicolons, some of which may hold braces."""
    if "```" in text:
        return False
    skeleton = _skeleton(re.sub(r"\A\s*+#![^\n]*+", "", text), _TICKED)
    outside = _outside_braces(skeleton) if "{" in skeleton or "}" in skeleton else skeleton
    lines = outside.split("\n") if outside is not None else ["prose"]
    return skeleton.count("(") == skeleton.count(")") and all(
        _LINE.match(line) and not _PROSE.search(line + "\n") for line in lines
    )


def parse(text: str) -> ast.Module | None:
    if len(text) > _LONGEST_PARSED:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the parser warns of doubtful escapes, on the terminal
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deep
            return None


class Notation(Protocol):
    """The facts about a language that extraction and repairs need."""

    @property
    def tags(self) -> Collection[str]: ...
    @property
    def spare_tags(self) -> Collection[str]: ...
    @property
    def syntax(self) -> str: ...
    @property
    def by_lines(self) -> bool: ...
    @property
    def marks(self) -> tuple[str, ...]: ...
    @property
    def begins(self) -> str: ...
    @property
    def header(self) -> str: ...


_COMMENTS = {
    "python": re.compile(r"(?:\s++|\#[^\n]*+)*+"),
    "braces": re.compile(r"(?:\s++|//(?:[^\\\n]|\\.)*+|/\*(?:.*?\*/|.*))*+", re.S),
}


def _only_comments(code: str, language: Notation) -> bool:
    """No program, in whatever language. Where the syntax is not known: False."""
    comments = _COMMENTS.get(language.syntax)
    return comments is not None and comments.fullmatch(code) is not None


_GOES_ON = re.compile(r"[-=+*/,.&|<>?:]\s*+\Z")


def _is_complete(code: str, language: Notation) -> bool:
    """Not cut off in the middle, as far as one can see."""
    if language.syntax == "python":
        return parse(code) is not None
    if language.syntax == "pascal":
        return _ends_as_pascal(code)
    skeleton = _skeleton(code)
    if language.by_lines and "{" not in skeleton:
        whole = skeleton.count("(") == skeleton.count(")") and _GOES_ON.search(skeleton) is None
        return whole and _has_mark(skeleton, language)
    return _outside_braces(skeleton) is not None


def _ends_as_pascal(text: str) -> bool:
    return text.rstrip().lower().endswith("end.")


def _is_program(text: str, language: Notation) -> bool:
    """Return True for nothing but code of the language."""
    if language.syntax == "python":
        return _is_python(text)
    if language.syntax == "pascal":
        printing = _WRITING.search(text) is not None
        return printing and _ends_as_pascal(text) and _PASCAL.match(text) is not None
    # An object of JSON may hold a program.
    if language.syntax != "braces" or text.lstrip().startswith("{") or not _has_mark(text, language):
        return False
    return _braces_only(text) or (language.by_lines and _lines_only(text))


def _does_something(statement: ast.stmt) -> bool:
    """Return False for what is no program alone: a value, a call of nothing known, `Output: 5`, `n = 5`."""
    match statement:
        case ast.AnnAssign():  # without a value it is a label and what is labelled
            return statement.value is not None
        case ast.Assign():
            return any(
                isinstance(part, ast.Call | ast.Lambda | ast.Name) for part in ast.walk(statement.value)
            )
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):  # `O(n)`
            return hasattr(builtins, name)
        case ast.Expr():  # `[print(x) for x in range(n)]`
            return isinstance(statement.value, ast.Call) or any(map(_prints, ast.walk(statement.value)))
        case _:
            return not isinstance(statement, ast.Return | ast.Pass)


def _prints(part: ast.AST) -> bool:
    return isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "print"


def _is_python(text: str) -> bool:
    """Return True for a whole program in Python."""
    tree = parse(text)
    return tree is not None and any(map(_does_something, tree.body))


def _is_usage(text: str) -> bool:
    """Return True for Python that reads, imports and defines nothing: it shows a program's use or output."""
    tree = parse(text)
    return tree is not None and not any(_defines(part) or _reads(part) for part in ast.walk(tree))


def _has_effect(text: str) -> bool:
    """Return True for Python that prints or defines something; pseudo-code such as `dp[i] = j` does not."""
    tree = parse(text)
    return tree is not None and any(_defines(part) or _prints(part) for part in ast.walk(tree))


def _defines(part: ast.AST) -> bool:
    return isinstance(part, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)


def _reads(part: ast.AST) -> bool:
    return isinstance(part, ast.Name) and part.id in ("input", "open")


def _may_be_code(text: str, language: Notation) -> bool:
    """Return True if an untagged block may be a program: output and pseudo-code are fenced as well."""
    if language.syntax == "python":
        return _is_python(text)
    # Python has `main(` and `class `, too. A script in JavaScript may be Python by its syntax.
    if language.syntax == "braces" and not language.by_lines and _is_python(text):
        return False
    return _has_mark(text, language) or (language.syntax == "braces" and ";" in text and _braces_only(text))


def _has_mark(text: str, language: Notation) -> bool:
    return any(mark in text for mark in language.marks)


# --- extraction --------------------------------------------------------------------------------------

_ANSWER_END = re.compile(r"</(answer|code|solution|program)>")
_LONGEST_TAG = 20  # characters of a fence's tag in a reason
_VAGUE_TAGS = ("", "c", "code", "plain", "plaintext", "text", "txt")


class Extraction(StrEnum):
    """The part of a generation that is the program. All but `last` serve comparisons with other harnesses."""

    LAST = "last"  # the last block of the language, after the reasoning
    FIRST = "first"  # the first one
    WHOLE = "whole"  # all that was written, as it is
    LIVECODEBENCH = "livecodebench"  # what that benchmark's runner takes


def extract(generation: str, language: Notation, how: Extraction = Extraction.LAST) -> str | None:
    """The program in a generation, or None where there is none."""
    match how:
        case Extraction.WHOLE:
            return generation
        case Extraction.LIVECODEBENCH:
            # The lines between the last two that have three backticks anywhere. Two in a row: none.
            lines = generation.split("\n")
            fences = [number for number, line in enumerate(lines) if "```" in line][-2:]
            return "\n".join(lines[fences[0] + 1 : fences[1]]) if len(fences) == 2 else ""
        case _:
            return _block_of(generation, language, first=how is Extraction.FIRST)


_Known = TypeVar("_Known", bound=Notation)


def language_of_reply(
    generation: str, languages: Iterable[_Known], usual: _Known, how: Extraction = Extraction.LAST
) -> _Known | None:
    """Return the language that a reply's program shows; None if the program is in the usual language.

    A fence's tag tells the language, unless the tag stands for several languages. A reply without a tag is in
    Python if its program parses as Python. A tagged block wins over an untagged one.
    """
    if how is Extraction.WHOLE:
        return None
    first = how is Extraction.FIRST
    text = _without_reasoning(_lines(generation))
    every = list(_blocks(text, 0, len(text)))
    blocks = [block for block in every if not _blank(text, block.start, block.end)]
    tags = [block.tag for block in blocks[:: 1 if first else -1] if block.tag not in _VAGUE_TAGS]
    names = tuple(languages)
    found = next((language for tag in tags for language in names if tag in language.tags), None)
    if any(block.tag in usual.tags for block in blocks):
        return None
    if found is None:
        return _untagged_python(generation, names, usual, how, tagged=bool(tags))
    if _begins_as_code(text, blocks, usual) and _is_program(text, usual):
        return None
    if _is_program(_before(text, every, whole=False), usual):
        return None
    named = (block.code(text) for block in blocks if block.tag and block.tag in _VAGUE_TAGS)
    return None if any(_may_be_code(code, usual) for code in named) else found


def _untagged_python(
    generation: str, languages: Collection[_Known], usual: _Known, how: Extraction, *, tagged: bool
) -> _Known | None:
    """Return Python if an untagged program parses as Python and none is in the usual language; else None.

    `tagged`: other blocks have tags. What only prints beside them is more likely their output.
    """
    python = next((language for language in languages if language.syntax == "python"), None)
    if python is None or usual.syntax == "python":
        return None
    # LiveCodeBench's part of a reply is the same text in all languages.
    if how is not Extraction.LIVECODEBENCH and extract(generation, usual, how) is not None:
        return None
    code = extract(generation, python, how)
    if not code or not (_is_python(code) and _has_effect(code)) or (tagged and _is_usage(code)):
        return None
    # A script in JavaScript or Kotlin may be Python by its syntax.
    others = (language for language in languages if language.by_lines)
    return None if any(_has_mark(code, language) for language in others) else python


def why_no_program(generation: str | None) -> str:
    """Return in a few words why a reply holds no program."""
    if not (generation or "").strip():
        return "the reply is empty"
    text = _without_reasoning(_lines(generation or ""))
    if not text.strip():
        return "the reply is cut off in its reasoning"
    blocks = [block for block in _blocks(text, 0, len(text)) if not _blank(text, block.start, block.end)]
    if not blocks:
        return "the reply has no fenced block"
    tags = [block.tag for block in blocks if block.tag not in _VAGUE_TAGS]
    if tags:
        return f"the reply's last tagged block is in another language ({tags[-1][:_LONGEST_TAG]})"
    return "no fenced block of the reply is a program in a known language"


_EXTRACTED = "extract:"


def named_extraction(how: Extraction) -> tuple[str, ...]:
    """An unusual extraction as rows name it, among their repairs."""
    return () if how is Extraction.LAST else (f"{_EXTRACTED}{how}",)


def extraction_of(repairs: Iterable[str]) -> Extraction:
    """Return the extraction that a row's repairs name."""
    found = (name.removeprefix(_EXTRACTED) for name in repairs if name.startswith(_EXTRACTED))
    return Extraction(next(found, Extraction.LAST))


def _block_of(generation: str, language: Notation, *, first: bool) -> str | None:
    """The whole text counts, if it is nothing but code: fences in its comments and strings are none.

    So does what an answer's tags hold, where there is no block, and a program that ends at the first fence,
    because the prompt began its block. Line ends become those of Unix.
    """
    text = _without_reasoning(_lines(generation))
    blocks, tags = list(_blocks(text, 0, len(text))), language.tags
    for whole in (text,) if blocks else dict.fromkeys((text, _answered(text))):
        if _begins_as_code(whole, blocks, language) and _is_program(whole, language):
            return whole.strip("\n") + "\n"
    if not blocks:
        text = _answered(text)
    if not blocks and language.begins and re.match(language.begins, text) and _has_mark(text, language):
        return text.strip("\n") + "\n"
    tagged = [block for block in blocks if not _blank(text, block.start, block.end)]
    own = [block for block in tagged if block.tag in tags]
    own = own or [block for block in tagged if block.tag in language.spare_tags]
    head, others = _before(text, blocks, whole=not own), [block.code(text) for block in own or tagged]
    if _is_program(head, language) and not any(_outweighs(other, head, language) for other in others):
        return head.lstrip("\n")
    if own:
        if not first:  # models also fence a remark, such as "# as above"
            while len(own) > 1 and _only_comments(own[-1].code(text), language):
                own.pop()
        code = own[0 if first else -1].code(text)
        if first or own[-1].closed or _is_complete(code, language):
            return code
        # One that was cut off in the middle gives way to the last that was not.
        return next((block.code(text) for block in reversed(own) if block.closed), code)
    vague = (block.code(text) for block in blocks[:: 1 if first else -1] if block.tag in _VAGUE_TAGS)
    programs = (code for code in vague if _may_be_code(code, language))
    if first or language.syntax != "python":
        return next(programs, None)
    # The last program; an example of its use behind it is none.
    found = list(programs)
    return next((code for code in found if not _is_usage(code)), next(iter(found), None))


def _before(text: str, blocks: list[_Block], *, whole: bool) -> str:
    """Return what stands before a first fence without a tag, which ends a block that the prompt began.

    `whole`: also if that fence begins a block that has an end.
    """
    if not blocks or blocks[0].tag or blocks[0].indent is None or (blocks[0].closed and not whole):
        return ""
    return text[: text.rfind("\n", 0, blocks[0].start - 1) + 1]


def _outweighs(later: str, program: str, language: Notation) -> bool:
    """Return True for a later version of a program, False for an example of its use."""
    return 2 * len(later) >= len(program) and _is_program(later, language)


def _answered(text: str) -> str:
    """Return what the last tags of an answer hold; the text where it has none."""
    end = next(reversed([*_ANSWER_END.finditer(text)]), None)
    start = -1 if end is None else text.rfind(f"<{end[1]}>", 0, end.start())
    return text if end is None or start < 0 else text[start + len(end[1]) + 2 : end.start()]


def _begins_as_code(text: str, blocks: list[_Block], language: Notation) -> bool:
    """Return False for replies with blocks that say something first; a look at all would take longer."""
    head = text[: blocks[0].start] if blocks else text
    if language.syntax == "braces":
        return not blocks or "//" in head or "/*" in head or _has_mark(head, language)
    if language.syntax == "pascal":
        return not blocks
    return not head.lstrip().startswith("~~~")  # which is Python, too


# --- repairs ------------------------------------------------------------------------------------------

# As LiveCodeBench's harness has it. Names of the language come last, because modules have some like them;
# and modules win over what is called like them (datetime, copy, bisect).
_MODULES = (
    *("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random"),
    *("statistics", "itertools", "functools", "operator", "io", "sys", "json"),
)
PYTHON_IMPORTS = "".join(
    (
        *(f"from {name} import *\n" for name in (*_MODULES, "builtins", "typing")),
        f"import {', '.join(_MODULES)}\nsys.setrecursionlimit(500_000)\n",
    )
)
_INCLUDE = re.compile(r'^[ \t]*+#[ \t]*+include[ \t]*+["<]([^">\n]*+)[">]', re.M)


class Repairs(Value):
    """The additions to make to code that lacks them. All off: the code is judged as it was written."""

    add_includes: Annotated[bool, Said(help="Repair: add #include <bits/stdc++.h>.")] = False
    add_header: Annotated[
        bool,  # graders/<id>.h
        Said(help="Repair: add the problem's own header."),
    ] = False
    add_namespace: Annotated[bool, Said(help="Repair: add using namespace std;")] = False
    add_imports: Annotated[bool, Said(help="Repair: add what benchmarks import for Python programs.")] = False


def repair(code: str, problem: Problem, language: Notation, options: Repairs) -> tuple[str, tuple[str, ...]]:
    """The repaired code and the names of the options that changed it, in the order of the lines added."""
    if language.syntax == "python":
        # A function that is called finds these names already.
        called = problem.task_type is TaskType.FUNCTION
        if not options.add_imports or called or PYTHON_IMPORTS in code:
            return code, ()
        return behind_futures(code, PYTHON_IMPORTS), ("add_imports",)
    if not language.header:
        return code, ()
    lines = [(name, line) for name, line in _missing(code, problem, language) if getattr(options, name)]
    return "".join(line + "\n" for _, line in lines) + code, tuple(name for name, _ in lines)


def _missing(code: str, problem: Problem, language: Notation) -> Iterator[tuple[str, str]]:
    included = {name.rpartition("/")[2] for name in _INCLUDE.findall(code)}
    names = (file.name.rpartition("/")[2] for file in problem.grader_files)
    own = next((name for name in names if name.lower() == f"{problem.id}.h".lower()), None)
    if language.header.rpartition("/")[2] not in included:
        yield "add_includes", f"#include <{language.header}>"
    if own and own not in included:
        yield "add_header", f'#include "{own}"'
    # Code that names std:: itself meant to; the whole namespace could make its own names ambiguous.
    if not re.search(r"\busing\s++namespace\s++std\b|\bstd\s*+::", code):
        yield "add_namespace", "using namespace std;"


def behind_futures(code: str, lines: str) -> str:
    """Python with lines in front; `from __future__` must stay first, a docstring need not."""
    tree = parse(code) if "__future__" in code else None
    futures = (
        part.end_lineno or 0
        for part in (tree.body if tree else ())
        if isinstance(part, ast.ImportFrom) and part.module == "__future__"
    )
    own, ahead = code.split("\n"), max(futures, default=0)
    return "".join(f"{line}\n" for line in own[:ahead]) + lines + "\n".join(own[ahead:])
