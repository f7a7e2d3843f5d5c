"""Attacks on the harness that calls a function: a submission shares its process with it, but not with the expected result."""

from __future__ import annotations

from attack import ANY, RE, WA, Attack

_UNKNOWN = "the expected result is not in this process: what leaves it is a text that is compared elsewhere"


def _call(name: str, body: str, *verdicts: str) -> Attack:
    return Attack(
        name=name,
        heading="python",
        language="python",
        body=body,
        verdicts=verdicts or (WA, RE),
        inherent=_UNKNOWN,
    )


FUNCTIONS = (
    _call("exits-with-0", "sys.exit(0)", WA),
    _call("exits-at-once", "import os\nos._exit(0)", WA),
    _call("raises-in-del", "class A:\n    def __del__(self): raise RuntimeError('x')\nglobal kept\nkept = A()\nreturn A()", WA),
    _call("is-equal-to-everything", "class E:\n    def __eq__(self, other): return True\n    def __hash__(self): return 0\nreturn E()", WA),
    _call("is-an-int-that-is-equal", "class I(int):\n    def __eq__(self, other): return True\n    def __repr__(self): return 'true'\n    __str__ = __repr__\nreturn I(1)", WA),
    _call("is-a-text-that-is-equal", "class S(str):\n    def __eq__(self, other): return True\n    __hash__ = str.__hash__\nreturn S('x')", WA),
    _call("is-a-list-that-is-equal", "class L(list):\n    def __eq__(self, other): return True\nreturn L([1])", WA),
    _call("is-a-dict-that-lies", "class D(dict):\n    def __eq__(self, other): return True\n    def items(self): return iter([('a', 1)])\nreturn D()", WA),
    _call("patches-json", "import json\njson.dumps = lambda *a, **k: 'true'\njson.JSONEncoder.encode = lambda *a: 'true'\nreturn 1"),
    _call("patches-print-and-streams", "import builtins\nbuiltins.print = lambda *a, **k: None\nsys.stdout = sys.stderr = open('/dev/null', 'w')\nreturn 1"),
    _call("patches-os", "import os\nos.write = lambda fd, text: len(text)\nos._exit = lambda code: None\nreturn 1"),
    _call("looks-through-gc", "import gc\nreturn [repr(x)[:300] for x in gc.get_objects() if isinstance(x, (dict, list, tuple))][:5000]"),
    _call("looks-through-frames", "found, frame = [], sys._getframe()\nwhile frame:\n    found.append(repr(frame.f_locals)[:5000])\n    frame = frame.f_back\nreturn found"),
    _call("replaces-the-harness", "import __main__\nfor name in list(vars(__main__)):\n    if callable(getattr(__main__, name)):\n        setattr(__main__, name, lambda *a, **k: 1)\nreturn 1"),
    _call("traces-the-harness", "frame = sys._getframe()\nwhile frame:\n    frame.f_trace = lambda *a: None\n    frame = frame.f_back\nsys.settrace(lambda *a: None)\nreturn 1"),
    _call("writes-to-all-descriptors", "import os\nfor fd in range(64):\n    try:\n        os.write(fd, b'true')\n    except OSError:\n        pass\nreturn 1"),
    _call("reads-all-descriptors", "import os\nfound = []\nfor fd in range(64):\n    try:\n        found.append(os.pread(fd, 4096, 0).decode(errors='replace'))\n    except OSError:\n        pass\nreturn found"),
    _call("alarms", "import signal, os\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0))\nsignal.setitimer(signal.ITIMER_REAL, 0.001)\nwhile True:\n    pass", *ANY),
    _call("atexit", "import atexit, os\natexit.register(lambda: os._exit(0))\nreturn 1", WA),
    _call("threads-that-outlive-it", "import threading, time, os\ndef late():\n    time.sleep(0.05)\n    os._exit(0)\nthreading.Thread(target=late).start()\nreturn 1", WA),
    _call("recurses-for-ever", "def down(n):\n    return down(n + 1)\nreturn down(0)", *ANY),
    _call("not-a-number", "return float('nan')", WA),
    _call("never-ends", "class G(list):\n    def __iter__(self):\n        while True:\n            yield 1\nreturn G([1])", *ANY),
)  # fmt: skip


def functions_program() -> str:
    texts = ", ".join(f"{attack.name!r}: {attack.body!r}" for attack in FUNCTIONS)
    return f"""import sys
def solve(name):
    body = {{{texts}}}.get(name)
    if body is None:
        return "fine"
    place = dict(sys=sys)
    exec("def attack():\\n" + "\\n".join("    " + line for line in body.split("\\n")), place)
    return place["attack"]()
"""
