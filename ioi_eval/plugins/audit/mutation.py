"""Changed copies of programs in Python and C++: off by one, wrong bound, int for long, missing case."""

from __future__ import annotations

import ast
import copy
import hashlib
import re
from collections.abc import Callable, Iterator

from ioi_eval.errors import InputError
from ioi_eval.scoring import find_language

Mutant = tuple[str, str]  # name of the change with its line, and the changed program


def mutants_of(code: str, language: str, seed: int) -> list[Mutant]:
    """Return all mutants of a program in Python or C++, in an order that depends on the seed."""
    try:
        syntax = find_language(language).name
    except InputError:
        return []
    if syntax.startswith(("python", "pypy")):
        found = {text: name for name, text in _of_python(code)}
    elif syntax.startswith("c++"):
        found = {text: name for name, text in _of_cpp(code)}
    else:
        return []
    found.pop(code, None)
    ranked = sorted(found.items(), key=lambda item: hashlib.sha256(f"{seed}\n{item[0]}".encode()).digest())
    return [(name, text) for text, name in ranked]


# --- Python, by its syntax tree ----------------------------------------------------------------------

_OTHER_BOUND: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


def _of_python(code: str) -> Iterator[Mutant]:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return
    for place, node in enumerate(ast.walk(tree)):
        for name, change in _changes(node):
            changed = copy.deepcopy(tree)
            same = next(each for number, each in enumerate(ast.walk(changed)) if number == place)
            change(same)
            yield f"{name}, line {getattr(node, 'lineno', 0)}", ast.unparse(changed) + "\n"


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER_BOUND:
        yield "wrong bound", _change_bound
    if isinstance(node, ast.Compare) and any(map(_is_whole, node.comparators)):
        yield "off by one", lambda same: _add_one(same.comparators)  # type: ignore[attr-defined]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        yield "off by one", _shorten_range
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and _is_whole(node.right):
        yield "off by one", lambda same: _add_one([same.right])  # type: ignore[attr-defined]
    if isinstance(node, ast.If | ast.IfExp):
        yield "missing case", _drop_case


def _is_whole(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _change_bound(node: ast.AST) -> None:
    assert isinstance(node, ast.Compare)
    node.ops[0] = _OTHER_BOUND[type(node.ops[0])]()


def _add_one(nodes: list[ast.expr]) -> None:
    constant = next(node for node in nodes if _is_whole(node))
    assert isinstance(constant, ast.Constant) and isinstance(constant.value, int)
    constant.value += 1


def _shorten_range(node: ast.AST) -> None:
    assert isinstance(node, ast.Call)
    place = 0 if len(node.args) == 1 else 1
    if len(node.args) > place:
        node.args[place] = ast.BinOp(node.args[place], ast.Sub(), ast.Constant(1))


def _drop_case(node: ast.AST) -> None:
    assert isinstance(node, ast.If | ast.IfExp)
    node.test = ast.Constant(False)


# --- C++, by its tokens ------------------------------------------------------------------------------

# Comments, literals and preprocessor lines are tokens that no change touches.
_TOKEN = re.compile(
    r"""(?P<skipped>//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
    r"""|^[ \t]*\#[^\n]*(?:\\\n[^\n]*)*)|(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.']*)"""
    r"""|(?P<sign><<=|>>=|<=>|<=|>=|<<|>>|->|\+\+|--|.)""",
    re.S | re.M | re.X,
)
_OTHER_SIGN = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_LONGS = ("int64_t", "uint64_t", "ll", "LL", "i64")


def _of_cpp(code: str) -> Iterator[Mutant]:
    tokens = [found for found in _TOKEN.finditer(code) if found.lastgroup and not found["skipped"]]
    tokens = [found for found in tokens if not found[0].isspace()]
    heads = list(_heads(tokens))
    for place, found in enumerate(tokens):
        text, line = found[0], code.count("\n", 0, found.start()) + 1
        before = tokens[place - 1][0] if place else ""
        after = tokens[place + 1][0] if place + 1 < len(tokens) else ""
        changes = dict[str, str]()
        if heads[place] and text in _OTHER_SIGN:
            changes["wrong bound"] = _OTHER_SIGN[text]
        if text.isdecimal() and (heads[place] or before in ("+", "-")):
            changes["off by one"] = str(int(text) + 1)
        if text in _LONGS and before not in ("typedef", "using", "long"):
            changes["int for long"] = "int"
        if text == "long" and after == "long":
            yield (
                f"int for long, line {line}",
                code[: found.start()] + "int" + code[tokens[place + 1].end() :],
            )
        if text == "if" and after == "(":
            end = tokens[place + 1].end()
            yield f"missing case, line {line}", f"{code[:end]}false && {code[end:]}"
        for name, new in changes.items():
            yield f"{name}, line {line}", code[: found.start()] + new + code[found.end() :]


def _heads(tokens: list[re.Match[str]]) -> Iterator[bool]:
    """Yield True for each token inside the parentheses of `for`, `while` or `if`, else False."""
    depth, begin, before = 0, 0, ""
    for found in tokens:
        text = found[0]
        if text == "(":
            depth += 1
            if not begin and before in ("for", "while", "if"):
                begin = depth
        yield bool(begin)
        if text == ")":
            if depth == begin:
                begin = 0
            depth -= 1
        before = text
