"""Replies and ground truths that cover all paths of eval-protocol's evaluator of APPS."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

ECHO = "import sys\nprint(sys.stdin.read(), end='')"
SUM = "print(sum(map(int, input().split())))"

# --- programs, each tried on SUMS ---------------------------------------------------------------------

SUMS = {"inputs": ["1 2\n", "3 4", "10 20\n"], "outputs": ["3\n", "7", "30 \n"]}

PROGRAMS = {
    "right": SUM,
    "right on some": "a, b = map(int, input().split())\nprint(min(a + b, 7))",
    "right on the last": "a, b = map(int, input().split())\nprint(max(a + b, 30))",
    "wrong": "print('no')",
    "nothing written": "input()",
    "as a float": "print(sum(map(float, input().split())))",
    "a little too much": "print(sum(map(int, input().split())) + 1e-6)",
    "too much": "print(sum(map(int, input().split())) + 1e-3)",
    "blanks and lines": "print('  ', sum(map(int, input().split())), ' \\n\\n')",
    "lines before": "print()\nprint(sum(map(int, input().split())))",
    "long wrong output": "print('x' * 150 + 'y' * 150)",
    "many wrong lines": "for i in range(100): print(i)",
    "tuple of error": "raise KeyError('a', 1)",
    "error by input": "a, b = map(int, input().split())\nassert a != 3, 'three'\nprint(a + b)",
    "error in a function": "def f(n):\n    return 1 // n\nf(0)",
    "error in the library": "json.loads('{')",
    "error from an error": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise OSError from e",
    "error while handling": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    {}['x']",
    "error of its own": "class Own(Exception):\n    pass\nraise Own('mine')",
    "error without words": "raise ValueError",
    "error that cannot be shown": "class Own(Exception):\n    def __repr__(self): 1 / 0\nraise Own",
    "error with empty words": "class Own(Exception):\n    def __repr__(self): return ''\nraise Own",
    "group of errors": "raise ExceptionGroup('many', [ValueError(1), TypeError(2)])",
    "end of input": "input()\ninput()\ninput()",
    "exit": f"{SUM}\nexit()",
    "exit with a code": f"{SUM}\nimport sys\nsys.exit(7)",
    "exit with words": f"{SUM}\nraise SystemExit('done')",
    "exit before": f"exit(1)\n{SUM}",
    "exit while loaded": f"import sys; sys.exit()\n{SUM}",
    "interrupt": f"{SUM}\nraise KeyboardInterrupt",
    "no exception": "class Own(BaseException):\n    pass\nraise Own",
    "left at once": f"{SUM}\nimport os\nos._exit(0)",
    "left later": "import os\na, b = map(int, input().split())\nif a == 3: os._exit(1)\nprint(a + b)",
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "aborted": "import os\nos.abort()",
    "main without a call": "def main():\n    print(sum(map(int, input().split())))",
    "main with a call": "def main():\n    print(sum(map(int, input().split())))\nmain()",
    "main guarded": f"def main():\n    {SUM}\nif __name__ == '__main__':\n    main()",
    "guarded alone": f'if __name__ == "__main__":\n    {SUM}',
    "guarded with more": f"x = 1\nif __name__ == '__main__':\n    # told\n    {SUM}\n    y = 2",
    "guarded with else": f"if __name__ == '__main__':\n    {SUM}\nelse:\n    pass",
    "guarded not last": f"if __name__ == '__main__':\n    {SUM}\npass",
    "guarded the other way": f"if '__main__' == __name__:\n    {SUM}",
    "main with arguments": "def main(n):\n    print(n)\nmain(1)",
    "main that wants more": "def main(n):\n    print(n)",
    "main in a class": "class A:\n    def main(self):\n        pass\nprint(1)",
    "main behind another call": f"def main():\n    {SUM}\nfor _ in range(1):\n    main()",
    "name": "print(__name__)",
    "global": "n = 0\ndef f():\n    global n\n    n += 1\nf()\nprint(n)",
    "nonlocal": "n = 0\ndef f():\n    nonlocal n\n    n += sum(map(int, input().split()))\nf()\nprint(n)",
    "recursion": "def f(n): return n and 1 + f(n - 1)\na = f(5000)\nprint(sum(map(int, input().split())))",
    "class": "class A:\n    x = 1\n    def f(self, n): return n + self.x\nprint(A().f(2))",
    "lambda": "f = lambda s: sum(map(int, s.split()))\nprint(f(input()))",
    "comprehension over a class": "class A:\n    n = 2\n    x = [n for _ in range(3)]\nprint(A.x)",
    "return": f"{SUM}\nreturn",
    "yield": f"{SUM}\nyield 1",
    "await": f"{SUM}\nawait x",
    "star import in a body": "for _ in range(1):\n    from math import *\n    print(int(sqrt(9)))",
    "import in a function": "def f():\n    import math\n    return math.floor(3.5)\nprint(f())",
    "import as a word": "imported = 3\nfrom_here = 4\nprint(imported)",
    "import in a text": "x = '''\nimport nothing_here\n'''\nprint(len(x))",
    "import over lines": "from math import (\n    floor,\n    ceil,\n)\nprint(floor(3.5))",
    "import with more": "import sys; input = sys.stdin.readline\nprint(sum(map(int, input().split())))",
    "import from the future": "from __future__ import annotations\nprint(1)",
    "import of nothing": "import nothing_of_that_name\nprint(1)",
    "import of nothing in parts": "from nothing_of_that_name.at_all import x\nprint(1)",
    "import of no name": "from math import nothing\nprint(1)",
    "import of nothing later": "a = input()\nif a[0] == '3': __import__('nothing_of_that_name')\nprint(3)",
    "import alone": "import math",
    "names that are there": "print(gcd(12, 9), Counter('aab')['a'], List is not None, ascii_lowercase[:3])",
    "modules that win": "print(datetime.__name__, copy.__name__, bisect.__name__, random.__name__)",
    "language that wins": "print(pow(2, 3, 5), abs(-3), sum([1]), open is not None)",
    "no heading of time": "print(time.time() > 0)",
    "syntax": "for _ in range(3)\n    print(1)",
    "syntax at the end": "print((1)",
    "indentation": "def f():\nreturn 1",
    "tabs and blanks": "if 1:\n\tx = 1\n        y = 2\nprint(x)",
    "indented as a whole": "    x = input()\n    print(3)",
    "escape": "print('\\d')",
    "comment alone": "# nothing",
    "text alone": "'''nothing'''",
    "zero byte": "print(1)\0",
    "lambda of a name": "code = 1\nprint(3)",
    "other letters": "π = 3\nprint(π)",
    "writes other letters": "print('é', '\\u2028', '\\U0001F600')",
    "stdin.read": "import sys\nprint(sum(map(int, sys.stdin.read().split())))",
    "stdin.readline": "import sys\nprint(sum(map(int, sys.stdin.readline().split())))",
    "stdin.readlines": "import sys\nprint(sys.stdin.readlines())",
    "stdin by line": "import sys\nfor line in sys.stdin: print(sum(map(int, line.split())))",
    "stdin from": "from sys import stdin\nprint(sum(map(int, stdin.readline().split())))",
    "stdin from, twice": "from sys import stdin\nstdin.readline()\nstdin.readline()\nstdin.readline()",
    "stdin from, all": "from sys import stdin\nprint(sum(map(int, stdin.read().split())))",
    "stdin from, lines": "from sys import stdin\nprint(stdin.readlines())",
    "stdin from, by line": "from sys import stdin\nfor line in stdin: print(sum(map(int, line.split())))",
    "stdin from, as": "from sys import stdin as s\nprint(sum(map(int, s.readline().split())))",
    "stdin unasked": "print(sum(map(int, stdin.readline().split())))",
    "stdin.buffer": "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))",
    "stdin.fileno": "import sys\nprint(sys.stdin.fileno())",
    "open": "print(sum(map(int, open(0).read().split())))",
    "open in a with": "with open('input.txt') as f:\n    print(sum(map(int, f.readline().split())))",
    "open of the language": "import builtins\nprint(sum(map(int, builtins.open('any').read().split())))",
    "open of the language, by line": "import builtins\nfor line in builtins.open(0): print(len(line))",
    "prompt": "print(sum(map(int, input('? ').split())))",
    "stdout.write": "import sys\nsys.stdout.write(str(sum(map(int, input().split()))))",
    "stdout from": "from sys import stdout\nstdout.write('3')",
    "stdout unasked": "stdout.write('3')",
    "stdout.buffer": "import sys\nsys.stdout.buffer.write(b'3')",
    "stdout.flush": "import sys\nprint(3, flush=True)\nsys.stdout.flush()",
    "stdout closed": "import sys\nprint(3)\nsys.stdout.close()\nprint(4)",
    "stdout replaced": "import sys\nsys.stdout = io.StringIO()\nprint(3)",
    "stderr": "import sys\nprint('told', file=sys.stderr)\nprint(3)",
    "print before": "import sys; print('before')\nprint(3)",
    "thread": "import threading\nt = threading.Thread(target=lambda: print(3))\nt.start()\nt.join()",
    "error in a thread": "import threading\nt = threading.Thread(target=f)\nt.start()\nt.join()",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nprint(P(3).x)",
    "cache": "@lru_cache(None)\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nprint(f(4))",
    "limit of recursion": "import sys\nprint(sys.getrecursionlimit())",
    "large number": "print(10 ** 30)",
    "mark": "print('ioi_eval apps: nothing of that kind')",
    "as in the documents": SUM + "\n# done",
}

# --- outputs against answers --------------------------------------------------------------------------

PARTS = [" ", "\t", "\n", "\n\n", "\r\n", "\u2028", "\x0b", "\x1f", "\xa0", "a", "A", "é", "1", "2.0", "-0",
         ".5", "1e3", "1000", "1_000", "inf", "nan", "0x10", "1.00001", "1e400", "+1", "-"]  # fmt: skip

PAIRS = [
    ("1 2", "1 2 "),
    ("2.0", "2"),
    ("1.0\n2.0\n", "1\n2"),
    ("1.0 2.0", "1 2"),
    ("1\n2", "1\n2\n\n"),
    ("1\n\n\n", "1"),
    ("", ""),
    ("", "\n"),
    ("\n", ""),
    ("\n\n1", "1"),
    ("a b", "a  b"),
    ("100000", "100001"),
    ("100000", "100002"),
    ("0.00000001", "0"),
    ("0.0000001", "0"),
    ("nan", "nan"),
    ("nan", "NaN"),
    ("inf", "Infinity"),
    ("inf", "1e999"),
    ("-inf", "inf"),
    ("x" * 500, "y" * 500),
    ("1_0", "10"),
    ("٣", "٣"),
]


def pairs() -> Iterator[tuple[str, str]]:
    """Yield the pairs above, and pairs of strings that differ slightly."""
    yield from PAIRS
    dice = random.Random("pairs")
    for _ in range(90):
        pieces = [dice.choice(PARTS) for _ in range(dice.randint(1, 5))]
        other = list(pieces)
        for _ in range(dice.randint(0, 2)):
            other[dice.randrange(len(other))] = dice.choice(PARTS)
        yield "".join(pieces), "".join(other)


# --- the forms of a reply -----------------------------------------------------------------------------

REPLIES = {
    "nothing": "",
    "blanks": " \n ",
    "prose": "I cannot do this.",
    "thoughts alone": "<think>print(1)</think>",
    "thoughts": f"<think>```python\nprint(0)\n```</think>```python\n{SUM}\n```",
    "thoughts in capitals": f"<THINK>no</Think>{SUM}",
    "thoughts without an end": f"<think>no\n{SUM}",
    "thoughts without a start": f"no</think>\n{SUM}",
    "thoughts twice": f"<think>a</think>{SUM}<think>b</think>",
    "thoughts in thoughts": f"<think><think>a</think>b</think>\n{SUM}",
    "fenced": f"Here:\n```python\n{SUM}\n```\nDone.",
    "fenced twice": f"```python\nprint(0)\n```\n```python\n{SUM}\n```",
    "fenced without a language": f"```\n{SUM}\n```",
    "fenced in another order": f"```\nprint(0)\n```\n```python\n{SUM}\n```",
    "fenced as py": f"```py\n{SUM}\n```",
    "fenced as python3": f"```python3\n{SUM}\n```",
    "fenced as Python": f"```Python\n{SUM}\n```",
    "fenced without an end": f"```python\n{SUM}",
    "fenced, empty": "```python\n```",
    "fenced, blank": "```python\n  \n```\nprint(1)",
    "fenced in one line": f"```python {SUM} ```",
    "fences alone": "``````",
    "two fences": "```",
    "inline": f"`{SUM}`",
    "from def": f"Here it is: def main():\n    {SUM}",
    "def in a word": f"The undef is here.\n{SUM}",
    "code and syntax error": "for _ in range(3)\n    print(1)",
    "carriage returns": SUM.replace("(", "(\r\n"),
    "blanks around": f"\n\n   {SUM}  \n",
}

# --- the forms of ground truth ------------------------------------------------------------------------

TRUTHS: dict[str, Any] = {
    "none": None,
    "number": 7,
    "list": ["1"],
    "empty text": "",
    "no JSON": "{",
    "more than JSON": "{} x",
    "JSON of a list": "[]",
    "JSON of nothing": "null",
    "JSON of a text": '"inputs outputs"',
    "empty": {},
    "no outputs": {"inputs": ["1"]},
    "no inputs": {"outputs": ["1"]},
    "no tests": {"inputs": [], "outputs": []},
    "outputs alone": {"inputs": [], "outputs": ["1"]},
    "inputs alone": {"inputs": ["1 2"], "outputs": []},
    "too few outputs": {"inputs": ["1 2", "3 4"], "outputs": ["3"]},
    "too many outputs": {"inputs": ["1 2"], "outputs": ["3", "4"]},
    "inputs as a text": {"inputs": "1 2", "outputs": "3"},
    "inputs as nothing": {"inputs": None, "outputs": None},
    "outputs as a text": {"inputs": ["1 2", "2 3"], "outputs": "35"},
    "outputs as an object": {"inputs": ["1 2"], "outputs": {"0": "3"}},
    "outputs as nothing": {"inputs": ["1 2"], "outputs": None},
    "lists of lines": {"inputs": [["1 2"]], "outputs": [["3"]]},
    "list of lines later": {"inputs": ["1 2", ["3 4"]], "outputs": ["3", "7"]},
    "number expected": {"inputs": ["1 2", "3 4"], "outputs": ["3", 7]},
    "number given": {"inputs": [1], "outputs": ["3"]},
    "nothing expected": {"inputs": ["1 2"], "outputs": [None]},
    "function": {"fn_name": "add", "inputs": ["1 2"], "outputs": ["3"]},
    "function without a name": {"fn_name": "", "inputs": ["1 2"], "outputs": ["3"]},
    "function with arguments": {"fn_name": "add", "inputs": [[1, 2]], "outputs": [3]},
    "long input": {"inputs": ["1 " * 400], "outputs": ["3 " * 400]},
    "the same test twice": {"inputs": ["1 2", "1 2", "5 5"], "outputs": ["3", "3", "1"]},
    "more beside": {"inputs": ["1 2"], "outputs": ["3"], "other": {"x": [1]}},
}
HANDED_IN = {
    "right": SUM,
    "wrong": "print(0)",
    "broken": "raise ValueError(1)",
    "no program": "print(",
    "empty": "",
}


class Example(NamedTuple):
    name: str
    reply: str
    truth: Any


def _form(truth: Any, number: int) -> Any:
    """Return every second dict as JSON."""
    return json.dumps(truth) if isinstance(truth, dict) and number % 2 else truth


def examples() -> Iterator[Example]:
    for number, (name, code) in enumerate(PROGRAMS.items()):
        reply = f"```python\n{code}\n```" if number % 3 else code
        yield Example(f"program: {name}", reply, _form(SUMS, number))
    for number, (output, answer) in enumerate(pairs()):
        truth = _form({"inputs": [output], "outputs": [answer]}, number)
        yield Example(f"{output[:20]!r} against {answer[:20]!r}", ECHO, truth)
    for number, (name, reply) in enumerate(REPLIES.items()):
        yield Example(f"reply: {name}", reply, _form(SUMS, number))
    truths = product(TRUTHS.items(), HANDED_IN.items())
    for number, ((truth, written), (name, code)) in enumerate(truths):
        yield Example(f"truth: {truth}, {name}", code, _form(written, number))
