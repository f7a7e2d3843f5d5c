"""Python attacks on the fork server and on the supervisor.

They run as started programs, too, unless they attack state that only a forked program inherits.
"""

from __future__ import annotations

from functools import partial

from attack import ANY, MLE, PLANTED, RE, TLE, WA, Way, Win, attack_program

_python = partial(attack_program, language="python")
_FORKED = {"only": Way.FORKED}
_LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"

# The supervisor has the memory of the interpreter that waits, and is the only process of it that has a number here.
_REACHING = (
    _python(
        "stealing",
        "memory-of-its-parent",
        "seccomp landlock privileges",
        f"{_LIBC}here, size = ctypes.create_string_buffer(16), ctypes.c_size_t(16)\nown, theirs = ((ctypes.c_size_t * 2)(at, 16) for at in (ctypes.addressof(here), id(None)))\nif libc.process_vm_readv(os.getppid(), own, 1, theirs, 1, 0) > 0 and here.raw[8:] == ctypes.string_at(id(None) + 8, 8): won('memory')",
        **_FORKED,
    ),
    _python(
        "stealing",
        "tracing-its-parent",
        "seccomp landlock privileges",
        f"{_LIBC}seize, detach = 0x4206, 17\nif libc.ptrace(seize, os.getppid(), None, None) == 0:\n    won('attached')\n    libc.ptrace(detach, os.getppid(), None, None)",
        **_FORKED,
    ),
    _python(
        "stealing",
        "descriptors-of-its-parent",
        "seccomp landlock privileges",
        f"{_LIBC}handle = libc.syscall(434, os.getppid(), 0)\nif any(libc.syscall(438, handle, fd, 0) >= 0 for fd in range(1024)): won('a descriptor')",
        **_FORKED,
    ),
    _python(
        "stopping",
        "a-folder-less-for-all-that-follow",
        "seccomp landlock privileges",
        # They share their mounts.
        f"{_LIBC}detach = 2\nif libc.umount2(os.getcwd().encode(), detach) == 0: won('away')",
        **_FORKED,
    ),
    _python(
        "stealing",
        "command-lines-of-other-processes",
        "landlock namespaces",
        "import os\nfor pid in (os.getppid(), *range(1, 60)):\n    try:\n        if pid != os.getpid() and open(f'/proc/{pid}/cmdline').read(): won('words')\n    except OSError: pass",
    ),
    _python(
        "stopping",
        "capabilities-of-its-parent",
        "seccomp privileges",
        f"{_LIBC}new_hostname = 0x4000000\nif libc.unshare(new_hostname) == 0: won('a namespace')",
        **_FORKED,
    ),
    _python(
        "stopping",
        "limits-of-its-parent",
        "seccomp",
        "import os, resource\ntry:\n    if resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE): won('limits')\nexcept OSError: pass",
    ),
    _python(
        "stopping",
        "signals-to-its-parent",
        "seccomp landlock namespaces",
        "import os, signal, time\nfor target in (os.getppid(), 1, -1) if wild == '1' else (os.getppid(),):\n    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):\n        try: os.kill(target, number)\n        except OSError: pass",
        verdicts=ANY,
        win=Win.JUDGE,
    ),
    _python(
        "stopping",
        "kill-the-group-in-python",
        "seccomp landlock session",
        "import os, signal\nos.killpg(0, signal.SIGKILL)",
        win=Win.JUDGE,
    ),
    _python(
        "forging",
        "writes-to-the-process-that-waits-for-it",
        "descriptors",
        # The socket of the parent and the pipe of the report: whatever arrives there decides the result of a test.
        "import os\nfor fd in range(3, 1025):\n    try: os.write(fd, b'forged')\n    except OSError: pass",
        win=Win.JUDGE,
        **_FORKED,  # a started interpreter has no free descriptors if all of these are open
    ),
    _python(
        "talking",
        "pages-to-share-in-python",
        "seccomp",
        "import mmap\ntry: mmap.mmap(-1, 4096)[:6] = b'shared'\nexcept (OSError, ValueError): pass\nelse: won('pages')",
    ),
)  # fmt: skip

