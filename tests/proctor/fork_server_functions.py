"""Functions that the harness calls. Their results must be the same whether Python was started or forked."""

from __future__ import annotations

GIVEN = [[3, 1, 2], {"1": "a"}]

# Bodies of functions of `a` and `b`, all in the same source.
BODIES = {
    "a list": "return sorted(a)",
    "a dictionary": "return b",
    "nothing": "pass",
    "usual names": "return [gcd(4, 6), sqrt(4), Counter('aab')['a'], heappop(a), list(accumulate(a))]",
    "descriptors": "import os\n    found = []\n    for fd in range(100):\n        try:\n            os.fstat(fd)\n            found.append(fd)\n        except OSError: pass\n    return len(found)",
    "a generator": "return (x for x in a)",
    "a set": "return {1, 2}",
    "a tuple": "return (1, (2, 3))",
    "infinity": "return float('inf')",
    "a big number": "return 10 ** 5000",
    "a string": "return 'ü✓\\ud800'",
    "an exception": "return 1 / 0",
    "an exception without a message": "raise KeyError",
    "no such name": "return surely_not_there",
    "exit": "sys.exit(3)",
    "exit 0": "sys.exit(0)",
    "exit with a message": "sys.exit('why')",
    "os._exit": "import os\n    os._exit(4)",
    "interrupt": "raise KeyboardInterrupt",
    "deep recursion": "def f(n): return n and f(n - 1)\n    return f(15000)",
    "endless recursion": "def f(): return f()\n    return f()",
    "too much memory": "return len(bytearray(200 << 20))",
    "printing": "print('text')\n    return 1",
    "reading": "return [sys.stdin.read(), sys.stdin.buffer.read() == b'']",
    "a thread that stays": "import threading, time\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    return 1",
    "atexit": "import atexit\n    atexit.register(print, 1)\n    return 1",
    "fork": "import os\n    return os.fork()",
    "random with a seed": "random.seed(3)\n    return random.random()",
}  # fmt: skip

# Whole sources, each with a function `solve(a, b)`.
SOURCES = {
    "its folder and flags": "def solve(a, b): return [__import__('os').getcwd(), sys.getrecursionlimit(), sys.flags.isolated, sys._getframe().f_back.f_code.co_name]",
    "its modules and paths": "def solve(a, b): return [__name__, __file__ if '__file__' in globals() else None, sys.argv, sorted(sys.modules), sys.path]",
    "endless": "def solve(a, b):\n    while True: pass",
    "a class": "class Solution:\n    def solve(self, a, b):\n        return a[::-1]",
    "a class with annotations": "class Solution:\n    def solve(self, a: List[int], b: Dict[int, str]) -> List[int]:\n        return a",
    "a dataclass": "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\ndef solve(a, b): return P(a[0]).x",
    "no function": "x = 1",
    "a syntax error": "def solve(a, b) return 1",
    "main is not run": "def solve(a, b): return 1\nif __name__ == '__main__': solve = None",
    "unusual imports": "import queue, numpy_surely_not\ndef solve(a, b): return 1",
    "a module changed": "import json\njson.dumps = None\ndef solve(a, b): return [1]",
}  # fmt: skip


def of_bodies() -> str:
    """Return a source with a function that calls the function named by its first argument."""
    functions = "".join(f"def f{number}(a, b):\n    {body}\n" for number, body in enumerate(BODIES.values()))
    return f"{functions}NAMES = {list(BODIES)}\ndef solve(name, a, b): return globals()[f'f{{NAMES.index(name)}}'](a, b)\n"
