"""Programs by which a participant of a contest asks for what only the judge has, by runs, samples and submissions.

The input of a run names paths that hold the secret: hidden tests, the judge's grader, the contest's folder with
tokens and other participants' programs, the server's environment. A program wins if any answer holds the secret.
"""

from __future__ import annotations

from dataclasses import dataclass

SECRET = "CANARY-77c2ab10"  # in all that is hidden


@dataclass(frozen=True, kw_only=True)
class Asking:
    name: str
    code: str
    language: str = "python"
    problem: str = "open"  # `open` has no grader; `graded` hands out a sample grader


_PATHS = "import os, sys\npaths = sys.stdin.read().split('\\n')\n"
_TELL = """
def tell(read):
    try:
        print(read())
    except BaseException as error:
        print(type(error).__name__)
"""

PROGRAMS = (
    Asking(
        name="opens-what-it-knows",
        code=_PATHS + _TELL + "for path in paths: tell(lambda: open(path, 'rb').read())\n",
    ),
    Asking(
        name="walks-the-folders",
        code=_PATHS
        + _TELL
        + "for path in [*map(os.path.dirname, paths), '/tmp', '/dev/shm', '/var/tmp', os.getcwd(), '..', '../..']:\n"
        "    for folder, _, names in os.walk(path):\n"
        "        print(folder, names)\n"
        "        for name in names[:50]: tell(lambda: open(os.path.join(folder, name), 'rb').read(65536))\n",
    ),
    Asking(
        name="reads-other-processes",
        code=_PATHS
        + _TELL
        + "for one in filter(str.isdigit, os.listdir('/proc') if os.access('/proc', os.R_OK) else []):\n"
        "    for name in ('environ', 'cmdline', 'maps', 'fd/0', 'fd/3', 'fd/4', 'fd/5', 'root/etc/hostname', 'cwd/tokens.tsv'):\n"
        "        if int(one) != os.getpid(): tell(lambda: open(f'/proc/{one}/{name}', 'rb').read(65536))\n",
    ),
    Asking(
        name="reads-what-it-inherited",
        code=_TELL
        + "import os\nfor one in range(3, 256): tell(lambda: os.pread(one, 65536, 0)); tell(lambda: os.read(one, 1))\n"
        "print(dict(os.environ))\n",
    ),
    Asking(
        name="asks-the-server",
        code="import socket, sys\ntry:\n"
        "    with socket.create_connection(('127.0.0.1', int(sys.stdin.read().split()[-1])), 1) as one:\n"
        f"        one.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); print('{SECRET}', one.recv(100))\n"
        "except OSError as error: print(type(error).__name__)\n",
    ),
    Asking(
        name="links-to-what-it-knows",
        code=_PATHS + _TELL + "for number, path in enumerate(paths):\n"
        "    tell(lambda: os.symlink(path, f'link{number}')); tell(lambda: open(f'link{number}').read())\n"
        "    tell(lambda: os.link(path, f'hard{number}')); tell(lambda: open(f'hard{number}').read())\n",
    ),
    Asking(
        name="fails-with-what-it-read",
        code=_PATHS + "for path in paths:\n    try: text = open(path).read()\n    except OSError: continue\n"
        "    raise ValueError(text)\n",
    ),
    Asking(
        name="shouts-its-input", code="import sys\ntext = sys.stdin.read()\nprint(text)\nsys.exit(text)\n"
    ),
    Asking(
        name="includes-the-judges-grader",
        language="c++",
        problem="graded",
        code='#include "graders/grader.cpp"\n#include "../grader.cpp"\nint add(int, int) { return nonsense; }\n',
    ),
    Asking(
        name="prints-the-graders-secret",
        language="c++",
        problem="graded",
        code='#include "graded.h"\n#include <cstdio>\nextern const char *marker;\n'
        "int add(int, int) { puts(marker); fputs(marker, stderr); throw marker; }\n",
    ),
    Asking(
        name="embeds-a-file",
        language="c++",
        code='#include <cstdio>\n__asm__(".global it\\nit: .incbin \\"PATH\\"\\n.byte 0\\n");\n'
        "extern const char it[];\nint main() { puts(it); fputs(it, stderr); return 1; }\n",
    ),
    Asking(
        name="includes-a-file",
        language="c++",
        code='#include "PATH"\nint main() { return 0; }\n',
    ),
    Asking(
        name="makes-the-compiler-quote",
        language="c++",
        problem="graded",
        code="#define main static_assert(false, __FILE__); int m\n#define int nonsense\n"
        '#include "graded.h"\nint add(int a, int b) { return a + b; }\n',
    ),
)