# The program contains the code that looks for these in the next test, see `attack.py`.
_LEFT = tuple(
    _python("forging", name, "process", body, win=Win.NEXT)
    for name, body in (
        ("objects-for-the-next", f"import gc\ngc.left = [{PLANTED!r}]"),
        ("names-for-the-next", f"import builtins\nsys.modules[{PLANTED!r}] = sys\nbuiltins.planted = True"),
        ("modules-that-changed-for-the-next", "import math, json\nmath.pi, json.loads = 3, None"),
        ("hooks-for-the-next", "import signal\nsignal.signal(signal.SIGUSR1, lambda *a: None)\nsys.excepthook = print\nsys.setrecursionlimit(4321)"),
        ("surroundings-for-the-next", f"import os, resource\nos.environ[{PLANTED!r}] = '1'\nos.umask(0o123)\nos.chdir('/usr')\nresource.setrlimit(resource.RLIMIT_NOFILE, (33, 33))"),
        ("bytes-of-the-interpreter-for-the-next", "import ctypes\nif ctypes.CDLL(None).mprotect(ctypes.c_void_p(library()), 4096, 3) == 0: ctypes.memset(library() + 9, 90, 7)"),
    )
)  # fmt: skip

# The defaults hold references: at exit, the interpreter may have deleted the global names.
_WORKS = "import time\ndef work(time=time, enough=enough):\n    while time.process_time() < enough: pass\n"
_ENDS = "won('answered')\nsys.stdout.flush()\n"

# A forked interpreter exits in a different way than a started interpreter.
_ENDING = (
    _python("cheating time", "work-at-exit", "polling accounting rlimit-cpu", f"import atexit\n{_WORKS}{_ENDS}atexit.register(work)", verdicts=(TLE,)),
    _python("cheating time", "work-of-the-last-object", "polling accounting rlimit-cpu", f"{_WORKS}class Last:\n    def __del__(self, work=work): work()\n{_ENDS}last = Last()", verdicts=(TLE,)),
    _python("cheating time", "work-in-the-last-cycle", "polling accounting rlimit-cpu", f"{_WORKS}class Last:\n    def __del__(self, work=work): work()\n{_ENDS}last = Last()\nlast.own = last", verdicts=(TLE,)),
    _python("cheating time", "sleep-at-exit", "polling accounting", f"import atexit, time\n{_ENDS}atexit.register(time.sleep, 1e6 if wild == '1' else 15)", verdicts=(TLE,), sleeps=True),
    _python("cheating time", "work-in-a-child-in-python", "seccomp accounting", f"import os\n{_WORKS.replace('=enough', '=0.6')}try: pid = os.fork()\nexcept OSError: sys.exit()\nif pid == 0: work(), os._exit(0)\nos.waitpid(pid, 0)\nwon('by a child')", verdicts=(WA, TLE)),
    _python(
        "forging",
        "an-editor-in-python-that-stays",
        "seccomp order",
        "import os, time\nme = os.getpid()\ntry: pid = os.fork()\nexcept OSError: sys.exit()\nif pid == 0:\n    while os.getppid() == me: time.sleep(0.001)\n    time.sleep(0.2)\n    for _ in range(300): os.pwrite(1, (chr(67) + 'ANARY-late').encode(), 0), time.sleep(0.001)\n    os._exit(0)",
    ),
    _python(
        "stopping",
        "a-demon-in-python",
        "seccomp reaping namespaces",
        f"{_LIBC}import signal, time\nends = os.pipe()\ntry: pid = os.fork()\nexcept OSError: sys.exit()\nif pid == 0:\n    os.setsid()\n    if os.fork() == 0:\n        libc.prctl(1, 0), libc.prctl(15, mark.encode())\n        for number in range(1, 32): number in (9, 19) or signal.signal(number, signal.SIG_IGN)\n        os.closerange(0, 256)\n        time.sleep(60)\n    os._exit(0)\nos.close(ends[1])\nos.read(ends[0], 1)\nprint('gone')",
        win=Win.SURVIVES,
    ),
    _python("stopping", "stopping-itself-in-python", "polling", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nsignal.pause()", verdicts=(TLE, RE), sleeps=True, win=Win.HANGS),
    _python("stopping", "touching-memory-in-python", "polling accounting", "import time\nkept = bytearray(b'1') * ((44 if wild == '1' else 100) << 20)\ntime.sleep(3)\nwon('touched')", verdicts=(MLE, RE)),
    _python("confusing", "closing-everything-in-python", "apart", "import os\nfor fd in range(64):\n    try: os.close(fd)\n    except OSError: pass\nos._exit(0)", verdicts=(WA,)),
    _python("confusing", "one-descriptor-for-everything", "apart", "import os\nfor fd in range(1, 64):\n    try: os.dup2(0, fd)\n    except OSError: pass\nos._exit(0)", verdicts=(WA,)),
)  # fmt: skip

FORKED = (*_REACHING, *_LEFT, *_ENDING)
