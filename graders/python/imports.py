"""imports.py OUTPUT SOURCE...: writes the top-level modules that the sources import whatever happens.

Not what stands in a `try`, a `with`, a loop or under a condition: a program may know how to do without that.
"""

import ast
import sys

_ALWAYS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _imported(statements):
    for node in statements:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif isinstance(node, _ALWAYS) or _is_main(node):
            yield from _imported(node.body)


def _is_main(node):
    """Whether it is `if __name__ == "__main__":`, which holds for a program."""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    return names == ["__name__"] and isinstance(node.test.ops[0], ast.Eq)


output, *sources = sys.argv[1:]
found = set()
for path in sources:
    with open(path, "rb") as source:
        found.update(name.partition(".")[0] for name in _imported(ast.parse(source.read()).body))
with open(output, "w") as written:
    written.write("\n".join(sorted(found)))
