"""A problem with many small tests, and any number of different submissions for it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ioi_eval.models import Blob, Checker, CheckerKind, Limits, NamedBlob, Problem, Submission, Subtask, Test

# Source of a checker that compiles as slowly as common checker libraries.
SLOW_CHECKER = """#include <bits/stdc++.h>
#include <regex>
template <int N> struct Heavy : Heavy<N - 1> {
  std::map<std::string, std::vector<std::array<int, N % 7 + 1>>> held;
};
template <> struct Heavy<0> {};
int main(int argc, char** argv) {
  Heavy<60> heavy;
  std::regex number("-?[0-9]+");
  std::ifstream answer(argv[2]), output(argv[3]);
  std::string a, b;
  bool same = true;
  while (answer >> a) same = same && (output >> b) && std::regex_match(b, number) && a == b;
  std::cout << (same && argc == 4 && heavy.held.empty() ? 1 : 0) << std::endl;
  std::cerr << (same ? "translate:success" : "translate:wrong") << std::endl;
}
"""


ALL_HEADERS = ("bits/stdc++.h",)
USUAL_HEADERS = ("iostream", "vector", "map", "string", "algorithm", "queue")


def make_include_lines(headers: Iterable[str]) -> str:
    return "".join(f"#include <{name}>\n" for name in headers)


def make_source(index: int, headers: Iterable[str] = ALL_HEADERS) -> str:
    """Return a program that sums squares, with the headers and containers of a typical submission."""
    return f"""{make_include_lines(headers)}using namespace std;
int main() {{
    int n; cin >> n;
    vector<long long> values(n);
    for (auto& value : values) cin >> value;
    sort(values.begin(), values.end());
    map<long long, int> seen;
    long long sum = {index} - {index};
    for (auto value : values) {{ seen[value]++; sum += value * value; }}
    cout << sum << "\\n";
}}
"""


def write_tests(folder: Path, test_count: int, seed: int = 1) -> None:
    folder.mkdir()
    random_numbers = random.Random(seed)
    for index in range(test_count):
        values = [random_numbers.randrange(1000) for _ in range(100)]
        (folder / f"{index}.in").write_text(f"{len(values)}\n{' '.join(map(str, values))}\n")
        (folder / f"{index}.out").write_text(f"{sum(value * value for value in values)}\n")


def make_problem(test_folder: Path, test_count: int, *, has_checker: bool) -> Problem:
    test_names = tuple(str(index) for index in range(test_count))
    slow_checker = Checker(
        kind=CheckerKind.CMS, sources=(NamedBlob(name="checker/checker.cpp", content=Blob.of(SLOW_CHECKER)),)
    )
    return Problem(
        id="squares",
        limits=Limits.contest(2.0, 256 << 20),
        checker=slow_checker if has_checker else Checker(),
        tests=tuple(
            Test(
                name=name,
                input=Blob.of_file(test_folder / f"{name}.in"),
                answer=Blob.of_file(test_folder / f"{name}.out"),
            )
            for name in test_names
        ),
        subtasks=(Subtask(name="all", points=100, tests=test_names),),
    )


def make_submissions(
    count: int, *, first_index: int = 0, headers: Iterable[str] = ALL_HEADERS
) -> Iterator[Submission]:
    for index in range(first_index, first_index + count):
        yield Submission(
            key=str(index), problem_id="squares", code=make_source(index, headers), language="c++"
        )


# Small programs like completions of models, which differ by a salt, by names and by comments.
PROGRAMS = {
    "python": """
def {name}():  # {comment}
    {name}_sum = sum(map(int, input().split()))  # {comment}
    return {name}_sum if {name}_sum != -{salt} else 0
print({name}())
""",
    "c++": """
#include <iostream>
// {comment}
static int {name}() {{  // {comment}
  int {name}_sum = 0;
  for (int {name}_next; std::cin >> {name}_next;) {name}_sum += {name}_next;
  return {name}_sum != -{salt} ? {name}_sum : 0;
}}
int main() {{ std::cout << {name}() << std::endl; }}
""",
}


def make_similar_completions(
    language: str,
    salts: Sequence[int],
    *,
    with_different_names: bool = False,
    with_different_comments: bool = False,
) -> list[str]:
    """Return completions with a different sum for each salt. They may differ by names and comments."""
    return [
        f"```{language}"
        + PROGRAMS[language].format(
            name=f"name{number}" if with_different_names else "name",
            comment=f"comment {number}" if with_different_comments else "comment",
            salt=salt,
        )
        + "```"
        for number, salt in enumerate(salts)
    ]
