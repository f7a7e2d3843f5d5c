"""Programs that want more of the interpreter that forked them than a process of their own. Each prints `won` where it gets it.

They run on three inputs: `first`, `then`, and `honest`, on which every program must print `fine`.
"""

from __future__ import annotations

_HEAD = """import ctypes, gc, os, signal, sys, time
mode = input()
if mode == 'honest':
    print('fine')
    sys.exit()
libc = ctypes.CDLL(None, use_errno=True)
def won(what): print('won', what, flush=True)
def tried(what, call):
    try:
        if call() in (0, None, True): won(what)
    except (OSError, ValueError, AttributeError): pass
"""

_BODIES = {
    "ptrace": "for pid in [os.getppid(), *range(1, 60)]:\n    if pid != os.getpid(): tried(pid, lambda: libc.ptrace(16, pid, 0, 0)); tried(pid, lambda: libc.ptrace(0x4206, pid, 0, 0))",
    "its memory": "for pid in [os.getppid(), 'self', *range(1, 60)]:\n    for name in ('mem', 'maps', 'environ', 'fd', 'root', 'cwd'):\n        tried((pid, name), lambda: os.stat(f'/proc/{pid}/{name}') and None)\nif os.listdir('/proc'): won('proc')",
    "process_vm_readv": "buf = ctypes.create_string_buffer(8)\nfor pid in [os.getppid(), *range(1, 60)]:\n    if pid != os.getpid() and libc.process_vm_readv(pid, buf, 1, buf, 1, 0) >= 0: won(pid)",
    "signals": "for pid in [os.getppid(), -1, *range(3, 60)]:\n    if pid not in (0, os.getpid()):\n        for n in (0, signal.SIGSTOP, signal.SIGKILL): tried((pid, n), lambda: os.kill(pid, n))",
    "its group": "os.killpg(0, signal.SIGKILL)",
    "kill the first process": "tried('init', lambda: os.kill(1, signal.SIGKILL))",
    "descriptors": "for fd in range(3, 2000):\n    tried(fd, lambda: os.fstat(fd) and None)",
    "read from descriptors": "for fd in range(3, 300):\n    tried(fd, lambda: os.read(fd, 1) and None)\n    tried(fd, lambda: os.write(fd, b'x') and None)",
    "capabilities": "for flag in (0x20000, 0x20000000, 0x10000000, 0x40000000, 0x8000000): tried(flag, lambda: libc.unshare(flag))\ntried('mount', lambda: libc.mount(b'x', b'/tmp', b'tmpfs', 0, None))\ntried('umount', lambda: libc.umount2(b'/box', 2))\ntried('chroot', lambda: os.chroot('/'))\ntried('uid', lambda: os.setuid(0))",
    "dumpable and privileges": "for option, value in ((4, 0), (4, 1), (36, 1), (47, 2), (8, 1), (28, 0)): tried((option, value), lambda: libc.prctl(option, value, 21, 0, 0))",
    "the room": "for path in ('/job', '/box/..', '/box/waiting.py', '/job/waiting', '/box/harness.py'):\n    names = os.path.isdir(path) and os.listdir(path)\n    if names and ('plan.json' in names or 'proctor' in names or 'waiting' in names): won(path)",
    "what lies below its folder": "text = open(__file__).read()\nif '_fresh_main' in text and '_imp.create_dynamic' in text and 'def won' not in text: won('script')",
    "objects of earlier programs": "gc.unfreeze()\nmark = 'planted-' + 'by-a-test'\nif mode == 'first':\n    import builtins\n    builtins.planted = [mark]; sys.planted = [mark]; sys.modules['planted'] = [mark]; gc.planted = [mark]; os.planted = [mark]\nelse:\n    for o in gc.get_objects():\n        if type(o) is list and len(o) == 1 and o[0] == mark: won('object')",
    "changed modules": "import math, json, builtins\nif mode == 'first':\n    math.pi = 3; json.loads = None; builtins.sum = None; sys.path.insert(0, '/x'); os.environ['PLANTED'] = '1'; sys.setrecursionlimit(50000); gc.disable()\nelif math.pi == 3 or not json.loads or not sum or '/x' in sys.path or 'PLANTED' in os.environ or sys.getrecursionlimit() == 50000 or not gc.isenabled(): won('module')",
    "hooks": "import atexit\nif mode == 'first':\n    os.register_at_fork(before=lambda: won('before'), after_in_child=lambda: won('child'), after_in_parent=lambda: won('parent'))\n    atexit.register(lambda: None); sys.excepthook = None; signal.signal(signal.SIGUSR1, lambda *a: won('signal'))\nelif signal.getsignal(signal.SIGUSR1) != signal.SIG_DFL or sys.excepthook is None: won('hook')",
    "what it reads": "if mode == 'first': print('held back', end='')\nelse:\n    rest = sys.stdin.read()\n    if 'first' in rest or 'honest' in rest: won('input')",
    "files": "for path in ('x', '/tmp/x', '/dev/shm/x', '/box/planted', '/job/planted', '/box/submission'):\n    tried(path, lambda: open(path, 'w' if mode == 'first' else 'a').close())",
    "shared memory": "import mmap\ntried('anonymous', lambda: mmap.mmap(-1, 4096) and None)\nif libc.shmget(7, 4096, 0o1777) >= 0: won('segment')",
    "fork bomb": "for _ in range(2000):\n    try:\n        if os.fork() == 0: time.sleep(60)\n        won('fork')\n    except OSError: pass",
    "thread bomb": "import threading\nfor _ in range(500):\n    try: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n    except RuntimeError: break",
    "memory bomb": "kept = []\nwhile True: kept.append(bytearray(1 << 20))",
    "sleeps for ever": "time.sleep(1000)",
    "idles in a signal": "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\nsignal.sigwait([signal.SIGUSR1])",
    "computes for ever": "while True: pass",
    "crashes": "ctypes.string_at(0)",
    "ends at once": "os._exit(0)",
    "runs another interpreter": "os.execv(sys.executable, [sys.executable, '-I', '-c', \"import os\\nfor fd in range(3, 300):\\n    try:\\n        os.fstat(fd)\\n        print('won')\\n    except OSError: pass\"])",
    "loads the library again": "import _imp\nfrom importlib.machinery import ModuleSpec\nfor path in ('/proc/self/fd/4', '/job/waiting.so', '/box/waiting.so'):\n    try:\n        _imp.create_dynamic(ModuleSpec('waiting', None, origin=path)); won(path)\n    except ImportError: pass",
    "clone with flags": "for flags in (0x11, 0x8000 | 0x11, 0x20000011, 0x4111):\n    if libc.syscall(56, flags, 0, 0, 0, 0) >= 0: won(flags)",
    "sockets": "import socket\nfor family in (socket.AF_UNIX, socket.AF_INET, socket.AF_NETLINK):\n    tried(family, lambda: socket.socket(family).close())",
    "limits of others": "import resource\nfor pid in [os.getppid(), 1]:\n    tried(pid, lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)) and None)",
}  # fmt: skip

ATTACKS = {name: _HEAD + body for name, body in _BODIES.items()}
