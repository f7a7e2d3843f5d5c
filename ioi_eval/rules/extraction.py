"""Find the program in a model's generation, and repair it on request.

By default the program is the last fenced block in the submission's language that follows the model's
reasoning. Every step is linear in the length of the generation.

A repair adds lines that other evaluation harnesses add. Each repair is an option, and rows name the repairs
that changed their code.
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

from ioi_eval.model.options import CliOption
from ioi_eval.model.values import Problem, TaskType, Value

# --- reasoning ---------------------------------------------------------------------------------------

# Pattern of the tags around a model's reasoning. An opening tag counts only at the start of a line, because
# elsewhere the text may be about the tag; a closing tag counts anywhere. The tags differ by vendor: <think>
# and its like, the tags of Magistral, Kimi, Command A and Sky-T1, and the channels of gpt-oss. If special
# tokens are dropped, only the names of the channels remain.
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


# Roles of messages that may contain the program, in lower case. Gemma and Gemini use `model`; frameworks use
# the other roles.
ANSWERS = ("assistant", "model", "ai", "bot", "chatbot", "gpt")
# Types of message parts that contain reasoning.
REASONING_TYPES = frozenset({"reasoning", "redacted_thinking", "thinking", "thought"})


def join_answer_text(parts: Iterable[Any]) -> str:
    """Return the text of an answer's parts, without the parts that hold reasoning.

    Servers split text at arbitrary positions, so neighbouring parts are joined directly. Parts with something
    else between them, such as a tool call, are put on separate lines.
    """
    text_pieces, starts_new_line = list[str](), False
    for part in parts:
        is_answer = (
            isinstance(part, Mapping) and not part.get("thought") and part.get("type") not in REASONING_TYPES
        )
        part_text = part.get("text") if is_answer else part if isinstance(part, str) else None
        part_text = part_text.get("value") if isinstance(part_text, Mapping) else part_text
        if part_text is None:
            starts_new_line = True
        elif part_text:
            text_pieces += ["\n"] * (starts_new_line and bool(text_pieces)) + [str(part_text)]
            starts_new_line = False
    return "".join(text_pieces)


def _remove_reasoning(text: str) -> str:
    """Return the generation without its reasoning, which may be finished or cut off."""
    text_pieces: list[str] = []
    is_open, position = False, 0
    for tag in _REASONING.finditer(text):
        if tag["opening"]:
            if not is_open:
                text_pieces.append(text[position : tag.start()])
            is_open = True
        else:
            # The opening tag was in the prompt, so all text before the closing tag is reasoning.
            if not is_open:
                text_pieces.clear()
            is_open, position = False, tag.end()
    return "".join(text_pieces if is_open else [*text_pieces, text[position:]])


def _normalize_line_ends(generation: str) -> str:
    """Return the reply with Unix line breaks and without a byte order mark."""
    reply = generation.removeprefix("\ufeff").replace("\r\n", "\n")
    return reply if "\n" in reply else reply.replace("\r", "\n")


# --- fences ------------------------------------------------------------------------------------------

_FENCE_RUN = re.compile(r"`{3,}|~{3,}")
# Pattern of the tag after a fence. In `language-cpp`, `GNU C++17` and `src/main.cpp`, group 1 is the part
# that names the language.
_TAG = re.compile(
    r"[\s{.]*+(?:lang(?:uage)?-|gnu\s++|(?:[\w.+#-]*+/)*+(?:[\w+#-]*+\.)++(?=[a-z]))?([\w+#.-]*+)", re.I
)
# Pattern of text that may follow a closing fence on its line: </answer>, closing brackets of the surrounding
# markup, <|im_end|> and any text that a model writes after it.
_AFTER_CLOSING_FENCE = re.compile(
    r"[ \t]*+(?:<\|[^<>|\n]++\|>|</s>)[^\n]*+\n?|(?:[\s\u200b\u2060\ufeff]++|<[^<>\n]++>|[]*}).])*+"
)
# Pattern of white space, including zero-width characters.
_WHITESPACE = re.compile(r"[\s\u200b\u2060\ufeff]*+")
# Pattern of a line's prefix in a quote or a list.
_LIST_OR_QUOTE_MARK = re.compile(r"(?:[ \t]*+(?:>|[-*+][ \t]|[0-9]{1,9}[.)][ \t]))++[ \t]*+")
_QUOTED = re.compile(r"(?:[ \t]*+>[^\n]*+(?:\n|\Z))*+")
_MARKDOWN_TAGS = ("markdown", "md")  # tags of fenced blocks whose content may itself contain fences
# Pattern of the start of a comment line. A fence after it, as in " * ```", is part of the program's
# documentation.
_COMMENT_START = re.compile(r"(?:[ \t]*+>)*+[ \t]*+(?://[/!]?|/?\*++|\#++|--)[ \t]*+")
_COMMENT_OR_STRING = re.compile(
    r"""(?P<mark>\"{3}|'{3}|/\*)|(?://|\#)[^\n]*+|"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?"""
)
# Closing mark of a docstring or comment, by its opening mark.
_CLOSING_MARKS = {'"""': '"""', "'''": "'''", "/*": "*/"}


@dataclass(frozen=True, slots=True)
class _FenceLine:
    """A line with fences: its bounds, the spans of its first and last fence, and their number."""

    start: int
    end: int
    first: tuple[int, int]
    last: tuple[int, int]
    runs: int


@dataclass(frozen=True, slots=True)
class _FencedBlock:
    """A fenced block as positions in the text, so that a generation with many blocks is not copied."""

    tag: str
    fence: str
    # Indentation of the fence, in characters. None if other characters precede it, such as the mark of a
    # list.
    indent: int | None
    column: int  # position of the fence in its line, in characters
    start: int
    end: int = -1
    closed: bool = False

    def extract_code(self, text: str) -> str:
        """Return the block's code without quote marks and without the fence's indentation."""
        block_text = text[self.start : self.end]
        indent = self.indent
        if indent is None:
            if _QUOTED.fullmatch(block_text):
                block_text = re.sub(r"^[ \t]*> ?", "", block_text, flags=re.M)
            indent = min(map(len, re.findall(r"^([ \t]*+)\S", block_text, flags=re.M)), default=0)
        if indent:
            block_text = re.sub(rf"^[ \t]{{1,{indent}}}", "", block_text, flags=re.M)
        return block_text if block_text.endswith("\n") or not block_text else block_text + "\n"


def _find_fence_lines(text: str, begin: int, stop: int) -> Iterator[_FenceLine]:
    """Yield the lines between two positions that contain fences."""
    fence_line: _FenceLine | None = None
    for fence_run in _FENCE_RUN.finditer(text, begin, stop):
        if fence_line is not None and fence_run.start() <= fence_line.end:
            fence_line = replace(fence_line, last=fence_run.span(), runs=fence_line.runs + 1)
            continue
        if fence_line is not None:
            yield fence_line
        start = text.rfind("\n", fence_line.end if fence_line else begin, fence_run.start()) + 1
        end = text.find("\n", fence_run.end(), stop)
        fence_line = _FenceLine(
            max(start, begin), end if end >= 0 else stop, fence_run.span(), fence_run.span(), 1
        )
    if fence_line is not None:
        yield fence_line


def _is_blank(text: str, start: int, end: int) -> bool:
    """Return True if the text between two positions is only whitespace."""
    return _WHITESPACE.fullmatch(text, start, end) is not None


def _parse_opening_fence(text: str, line: _FenceLine) -> _FencedBlock | None:
    """Return the block that this line opens, or None. The line is outside of any block."""
    fence = text[line.first[0] : line.first[1]]
    if _is_blank(text, line.start, line.first[0]) and (line.runs == 1 or fence[0] == "~"):
        return _make_block(text, line, line.first, indent=line.first[0] - line.start)
    if line.runs == 1 and _LIST_OR_QUOTE_MARK.fullmatch(text, line.start, line.first[0]):
        return _make_block(text, line, line.first, indent=None)
    # A line such as "the code: ```cpp" opens a block. There are two exceptions: an even number of runs of
    # backticks encloses inline code, and a line with several words after the last run is a sentence about
    # fences.
    info = text[line.last[1] : line.end]
    if line.runs % 2 and text[line.last[0]] == "`" and re.fullmatch(r"\s*[\w{.\"'\[<(]\S*\s*", info):
        return _make_block(text, line, line.last, indent=None)
    return None


def _make_block(
    text: str, line: _FenceLine, fence_span: tuple[int, int], *, indent: int | None
) -> _FencedBlock:
    """Return the block that the fence at `fence_span` in this line opens."""
    tag_match = _TAG.match(text, fence_span[1], line.end)
    assert tag_match is not None, "every part of the pattern may be empty"
    fence, column = text[fence_span[0] : fence_span[1]], fence_span[0] - line.start
    return _FencedBlock(tag_match.group(1).lower(), fence, indent, column, min(line.end + 1, len(text)))


def _close_block(text: str, line: _FenceLine, block: _FencedBlock) -> _FencedBlock | None:
    """Return the closed block if this line closes it, else None."""
    fence = text[line.first[0] : line.first[1]]
    tail_match = _AFTER_CLOSING_FENCE.fullmatch(text, line.first[1], line.end)
    if line.runs > 1 or not fence.startswith(block.fence) or not tail_match:
        return None
    if _is_blank(text, line.start, line.first[0]):
        return replace(block, end=max(line.start, block.start), closed=True)
    # A line such as "}```" closes a block. In a program, three backticks can only be in a comment.
    comment_match = _COMMENT_START.fullmatch(text, line.start, line.first[0])
    return (
        replace(block, end=line.first[0], closed=True) if fence == block.fence and not comment_match else None
    )


def _open_next_block(text: str, line: _FenceLine, block: _FencedBlock) -> _FencedBlock | None:
    """Return the block that this line opens although `block` was never closed, or None."""
    fence = text[line.first[0] : line.first[1]]
    if line.runs > 1 or not fence.startswith(block.fence) or not _is_blank(text, line.start, line.first[0]):
        return None
    next_block = _make_block(text, line, line.first, indent=line.first[0] - line.start)
    return next_block if next_block.tag else None


def _find_blocks(text: str, begin: int, stop: int, *, nested: bool = False) -> Iterator[_FencedBlock]:
    """Yield all blocks in order. A Markdown block is replaced by the blocks inside it."""
    for block in _find_outermost_blocks(text, begin, stop):
        if block.tag in _MARKDOWN_TAGS and not nested:
            yield from _find_blocks(text, block.start, block.end, nested=True)
        else:
            yield block


def _find_documentation_end(
    text: str, start: int, position: int, stop: int, closing_positions: dict[str, int]
) -> int:
    """Return the end of the docstring or comment that contains `position`, or `position` without either.

    Args:
        text: the generation.
        start: a position before `position` that is in no docstring or comment.
        position: the position in question.
        stop: position where the search stops.
        closing_positions: cache that this function updates: the position of the next closing mark by opening
            mark. The position is `stop` if there is no closing mark.
    """
    while start < position:
        mark_match = _COMMENT_OR_STRING.search(text, start, position)
        if mark_match is None:
            return position
        start, opening_mark = mark_match.end(), mark_match["mark"]
        if opening_mark is None:
            continue
        if closing_positions.get(opening_mark, -1) < start:
            closing_position = text.find(_CLOSING_MARKS[opening_mark], start, stop)
            closing_positions[opening_mark] = closing_position if closing_position >= 0 else stop
        if closing_positions[opening_mark] < stop:
            start = closing_positions[opening_mark] + len(opening_mark)
    return start


def _find_outermost_blocks(text: str, begin: int, stop: int) -> Iterator[_FencedBlock]:
    """Yield the blocks between two positions, but not the blocks inside Markdown blocks."""
    open_block: _FencedBlock | None = None
    closing_positions: dict[str, int] = {}
    outside_position = begin  # position in the block that is outside of docstrings and comments
    for line in _find_fence_lines(text, begin, stop):
        if open_block is None:
            open_block = _parse_opening_fence(text, line)
            outside_position = line.end
            continue
        if line.first[0] - line.start > open_block.column:
            outside_position = _find_documentation_end(
                text, outside_position, line.start, stop, closing_positions
            )
            if outside_position > line.start:
                continue
        if closed_block := _close_block(text, line, open_block):
            yield closed_block
            open_block = None
        elif next_block := _open_next_block(text, line, open_block):
            yield replace(open_block, end=line.start)
            open_block, outside_position = next_block, line.end
    if open_block is not None:
        yield replace(open_block, end=stop)


# --- recognising code --------------------------------------------------------------------------------

# Maximum length of a program that is parsed, in characters. A syntax tree needs about 500 bytes for each.
_MAX_PARSED_LENGTH = 1 << 18

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
_REPLACEMENTS = {"directive": _DIRECTIVE, "comment": " ", "literal": "0", "ticked": "0"}
_STATEMENT = re.compile(r"([^;}\x01]*+)([;}\x01]|\Z)")
_DECLARING = (
    "alignas|auto|bool|char|class|const|constexpr|double|enum|explicit|extends|extern|float|fn|friend|fun|func|"
    "impl|implements|inline|int|long|mutable|namespace|operator|register|short|signed|static|struct|template|"
    "typedef|typename|union|unsigned|"
    "using|virtual|void|volatile"
)
# Pattern of signs of prose: the end of a sentence, a colon before a line break, marks of Markdown and LaTeX
# (except marks of attributes and annotations), or four words in a row.
_PROSE = re.compile(
    r"[A-Za-z][.!?](?=\s)|[A-Za-z]:[ \t]*+$|`|\#(?!!?\[)|@(?![A-Z])|\\[a-z]{3}"
    rf"|(?:\b(?!(?:{_DECLARING})\b)[A-Za-z]++\s++){{4}}",
    re.M,
)


# Pattern of a line in a language without semicolons. The next patterns are the start of a Pascal program, and
# Pascal's output statement.
_CODE_LINE = re.compile(r"\s*+(?:(?:import|package)\s|[^\n]*?[=(){}\[\];,]|\Z)")
_PASCAL_START = re.compile(
    r"(?>\s+|\{[^}]*+\}|\(\*.*?\*\)|//[^\n]*+)*+"
    r"(?:program\s+\w+\s*[;(]|uses\s+\w+\s*[,;]|(?:const|type|var|label)\s+\w+\s*[,:=;]"
    r"|begin\s+\w+\s*[:(;\[]|(?:procedure|function)\s+\w+\s*[(:;])",
    re.I | re.S,
)
_PASCAL_OUTPUT = re.compile(r"\bwrite(?:ln)?\s*+[(;]", re.I)


def _remove_comments_and_literals(text: str, lexeme: re.Pattern[str] = _LEXEME) -> str:
    """Return the code without comments, and with a single character instead of each literal and directive.

    The code is in a language with braces.
    """
    return lexeme.sub(lambda match: _REPLACEMENTS[match.lastgroup or ""], text)


def _find_text_outside_braces(code_without_literals: str) -> str | None:
    """Return the text outside of braces, with `{}` for each block.

    None if the code lacks braces or the braces do not match.
    """
    text_pieces: list[str] = []
    depth = position = 0
    for brace in re.finditer(r"[{}]", code_without_literals):
        depth += 1 if brace.group() == "{" else -1
        if depth < 0:
            return None
        if brace.group() == "{" and depth == 1:
            text_pieces.append(code_without_literals[position : brace.start()] + "{}")
        position = brace.end()
    return "".join([*text_pieces, code_without_literals[position:]]) if text_pieces and depth == 0 else None


def _has_only_declarations(text: str) -> bool:
    """Return True if every statement outside of braces looks like a declaration."""
    text_outside = _find_text_outside_braces(_remove_comments_and_literals(text))
    if text_outside is None:
        return False
    # Preprocessor directives may be between statements, but nothing may follow the last statement.
    statements = (match.groups() for match in _STATEMENT.finditer(text_outside))
    return all(
        not _PROSE.search(statement) if terminator in (";", "}") else not statement.strip()
        for statement, terminator in statements
    )


def _has_only_code_lines(text: str) -> bool:
    """Return True if every line looks like code of a language without semicolons."""
    if "```" in text:
        return False
    code_without_literals = _remove_comments_and_literals(re.sub(r"\A\s*+#![^\n]*+", "", text), _TICKED)
    text_outside = (
        _find_text_outside_braces(code_without_literals)
        if "{" in code_without_literals or "}" in code_without_literals
        else code_without_literals
    )
    lines = text_outside.split("\n") if text_outside is not None else ["prose"]
    return code_without_literals.count("(") == code_without_literals.count(")") and all(
        _CODE_LINE.match(line) and not _PROSE.search(line + "\n") for line in lines
    )


def parse_python(text: str) -> ast.Module | None:
    """Return the syntax tree of Python code, or None if it is not valid or too long."""
    if len(text) > _MAX_PARSED_LENGTH:
        return None
    with warnings.catch_warnings():
        # The parser must not print warnings about invalid escapes to the terminal.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (
            SyntaxError,
            ValueError,
            RecursionError,
            MemoryError,
        ):  # the last two errors mean that the nesting is too deep
            return None


class LanguageProperties(Protocol):
    """The properties of a language that extraction and repairs use."""

    @property
    def tags(self) -> Collection[str]: ...
    @property
    def fallback_tags(self) -> Collection[str]: ...
    @property
    def syntax(self) -> str: ...
    @property
    def ends_statements_by_line(self) -> bool: ...
    @property
    def typical_strings(self) -> tuple[str, ...]: ...
    @property
    def start_pattern(self) -> str: ...
    @property
    def header(self) -> str: ...


_COMMENTS = {
    "python": re.compile(r"(?:\s++|\#[^\n]*+)*+"),
    "braces": re.compile(r"(?:\s++|//(?:[^\\\n]|\\.)*+|/\*(?:.*?\*/|.*))*+", re.S),
}


def _has_only_comments(code: str, language: LanguageProperties) -> bool:
    """Return True if the code has only comments and blanks. False if the language's syntax is unknown."""
    comment_pattern = _COMMENTS.get(language.syntax)
    return comment_pattern is not None and comment_pattern.fullmatch(code) is not None


_UNFINISHED = re.compile(r"[-=+*/,.&|<>?:]\s*+\Z")


def _is_complete(code: str, language: LanguageProperties) -> bool:
    """Return True if the code seems complete, that is, not cut off in the middle."""
    if language.syntax == "python":
        return parse_python(code) is not None
    if language.syntax == "pascal":
        return _ends_like_pascal_program(code)
    code_without_literals = _remove_comments_and_literals(code)
    if language.ends_statements_by_line and "{" not in code_without_literals:
        is_balanced = (
            code_without_literals.count("(") == code_without_literals.count(")")
            and _UNFINISHED.search(code_without_literals) is None
        )
        return is_balanced and _has_typical_string(code_without_literals, language)
    return _find_text_outside_braces(code_without_literals) is not None


def _ends_like_pascal_program(text: str) -> bool:
    """Return True if the text ends with `end.`."""
    return text.rstrip().lower().endswith("end.")


def _is_program(text: str, language: LanguageProperties) -> bool:
    """Return True if the text is a program in the language and nothing else."""
    if language.syntax == "python":
        return _is_python(text)
    if language.syntax == "pascal":
        has_output = _PASCAL_OUTPUT.search(text) is not None
        return has_output and _ends_like_pascal_program(text) and _PASCAL_START.match(text) is not None
    # A JSON object, which may contain a program in a string, is not a program.
    if (
        language.syntax != "braces"
        or text.lstrip().startswith("{")
        or not _has_typical_string(text, language)
    ):
        return False
    return _has_only_declarations(text) or (language.ends_statements_by_line and _has_only_code_lines(text))


def _may_have_effect(statement: ast.stmt) -> bool:
    """Return False for a statement without effect: a value, an unknown call, `Output: 5`, `n = 5`."""
    match statement:
        case ast.AnnAssign():  # an annotation without a value may be prose, such as `Output: text`
            return statement.value is not None
        case ast.Assign():
            return any(
                isinstance(inner_node, ast.Call | ast.Lambda | ast.Name)
                for inner_node in ast.walk(statement.value)
            )
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):  # `O(n)`
            return hasattr(builtins, name)
        case ast.Expr():  # such as `[print(x) for x in range(n)]`
            return isinstance(statement.value, ast.Call) or any(
                map(_is_print_call, ast.walk(statement.value))
            )
        case _:
            return not isinstance(statement, ast.Return | ast.Pass)


