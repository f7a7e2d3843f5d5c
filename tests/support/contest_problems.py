"""Contest problems whose hidden tests and graders contain a secret."""

from __future__ import annotations

import msgspec

from ioi_eval import Limits
from ioi_eval.models import Blob, NamedBlob, Problem, Subtask, Test

SECRET = "CANARY-77c2ab10"  # in hidden tests and the hidden grader
HIDDEN = (SECRET, "1410077123", "1410077200", "1-a")  # the hidden test's input, answer and name

SUM = Problem(
    id="sum",
    limits=Limits.contest(0.5, 256 << 20),
    tests=(
        Test(name="0-a", input=Blob.of("1 2\n"), answer=Blob.of("3\n")),
        Test(name="1-a", input=Blob.of(f"1410077123 77 {SECRET}\n"), answer=Blob.of("1410077200\n")),
    ),
    subtasks=(
        Subtask(name="samples", points=0, tests=("0-a",)),
        Subtask(name="all", points=100, tests=("0-a", "1-a")),
    ),
)
RIGHT = '#include <cstdio>\nint main() { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); }\n'
GRADER = f"""#include <cstdio>
#include "graded.h"
const char *marker = "{SECRET}";
int main() {{ int a, b; if (scanf("%d %d", &a, &b) != 2) return 1; printf("%d\\n", add(a, b)); }}
"""
GRADED = msgspec.structs.replace(
    SUM,
    id="graded",
    options=msgspec.structs.replace(SUM.options, with_grader=True),
    grader_files=(
        NamedBlob(name="graders/grader.cpp", content=Blob.of(GRADER)),
        NamedBlob(name="graders/graded.h", content=Blob.of("int add(int a, int b);\n")),
    ),
)
SAMPLE_GRADER = """#include <cstdio>
#include "graded.h"
int main() { int a, b; scanf("%d %d", &a, &b); printf("the sample grader got %d\\n", add(a, b)); }
"""
HANDED = msgspec.structs.replace(
    GRADED,
    id="handed",
    attachments=(
        NamedBlob(name="cpp/grader.cpp", content=Blob.of(SAMPLE_GRADER)),
        NamedBlob(name="notes.pdf", content=Blob.of(b"%PDF\0")),
    ),
)
PROBLEMS = {one.id: one for one in (SUM, GRADED, HANDED)}


def find_hidden_strings(*values: object) -> list[str]:
    """Return the hidden strings that replies contain."""
    encoded = "".join(msgspec.json.encode(value).decode() for value in values)
    return [value for value in HIDDEN if value in encoded]
