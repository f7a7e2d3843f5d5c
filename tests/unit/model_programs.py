"""Programs and code blocks as in model replies."""

from __future__ import annotations

from support.engines import find_language

CPP, PYTHON = find_language("c++"), find_language("python")

ADD = "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }\n"
DRAFT = '#include <cstdio>\nint main() { puts("draft"); }\n'
SCRIPT = "a, b = map(int, input().split())\nprint(a + b)\n"


def fenced(code: str, tag: str = "cpp", fence: str = "```") -> str:
    return f"{fence}{tag}\n{code}{fence}\n"