def _is_print_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"


def _is_python(text: str) -> bool:
    """Return True if the text is a whole Python program."""
    tree = parse_python(text)
    return tree is not None and any(map(_may_have_effect, tree.body))


def _is_usage_example(text: str) -> bool:
    """Return True if the code is a usage example or sample output: it reads, imports and defines nothing."""
    tree = parse_python(text)
    return tree is not None and not any(
        _is_definition(inner_node) or _reads_input(inner_node) for inner_node in ast.walk(tree)
    )


def _prints_or_defines_anything(text: str) -> bool:
    """Return True if the code prints or defines something; pseudo-code such as `dp[i] = j` does not."""
    tree = parse_python(text)
    return tree is not None and any(
        _is_definition(inner_node) or _is_print_call(inner_node) for inner_node in ast.walk(tree)
    )


def _is_definition(node: ast.AST) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)


def _reads_input(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("input", "open")


def _may_be_code(text: str, language: LanguageProperties) -> bool:
    """Return True if an untagged block may be a program. Models fence output and pseudo-code as well."""
    if language.syntax == "python":
        return _is_python(text)
    # `main(` and `class ` occur in Python as well, so text that parses as Python is excluded. A JavaScript
    # script may parse as Python.
    if language.syntax == "braces" and not language.ends_statements_by_line and _is_python(text):
        return False
    return _has_typical_string(text, language) or (
        language.syntax == "braces" and ";" in text and _has_only_declarations(text)
    )


def _has_typical_string(text: str, language: LanguageProperties) -> bool:
    """Return True if the text contains one of the typical strings of the language, such as `#include`."""
    return any(typical_string in text for typical_string in language.typical_strings)


# --- extraction --------------------------------------------------------------------------------------

_ANSWER_END = re.compile(r"</(answer|code|solution|program)>")
_MAX_TAG_LENGTH = 20  # maximum length of a fence's tag in a message, in characters
_AMBIGUOUS_TAGS = ("", "c", "code", "plain", "plaintext", "text", "txt")


class Extraction(StrEnum):
    """The part of a generation that is the program. Use `last`, unless you compare with another harness."""

    LAST = "last"  # the last block in the language, after the reasoning
    FIRST = "first"  # the first block in the language
    WHOLE = "whole"  # the whole generation, unchanged
    LIVECODEBENCH = "livecodebench"  # the part of a reply that LiveCodeBench's own runner extracts


def extract(
    generation: str, language: LanguageProperties, extraction: Extraction = Extraction.LAST
) -> str | None:
    """Return the program in a generation, or None if it contains none."""
    match extraction:
        case Extraction.WHOLE:
            return generation
        case Extraction.LIVECODEBENCH:
            # LiveCodeBench uses the lines between the last two lines that contain three backticks. If these
            # two are adjacent, the program is empty.
            lines = generation.split("\n")
            fence_indexes = [index for index, line in enumerate(lines) if "```" in line][-2:]
            return (
                "\n".join(lines[fence_indexes[0] + 1 : fence_indexes[1]]) if len(fence_indexes) == 2 else ""
            )
        case _:
            return _extract_program(generation, language, takes_first_block=extraction is Extraction.FIRST)


_LanguageT = TypeVar("_LanguageT", bound=LanguageProperties)


def detect_reply_language(
    generation: str,
    languages: Iterable[_LanguageT],
    default_language: _LanguageT,
    extraction: Extraction = Extraction.LAST,
) -> _LanguageT | None:
    """Return the language of a reply's program if it is not the default language, else None.

    A fence's tag decides, unless the tag is used for several languages. Without tags the reply is in Python
    if its program parses as Python. A tagged block wins over an untagged block.

    Args:
        generation: the model's reply.
        languages: all languages that a reply may be in.
        default_language: the default language.
        extraction: the part of the generation that is the program.
    """
    if extraction is Extraction.WHOLE:
        return None
    is_first = extraction is Extraction.FIRST
    reply = _remove_reasoning(_normalize_line_ends(generation))
    all_blocks = list(_find_blocks(reply, 0, len(reply)))
    blocks = [block for block in all_blocks if not _is_blank(reply, block.start, block.end)]
    tags = [block.tag for block in blocks[:: 1 if is_first else -1] if block.tag not in _AMBIGUOUS_TAGS]
    language_list = tuple(languages)
    tagged_language = next(
        (language for tag in tags for language in language_list if tag in language.tags), None
    )
    if any(block.tag in default_language.tags for block in blocks):
        return None
    if tagged_language is None:
        return _find_untagged_python(
            generation, language_list, default_language, extraction, has_other_tags=bool(tags)
        )
    if _may_start_with_code(reply, blocks, default_language) and _is_program(reply, default_language):
        return None
    if _is_program(_find_text_before_fence(reply, all_blocks, accepts_closed_block=False), default_language):
        return None
    ambiguous_code = (
        block.extract_code(reply) for block in blocks if block.tag and block.tag in _AMBIGUOUS_TAGS
    )
    return None if any(_may_be_code(code, default_language) for code in ambiguous_code) else tagged_language


def has_block_in_language(
    generation: str, language: LanguageProperties, extraction: Extraction = Extraction.LAST
) -> bool:
    """Return True if a fenced block of a reply is tagged with the language."""
    reply = _remove_reasoning(_normalize_line_ends(generation))
    blocks = _find_blocks(reply, 0, len(reply))
    return extraction is not Extraction.WHOLE and any(block.tag in language.tags for block in blocks)


def _find_untagged_python(
    generation: str,
    languages: Collection[_LanguageT],
    default_language: _LanguageT,
    extraction: Extraction,
    *,
    has_other_tags: bool,
) -> _LanguageT | None:
    """Return Python if the reply's untagged program is in Python, else None.

    None if the reply contains a program in the default language. `has_other_tags`: other blocks have tags.
    Untagged code that only prints is then more likely a program's output.
    """
    python_language = next((language for language in languages if language.syntax == "python"), None)
    if python_language is None or default_language.syntax == "python":
        return None
    # LiveCodeBench extracts the same text for every language, so no other language is tried.
    if (
        extraction is not Extraction.LIVECODEBENCH
        and extract(generation, default_language, extraction) is not None
    ):
        return None
    code = extract(generation, python_language, extraction)
    if (
        not code
        or not (_is_python(code) and _prints_or_defines_anything(code))
        or (has_other_tags and _is_usage_example(code))
    ):
        return None
    # A script in JavaScript or Kotlin may parse as Python.
    script_languages = (language for language in languages if language.ends_statements_by_line)
    return (
        None if any(_has_typical_string(code, language) for language in script_languages) else python_language
    )


def explain_missing_program(generation: str | None) -> str:
    """Return the reason why a reply contains no usable program."""
    if not (generation or "").strip():
        return "the reply is empty"
    reply = _remove_reasoning(_normalize_line_ends(generation or ""))
    if not reply.strip():
        return "the reply is cut off in its reasoning"
    blocks = [
        block for block in _find_blocks(reply, 0, len(reply)) if not _is_blank(reply, block.start, block.end)
    ]
    if not blocks:
        return "the reply has no fenced block"
    tags = [block.tag for block in blocks if block.tag not in _AMBIGUOUS_TAGS]
    if tags:
        return f"the reply's last tagged block is in another language ({tags[-1][:_MAX_TAG_LENGTH]})"
    return "no fenced block of the reply is a program in a known language"


_EXTRACTION_PREFIX = "extract:"


def list_extraction_repairs(extraction: Extraction) -> tuple[str, ...]:
    """Return the repair `extract:EXTRACTION` for a row, or no repair if the extraction is the default."""
    return () if extraction is Extraction.LAST else (f"{_EXTRACTION_PREFIX}{extraction}",)


def read_extraction_repair(repairs: Iterable[str]) -> Extraction:
    """Return the extraction in a row's repair `extract:EXTRACTION`, or the default without such a repair."""
    extraction_names = (
        name.removeprefix(_EXTRACTION_PREFIX) for name in repairs if name.startswith(_EXTRACTION_PREFIX)
    )
    return Extraction(next(extraction_names, Extraction.LAST))


def _extract_program(generation: str, language: LanguageProperties, *, takes_first_block: bool) -> str | None:
    """Return the program in a generation, with Unix line breaks, or None.

    The whole text is the program if it is code throughout; fences in its comments and strings are ignored
    then. Otherwise a block is the program. Without blocks, it is the content of the answer tags. Text before
    the first fence is the program if the prompt opened that block.
    """
    reply = _remove_reasoning(_normalize_line_ends(generation))
    blocks, tags = list(_find_blocks(reply, 0, len(reply))), language.tags
    for candidate in (reply,) if blocks else dict.fromkeys((reply, _find_answer_content(reply))):
        if _may_start_with_code(candidate, blocks, language) and _is_program(candidate, language):
            return candidate.strip("\n") + "\n"
    if not blocks:
        reply = _find_answer_content(reply)
    if (
        not blocks
        and language.start_pattern
        and re.match(language.start_pattern, reply)
        and _has_typical_string(reply, language)
    ):
        return reply.strip("\n") + "\n"
    nonblank_blocks = [block for block in blocks if not _is_blank(reply, block.start, block.end)]
    language_blocks = [block for block in nonblank_blocks if block.tag in tags]
    language_blocks = language_blocks or [
        block for block in nonblank_blocks if block.tag in language.fallback_tags
    ]
    text_before_fence, block_codes = (
        _find_text_before_fence(reply, blocks, accepts_closed_block=not language_blocks),
        [block.extract_code(reply) for block in language_blocks or nonblank_blocks],
    )
    if _is_program(text_before_fence, language) and not any(
        _is_newer_version(later_text, text_before_fence, language) for later_text in block_codes
    ):
        return text_before_fence.lstrip("\n")
    if language_blocks:
        if not takes_first_block:  # skip blocks that contain only comments, such as "# as above"
            while len(language_blocks) > 1 and _has_only_comments(
                language_blocks[-1].extract_code(reply), language
            ):
                language_blocks.pop()
        code = language_blocks[0 if takes_first_block else -1].extract_code(reply)
        if takes_first_block or language_blocks[-1].closed or _is_complete(code, language):
            return code
        # The last block is cut off, so the last complete block is the program.
        return next((block.extract_code(reply) for block in reversed(language_blocks) if block.closed), code)
    ambiguous_code = (
        block.extract_code(reply)
        for block in blocks[:: 1 if takes_first_block else -1]
        if block.tag in _AMBIGUOUS_TAGS
    )
    programs = (code for code in ambiguous_code if _may_be_code(code, language))
    if takes_first_block or language.syntax != "python":
        return next(programs, None)
    # A program is preferred to a usage example.
    program_list = list(programs)
    return next(
        (code for code in program_list if not _is_usage_example(code)), next(iter(program_list), None)
    )


def _find_text_before_fence(text: str, blocks: list[_FencedBlock], *, accepts_closed_block: bool) -> str:
    """Return the text before the first fence if the prompt may have opened a block there, else "".

    The first fence of the reply then closes the block of the prompt, so it has no tag.
    `accepts_closed_block`: return the text even if a later fence matches the first fence, so that both may
    enclose a block.
    """
    if (
        not blocks
        or blocks[0].tag
        or blocks[0].indent is None
        or (blocks[0].closed and not accepts_closed_block)
    ):
        return ""
    return text[: text.rfind("\n", 0, blocks[0].start - 1) + 1]


def _is_newer_version(later_text: str, program: str, language: LanguageProperties) -> bool:
    """Return True if `later_text` is a newer version of the program, False if it is a usage example."""
    return 2 * len(later_text) >= len(program) and _is_program(later_text, language)


def _find_answer_content(text: str) -> str:
    """Return the content of the last answer tags, or the whole text if it has none."""
    end_match = next(reversed([*_ANSWER_END.finditer(text)]), None)
    start_position = -1 if end_match is None else text.rfind(f"<{end_match[1]}>", 0, end_match.start())
    return (
        text
        if end_match is None or start_position < 0
        else text[start_position + len(end_match[1]) + 2 : end_match.start()]
    )


def _may_start_with_code(text: str, blocks: list[_FencedBlock], language: LanguageProperties) -> bool:
    """Return False if the text surely starts with prose.

    This check is cheap; parsing the whole text is not.
    """
    text_before_blocks = text[: blocks[0].start] if blocks else text
    if language.syntax == "braces":
        return (
            not blocks
            or "//" in text_before_blocks
            or "/*" in text_before_blocks
            or _has_typical_string(text_before_blocks, language)
        )
    if language.syntax == "pascal":
        return not blocks
    return not text_before_blocks.lstrip().startswith("~~~")  # text that starts with ~~~ may parse as Python


# --- repairs ------------------------------------------------------------------------------------------

# Imports of LiveCodeBench's harness. The built-in names are imported after the modules' names, because some
# modules export names that hide builtins. The modules themselves are imported last, because some modules
# export a function with the module's own name (datetime, copy, bisect).
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


class CodeRepairs(Value):
    """Repairs to apply to code. If all are off, the code is judged as it was written."""

    add_includes: Annotated[bool, CliOption(help="Repair programs: add #include <bits/stdc++.h>.")] = False
    add_header: Annotated[
        bool,  # the header is graders/<id>.h
        CliOption(help="Repair programs: add an #include of the problem's own header."),
    ] = False
    add_namespace: Annotated[bool, CliOption(help="Repair programs: add using namespace std;")] = False
    add_imports: Annotated[
        bool, CliOption(help="Repair Python programs: add the imports that benchmarks usually add.")
    ] = False


def repair(
    code: str, problem: Problem, language: LanguageProperties, options: CodeRepairs
) -> tuple[str, tuple[str, ...]]:
    """Return the repaired code and the names of the repairs that changed it, in the order of their lines.

    Args:
        code: the program.
        problem: the problem, whose header may be added.
        language: the program's language.
        options: the repairs to apply.
    """
    if language.syntax == "python":
        # In function tasks, the harness imports these names.
        is_function_task = problem.task_type is TaskType.FUNCTION
        if not options.add_imports or is_function_task or PYTHON_IMPORTS in code:
            return code, ()
        return insert_after_future_imports(code, PYTHON_IMPORTS), ("add_imports",)
    if not language.header:
        return code, ()
    names_and_lines = [
        (name, line) for name, line in _list_missing_lines(code, problem, language) if getattr(options, name)
    ]
    return "".join(line + "\n" for _, line in names_and_lines) + code, tuple(
        name for name, _ in names_and_lines
    )


def _list_missing_lines(
    code: str, problem: Problem, language: LanguageProperties
) -> Iterator[tuple[str, str]]:
    """Yield each repair with the line that it adds, if the code lacks that line."""
    included_headers = {name.rpartition("/")[2] for name in _INCLUDE.findall(code)}
    header_names = (file.name.rpartition("/")[2] for file in problem.grader_files)
    problem_header = next((name for name in header_names if name.lower() == f"{problem.id}.h".lower()), None)
    if language.header.rpartition("/")[2] not in included_headers:
        yield "add_includes", f"#include <{language.header}>"
    if problem_header and problem_header not in included_headers:
        yield "add_header", f'#include "{problem_header}"'
    # Code that uses std:: needs no `using namespace std;`, which could make names ambiguous.
    if not re.search(r"\busing\s++namespace\s++std\b|\bstd\s*+::", code):
        yield "add_namespace", "using namespace std;"


def insert_after_future_imports(code: str, lines: str) -> str:
    """Return Python code with `lines` inserted at the top, but after any `from __future__` imports."""
    tree = parse_python(code) if "__future__" in code else None
    import_ends = (
        statement.end_lineno or 0
        for statement in (tree.body if tree else ())
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    )
    code_lines, future_end = code.split("\n"), max(import_ends, default=0)
    return (
        "".join(f"{line}\n" for line in code_lines[:future_end]) + lines + "\n".join(code_lines[future_end:])
    )
