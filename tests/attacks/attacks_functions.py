"""Attacks on the function harness.

A submission shares its process with the harness, but not with the expected result. They use the names of
other projects' harnesses, which trusting_judges.py imitates.
"""

from __future__ import annotations

from dataclasses import dataclass

from attack import ANY, RE, SECRET, TLE, WA, Attack


@dataclass(frozen=True, kw_only=True)
class Call(Attack):
    """The body of a function.

    In the body, `wild` is True if the attack may run forever, and `enough` is how long to work, in seconds.
    """

    right: str = f'"{SECRET}"'  # the expected result


def _call(name: str, body: str, *verdicts: str, layers: str = "apart", right: str = f'"{SECRET}"') -> Call:
    return Call(
        name=name, heading="python", language="python", body=body, verdicts=verdicts or (WA, RE),
        layers=tuple(layers.split()), right=right,
    )  # fmt: skip


_SEARCH = """
sign = chr(67) + 'ANARY-'
def search(thing, depth=3):
    if isinstance(thing, str):
        return thing if thing.startswith(sign) and len(thing) > len(sign) else None
    inner = list(thing.values()) if isinstance(thing, dict) else thing if isinstance(thing, (list, tuple)) else ()
    return next((secret for item in inner if depth and (secret := search(item, depth - 1))), None)
"""

FUNCTIONS = (
    _call("exits-with-0", "sys.exit(0)", WA),
    _call("exits-at-once", "import os\nos._exit(0)", WA),
    _call("raises-in-del", "import os\nsys.unraisablehook = lambda *a: os._exit(0)\nclass A:\n    def __del__(self): raise RuntimeError('x')\nglobal kept\nkept = A()\nreturn A()", WA),
    _call("is-equal-to-everything", "class E:\n    def __eq__(self, other): return True\n    def __hash__(self): return 0\nreturn E()", WA),
    _call("is-an-int-that-is-equal", "class I(int):\n    def __eq__(self, other): return True\n    def __repr__(self): return 'true'\n    __str__ = __repr__\nreturn I(1)", WA),
    _call("is-a-text-that-is-equal", "class S(str):\n    def __eq__(self, other): return True\n    __hash__ = str.__hash__\nreturn S('x')", WA),
    _call("is-a-list-that-is-equal", "class L(list):\n    def __eq__(self, other): return True\nreturn L([1])", WA),
    _call("is-a-dict-that-lies", "class D(dict):\n    def __eq__(self, other): return True\n    def items(self): return iter([('a', 1)])\nreturn D()", WA),
    _call("patches-json", "import json\njson.dumps = lambda *a, **k: 'true'\njson.JSONEncoder.encode = lambda *a: 'true'\nreturn 1"),
    _call("patches-print-and-streams", "import builtins\nout = sys.stdout\nclass Right:\n    def write(self, text): return out.write('true')\n    def flush(self): out.flush()\nbuiltins.print = lambda *a, **k: out.write('true')\nsys.stdout = sys.stderr = Right()\nreturn 1"),
    _call("patches-os", "import os\nwrite, leave = os.write, os._exit\nos.write = lambda fd, text: write(fd, b'true') and len(text)\nos._exit = lambda code: leave(0)\nreturn 1"),
    _call("looks-through-gc", f"import gc{_SEARCH}return next((secret for thing in gc.get_objects() if (secret := search(thing, 1))), None)"),
    _call("looks-through-frames", f"{_SEARCH}frame = sys._getframe()\nwhile frame:\n    if found := search(frame.f_locals) or search(frame.f_globals):\n        return found\n    frame = frame.f_back"),
    _call("replaces-the-harness", "import __main__\nfor name in list(vars(__main__)):\n    if callable(getattr(__main__, name)):\n        setattr(__main__, name, lambda *a, **k: 1)\nreturn 1"),
    _call("traces-the-harness", "def change(frame, event, arg):\n    if 'expected' in frame.f_locals:\n        frame.f_locals['result'] = frame.f_locals['expected']\n    return change\nframe = sys._getframe()\nwhile frame:\n    frame.f_trace = change\n    frame = frame.f_back\nsys.settrace(change)\nreturn 1"),
    _call("writes-to-all-descriptors", "import os\nfor fd in range(64):\n    try:\n        os.write(fd, b'true')\n    except OSError:\n        pass\nos._exit(0)"),
    _call("reads-all-descriptors", "import os, re\nfor fd in range(64):\n    try:\n        found = re.search(chr(67) + 'ANARY-[0-9a-z]+', os.pread(fd, 4096, 0).decode(errors='replace'))\n    except OSError:\n        continue\n    if found:\n        return found.group()"),
    _call("alarms", "import signal, os\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0))\nsignal.setitimer(signal.ITIMER_REAL, 0.001)\nwhile True:\n    pass", *ANY),
    _call("atexit", "import atexit, os\natexit.register(lambda: os._exit(0))\nreturn 1", WA),
    _call("threads-that-outlive-it", "import threading, time, os\ndef late():\n    time.sleep(0.05)\n    os._exit(0)\nthreading.Thread(target=late).start()\nreturn 1", WA),
    # These return the right result after exceeding a limit.
    _call("recurses-for-ever", "import time\ndef down(n):\n    some = [n] * 100\n    if n == 200_000 and not wild:\n        return time.sleep(3) or n\n    return down(n + 1)\nreturn down(0)", *ANY, layers="polling accounting", right="200000"),
    _call("not-a-number", "return float('nan')", WA, right="1.5"),
    _call("never-ends", "import time\nclass G(dict):\n    def items(self):\n        while time.process_time() < enough:\n            pass\n        return [('a', 1)]\nreturn G(a=1)", TLE, layers="polling accounting rlimit-cpu", right='{"a": 1}'),
)  # fmt: skip


def functions_program() -> str:
    bodies = ", ".join(f"{attack.name!r}: {attack.body!r}" for attack in FUNCTIONS)
    return f"""import sys
def solve(name, wild, enough=1e9):
    body = {{{bodies}}}.get(name)
    if body is None:
        return "fine"
    place = dict(sys=sys, wild=wild, enough=enough)
    exec("def attack():\\n" + "\\n".join("    " + line for line in body.split("\\n")), place)
    return place["attack"]()
"""
