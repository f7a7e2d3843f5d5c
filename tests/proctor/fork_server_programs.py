"""Programs that must have the same result whether Python was started or forked by the fork server.

Standard error goes to standard output, so that all output is compared. A program prints nothing that differs
between two starts: no address, no hash, no time.
"""

from __future__ import annotations

GIVEN = "3 4\nsecond line\n\nümläut ✓\nlast without an end"

# Expressions about the program and its surroundings, each of which is printed.
EXPRESSIONS = """
__name__ ; __file__ ; __doc__ ; __package__ ; __spec__ ; __cached__ ; __annotations__
type(__loader__).__name__ ; __loader__.name ; __loader__.path
sorted(globals())
type(__builtins__).__name__ ; __builtins__.__name__
sys.argv ; sys.orig_argv ; sys.path ; sys.flags ; sys.warnoptions ; sys._xoptions ; sys.version ; sys.executable
sys.prefix ; sys.exec_prefix ; sys.base_prefix ; sys.platform ; sys.implementation.name ; sys.byteorder
sys.getrecursionlimit() ; sys.getswitchinterval() ; sys.getdefaultencoding() ; sys.getfilesystemencoding()
sys.getfilesystemencodeerrors() ; sys.dont_write_bytecode ; sys.pycache_prefix ; sys.float_info ; sys.int_info
sys.hash_info ; sys.thread_info ; sys.maxsize ; sys.gettrace() ; sys.getprofile() ; sys.is_finalizing()
sorted(sys.modules) ; sorted(sys.path_importer_cache) ; len(sys.meta_path) ; len(sys.path_hooks)
sys.modules['__main__'].__dict__ is globals() ; sys._getframe().f_back ; sys._getframe().f_lineno
sys._getframe().f_code.co_filename ; sys._getframe().f_code.co_name ; len(sys._current_frames())
sys.exc_info() ; hasattr(sys, 'last_value') ; hasattr(sys, 'ps1') ; sys.excepthook is sys.__excepthook__
sys.displayhook is sys.__displayhook__ ; sys.breakpointhook is sys.__breakpointhook__
sys.unraisablehook is sys.__unraisablehook__ ; getattr(sys, 'get_int_max_str_digits', int)()
[(s.encoding, s.errors, s.newlines, s.line_buffering, s.write_through, s.mode, s.name, s.fileno(), s.closed, s.seekable(), s.isatty()) for s in (sys.stdin, sys.stdout, sys.stderr)]
[(type(s.buffer), s.buffer.raw.mode, s.buffer.raw.closefd, s.buffer.raw.name) for s in (sys.stdin, sys.stdout, sys.stderr)]
[sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__] ; sys.stdin.tell()
repr(sys.stdin) ; repr(sys.stdout) ; repr(sys.stderr)
dict(os.environ) ; os.getcwd() ; os.getpid() ; os.getppid() ; os.getuid() == os.geteuid() ; os.getgroups() == os.getgroups()
os.getpgrp() == os.getpid() ; os.getsid(0) == os.getpid() ; os.umask(0o22) ; sorted(os.listdir('.')) ; os.path.exists('/job')
os.path.exists('/proc/self') ; os.listdir('/proc') ; os.listdir('/tmp') ; sorted(os.listdir('/')) ; os.access('.', os.W_OK)
[fd for fd in range(200) if _open(fd)] ; os.cpu_count() ; os.get_inheritable(0) ; os.get_blocking(0)
[resource.getrlimit(getattr(resource, name)) for name in sorted(dir(resource)) if name.startswith('RLIMIT_') and name != 'RLIMIT_NPROC']
resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime ; resource.getrusage(resource.RUSAGE_SELF).ru_utime < 1
[signal.getsignal(n) for n in sorted(signal.valid_signals()) if n not in (signal.SIGKILL, signal.SIGSTOP)]
signal.pthread_sigmask(signal.SIG_BLOCK, []) ; signal.getitimer(signal.ITIMER_REAL) ; signal.set_wakeup_fd(-1)
gc.isenabled() ; gc.get_threshold() ; gc.get_debug() ; gc.callbacks ; gc.garbage
threading.active_count() ; threading.main_thread() is threading.current_thread() ; threading.stack_size()
threading.current_thread().name ; threading.current_thread().daemon ; threading.get_native_id() == os.getpid()
threading.main_thread().ident == threading.get_ident() ; threading.current_thread().native_id == os.getpid()
time.process_time() < 1 ; time.thread_time() < 1 ; time.tzname ; locale.setlocale(locale.LC_ALL) ; locale.getpreferredencoding()
__debug__ ; inspect.stack()[0].filename ; inspect.currentframe().f_back ; inspect.getsource(_open)
inspect.getsourcefile(_open) ; inspect.getmodule(_open).__name__ ; warnings.filters ; atexit._ncallbacks()
faulthandler.is_enabled() ; tracemalloc.is_tracing() ; decimal.getcontext().prec
dict(contextvars.copy_context()) ; list(threading._active.values()) == [threading.main_thread()]
"""

# Whole programs. It does not matter what they print, only that it is the same in both ways.
PROGRAMS = {
    "empty": "",
    "comment": "# nothing",
    "no final newline": "print(1)",
    "carriage returns": "print(1)\r\nprint(2)\r\n",
    "byte order mark": "\ufeffprint(1)",
    "declared encoding": "# -*- coding: latin-1 -*-\nprint(len('\u00fc'))",
    "unknown encoding": "# -*- coding: klingon -*-\nprint(1)",
    "form feed": "\fprint(1)",
    "NUL": "print(1)\0",
    "syntax error": "def f(:\n    pass",
    "indentation error": "if 1:\nprint(1)",
    "tabs and blanks": "if 1:\n\tprint(1)\n        print(2)",
    "unterminated": "print('''abc",
    "too deep": "(" * 300 + ")" * 300,
    "future": "from __future__ import annotations\ndef f(x: unknown): pass\nprint(f.__annotations__)",
    "future too late": "x = 1\nfrom __future__ import division",
    "future unknown": "from __future__ import braces",
    "syntax warning": "x = 1\nprint(x is 1)",
    "deprecated escape": "print('\\d')",
    "main": "if __name__ == '__main__':\n    print('main')",
    "docstring": "'''the doc'''\nprint(__doc__)",
    "annotation": "x: int = 1\nprint(__annotations__)",
    "read all": "print(repr(sys.stdin.read()))",
    "read lines": "print(sys.stdin.readlines())",
    "iterate": "for line in sys.stdin: print(repr(line))",
    "input to the end": "while True: print(repr(input()))",
    "input with a prompt": "print(input('prompt> '))",
    "input mixed": "print(input()); print(repr(sys.stdin.readline())); print(repr(sys.stdin.read(3))); print(repr(sys.stdin.buffer.read(2)))",
    "binary": "print(sys.stdin.buffer.read())",
    "binary lines": "print(sys.stdin.buffer.readlines())",
    "descriptor": "print(os.read(0, 1000))",
    "open 0": "print(open(0).read())",
    "open dev stdin": "print(open('/dev/stdin').read())",
    "fileinput": "import fileinput\nprint(list(fileinput.input()))",
    "seek": "sys.stdin.read(); sys.stdin.seek(0); print(sys.stdin.read(4))",
    "mmap": "import mmap\nprint(mmap.mmap(0, 0, prot=mmap.PROT_READ)[:3])",
    "fstat": "import stat\nprint(stat.S_ISREG(os.fstat(0).st_mode), os.fstat(0).st_size)",
    "write to stdin": "sys.stdin.write('x')",
    "close stdin": "sys.stdin.close()\ninput()",
    "big output": "print('x' * 700_000)",
    "output over the limit": "print('x' * 3_000_000)",
    "output over the limit, unbuffered": "while True: os.write(1, b'x' * 65536)",
    "output over the limit, caught": "try:\n    sys.stdout.write('x' * 3_000_000); sys.stdout.flush()\nexcept OSError as e:\n    os.ftruncate(1, 0)\n    os.write(2, repr(e).encode())",
    "binary output": "sys.stdout.buffer.write(bytes(range(256)))",
    "mixed output": "print(1); sys.stdout.flush(); sys.stdout.buffer.write(b'2\\n'); print(3); os.write(1, b'4\\n')",
    "unflushed": "sys.stdout.write('no line end')",
    "own writer": "class W:\n    def write(self, t): sys.__stdout__.write(t.upper())\n    def flush(self): sys.__stdout__.write('flushed')\nsys.stdout = W()\nprint('text')",
    "string output": "import io\nsys.stdout = io.StringIO()\nprint('gone')",
    "bytes output": "import io\nout = io.BytesIO()\nout.write(b'text\\n')\nos.write(1, out.getvalue())",
    "atexit output": "import io, atexit\nbuf = io.BytesIO(); sys.stdout.write = lambda s: buf.write(s.encode())\natexit.register(lambda: os.write(1, buf.getvalue()))\nprint('late')",
    "unclosed file": "f = open(1, 'w')\nf.write('kept')",
    "unclosed binary file": "f = os.fdopen(1, 'wb')\nf.write(b'kept')",
    "unclosed cycle": "f = open(1, 'w', closefd=False)\nf.write('kept')\nf.me = f" ,
    "wrapper": "import io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-16')\nprint('x')",
    "reconfigure": "sys.stdout.reconfigure(encoding='latin-1', errors='replace')\nprint('\\u2713')",
    "surrogates": "print(os.fsdecode(b'\\xff'))",
    "unencodable": "sys.stdout.reconfigure(errors='strict')\nprint('\\ud800')",
    "closed output": "os.close(1)\nprint('x')",
    "closed output object": "sys.stdout.close()\nprint('x')",
    "closed both": "os.close(1); os.close(2)\nprint('x')",
    "closed error": "os.close(2)\nraise ValueError",
    "closed pipe": "r, w = os.pipe() if False else (None, None)\nprint('none')",
    "full device": "sys.stdout.flush()\nos.dup2(os.open('/dev/full', os.O_WRONLY), 1)\nprint('x')",
    "full device at the end": "os.dup2(os.open('/dev/full', os.O_WRONLY), 1)\nsys.stdout.write('x')",
    "None for output": "sys.stdout = None\nprint('x')",
    "None for errors": "sys.stderr = None\nraise ValueError",
    "exit": "print(1)\nsys.exit()",
    "exit 0": "sys.exit(0)",
    "exit 3": "sys.exit(3)",
    "exit 256": "sys.exit(256)",
    "exit 257": "sys.exit(257)",
    "exit -1": "sys.exit(-1)",
    "exit huge": "sys.exit(1 << 70)",
    "exit True": "sys.exit(True)",
    "exit float": "sys.exit(2.5)",
    "exit text": "print('before')\nsys.exit('a reason')",
    "exit None": "sys.exit(None)",
    "exit tuple": "sys.exit((1, 2))",
    "exit bad text": "class X:\n    def __str__(self): raise ValueError\nsys.exit(X())",
    "exit surrogate": "sys.exit('\\ud800')",
    "exit in a function": "def f(): sys.exit(4)\nf()",
    "exit in a thread": "t = threading.Thread(target=sys.exit, args=(5,)); t.start(); t.join(); print('on')",
    "exit with finally": "try:\n    sys.exit(6)\nfinally:\n    print('finally')",
    "exit in atexit": "import atexit\natexit.register(sys.exit, 7)",
    "exit subclass": "class E(SystemExit): pass\nraise E(8)",
    "exit class": "raise SystemExit",
    "exit code attribute": "e = SystemExit(1)\ne.code = 9\nraise e",
    "exit in a group": "raise BaseExceptionGroup('g', [SystemExit(3)]) if sys.version_info >= (3, 11) else SystemExit(3)",
    "quit": "quit(3)",
    "site exit": "exit()",
    "os._exit": "print('lost')\nos._exit(3)",
    "os._exit 0": "os.write(1, b'seen')\nos._exit(0)",
    "abort": "os.abort()",
    "kill itself": "os.kill(os.getpid(), signal.SIGKILL)",
    "terminate itself": "os.kill(os.getpid(), signal.SIGTERM)",
    "interrupt itself": "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(1)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "KeyboardInterrupt in a function": "def f(): raise KeyboardInterrupt('x')\nf()",
    "KeyboardInterrupt with output": "print('kept')\nraise KeyboardInterrupt",
    "segfault": "import ctypes\nctypes.string_at(0)",
    "broken pipe": "raise BrokenPipeError",
    "exception": "1 / 0",
    "exception in a function": "def f(x):\n    return g(x)\ndef g(x):\n    return x[5]\nf([])",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('second') from e",
    "in handling": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    [][1]",
    "notes": "e = ValueError('x')\ngetattr(e, 'add_note', str)('a note')\nraise e",
    "group": "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])" ,
    "name hint": "print(prnit)",
    "attribute hint": "sys.exti()",
    "missing module": "import surely_not_there",
    "missing in a module": "from math import surely_not_there",
    "bad str": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
    "no exception": "raise 5",
    "recursive repr": "def f(): f()\nf()",
    "recursion caught": "def f(n):\n    return f(n + 1)\ntry:\n    f(0)\nexcept RecursionError as e:\n    print(e)",
    "recursion depth": "def f(n):\n    global d\n    d = n\n    f(n + 1)\ntry:\n    f(0)\nexcept RecursionError:\n    print(d)",
    "recursion raised": "sys.setrecursionlimit(50_000)\ndef f(n): return n and f(n - 1)\nprint(f(20_000))",
    "recursion in a thread": "threading.stack_size(32 << 20)\nsys.setrecursionlimit(10**6)\ndef f(n): return n and f(n - 1)\nt = threading.Thread(target=lambda: print(f(30_000))); t.start(); t.join()",
    "recursion too low": "def f():\n    sys.setrecursionlimit(5)\nf()",
    "deep repr": "x = []\nfor _ in range(100_000): x = [x]\nprint(len(repr(x)))",
    "excepthook": "sys.excepthook = lambda kind, value, trace: print('hook', kind.__name__, trace.tb_lineno)\n1 / 0",
    "excepthook that fails": "def h(*a): raise TypeError('hook')\nsys.excepthook = h\n1 / 0",
    "unraisable": "class D:\n    def __del__(self): raise ValueError('in del')\nD()",
    "del at the end": "class D:\n    def __del__(self): print('gone')\nd = D()",
    "del in a cycle": "class D:\n    def __del__(self): print('cycle gone')\nd = D(); d.me = d",
    "del with imports": "class D:\n    def __del__(self):\n        import json\n        print(json)\nd = D()",
    "del of a module": "class D:\n    def __del__(self): os.write(1, b'late')\nsys.d = D()",
    "del in a module": "import math\nclass D:\n    def __del__(self): os.write(1, b'late')\nmath.d = D()",
    "del in a module in Python, and in a cycle": "import bisect, random\nclass D:\n    def __del__(self): os.write(1, b'late')\nd = D()\nd.me = d\nrandom.d, bisect.d = [d], [d]\ndel d",
    "del in builtins": "import builtins\nclass D:\n    def __del__(self): os.write(1, b'late')\nbuiltins.d = D()",
    "del in the place of another": "import math\nclass D:\n    def __del__(self): os.write(1, b'late')\nmath.pi = D()",
    "del of two": "class D:\n    def __init__(self, n): self.n = n\n    def __del__(self): print('gone', self.n)\n_a = D(1); b = D(2); c = [D(3)]; c.append(c)",
    "del that asks for modules": "class D:\n    def __del__(self): print(sys.modules.get('os') is os, sys.is_finalizing(), len(sys.path or '') > 0)\nd = D(); e = D(); e.me = e",
    "del with an exit": "class D:\n    def __del__(self): print('gone')\nd = D()\nsys.exit(5)",
    "del that fails at the end": "class D:\n    def __del__(self): 1 / 0\nd = D()",
    "del after an error": "class D:\n    def __del__(self): print('gone')\nd = D()\n1 / 0",
    "del and a full device": "class D:\n    def __del__(self): os.dup2(os.open('/dev/full', os.O_WRONLY), 1); print('x')\nd = D()\nprint('y')",
    "exit in an excepthook": "sys.excepthook = lambda *a: sys.exit(9)\n1 / 0",
    "exit of itself, with an error in flush": "os.close(1)\nprint('x')\nsys.exit(3)",
    "exit with a message and atexit": "import atexit\natexit.register(print, 'late')\nsys.exit('why')",
    "atexit run by hand": "import atexit\natexit.register(print, 'once')\natexit._run_exitfuncs()\nprint('after')\nimport json, math\nprint(math.pi)",
    "no more hooks": "sys.path_hooks.clear()\nprint(1)",
    "hooks kept": "mine = sys.path_hooks\nprint('kept')",
    "hooks kept to the last": "sys.mine = sys.path_hooks\nprint('kept')",
    "no modules": "import builtins\nsys.modules.clear()\nbuiltins.print('none')",
    "hooks gone": "sys.path_hooks = None\nimport math\nprint(math.pi)",
    "search function": "import codecs\ncodecs.register(lambda name: None)\nprint('x'.encode('latin-1'))",
    "exec in main": "exec('x = 1', globals())\nprint(x)\nsys.exit(2)",
    "thread that exits late": "def f():\n    time.sleep(0.05)\n    print('late')\n    sys.exit(3)\nthreading.Thread(target=f).start()",
    "generator at the end": "def g():\n    try:\n        yield 1\n    finally:\n        print('closed')\nx = g(); next(x)",
    "weakref": "import weakref\nclass A: pass\na = A()\nr = weakref.finalize(a, print, 'finalized')",
    "atexit": "import atexit\natexit.register(print, 'first'); atexit.register(print, 'second')\nprint('body')",
    "atexit after an error": "import atexit\natexit.register(print, 'still')\n1 / 0",
    "atexit that fails": "import atexit\natexit.register(lambda: 1 / 0)",
    "thread": "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()",
    "thread not joined": "def f():\n    while threading.main_thread().is_alive(): time.sleep(0.01)\n    print('late')\nthreading.Thread(target=f).start()\nprint('main ends')",
    "daemon thread": "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint('main ends')",
    "thread that fails": "t = threading.Thread(target=lambda: 1 / 0, name='T'); t.start(); t.join()",
    "lock": "l = threading.Lock(); print(l.acquire(), l.acquire(timeout=0.01))",
    "timer": "t = threading.Timer(0.01, print, ['timer']); t.start(); t.join()",
    "local": "x = threading.local(); x.a = 1; print(x.__dict__)",
    "pool of threads": "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as p: print(list(p.map(abs, [-1, -2])))",
    "queue": "import queue\nq = queue.Queue(); q.put(1); print(q.get())",
    "asyncio": "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return 5\ntry:\n    print(asyncio.run(f()))\nexcept BaseException as e:\n    print(type(e), e)",
    "fork": "os.fork()",
    "multiprocessing": "import multiprocessing\nif __name__ == '__main__':\n    p = multiprocessing.Process(target=print, args=(1,)); p.start(); p.join()",
    "multiprocessing pool": "import multiprocessing\ntry:\n    print(multiprocessing.Pool(2).map(abs, [1]))\nexcept OSError as e:\n    print(e)",
    "subprocess": "import subprocess\nsubprocess.run(['ls'])",
    "system": "print(os.system('ls'))",
    "exec": "sys.stdout.flush()\nos.execv('/bin/echo', ['echo', 'another'])",
    "exec itself": "sys.stdout.flush()\nos.execv(sys.executable, [sys.executable, '-I', '-c', 'print(5)'])",
    "socket": "import socket\ntry:\n    socket.socket()\nexcept OSError as e:\n    print(e)",
    "write a file": "open('x', 'w')",
    "read its source": "print(open(__file__).read()[-40:])",
    "temporary file": "import tempfile\ntempfile.TemporaryFile()",
    "read passwd": "open('/etc/passwd')",
    "signal handler": "signal.signal(signal.SIGUSR1, lambda n, f: print('got', n))\nos.kill(os.getpid(), signal.SIGUSR1)",
    "alarm": "rang = []\nsignal.signal(signal.SIGALRM, lambda n, f: rang.append(n))\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\nwhile not rang: time.sleep(0.01)\nprint('alarm')",
    "alarm not handled": "signal.setitimer(signal.ITIMER_REAL, 0.1)\nsignal.pause()",
    "SIGINT handled": "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(1)\nexcept KeyboardInterrupt:\n    print('handled')",
    "SIGPIPE": "print(signal.getsignal(signal.SIGPIPE))\nos.kill(os.getpid(), signal.SIGPIPE)\nprint('ignored')",
    "random is seeded": "import random\nrandom.seed(5)\nprint(random.random(), random.sample(range(100), 5))",
    "random differs": "import random\na = random.Random(); print(a.random() != random.random(), random.getstate()[0])",
    "hash": "print(hash(1), hash(1.5), hash((1, 2)), hash(None) == hash(None))",
    "set of numbers": "print(set(range(20, 0, -3)), {3, 1, 2})",
    "set of strings": "print(sorted({'b', 'a', 'c'}))",
    "gc": "import gc\nclass A: pass\na = A(); a.me = a; del a\ngc.collect()\nprint(gc.collect())",
    "gc off": "import gc\ngc.disable(); print(gc.isenabled())",
    "gc objects": "import gc\nx = ['mine']\nprint(any(o is x for o in gc.get_objects()))",
    "memory within the limit": "x = bytearray(30 << 20)\nprint(len(x))",
    "memory over the limit": "x = bytearray(200 << 20)\nprint(len(x))",
    "memory over the limit, slowly": "x = []\nwhile True: x.append(bytearray(1 << 20))",
    "memory in lists": "x = [[i] for i in range(150_000)]\nprint(len(x))",
    "MemoryError": "try:\n    x = bytearray(1 << 45)\nexcept MemoryError:\n    print('none')",
    "endless": "while True: pass",
    "sleep": "time.sleep(0.05)\nprint('slept')",
    "some work": "print(sum(i * i for i in range(200_000)))",
    "setrlimit": "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nprint(resource.getrlimit(resource.RLIMIT_CPU))",
    "affinity": "print(len(os.sched_getaffinity(0)) > 0)",
    "assert": "assert False, 'asserted'",
    "builtins changed": "import builtins\nbuiltins.print = None\nsys.stdout.write('x')",
    "modules changed": "import math\nmath.pi = 3\nsys.modules['json'] = None\nimport json",
    "module reloaded": "import importlib, json\nprint(importlib.reload(json).__name__)",
    "main imported": "import __main__\nprint(__main__.__file__)",
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__module__)",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\nprint(P(), sorted({P: 1}.values()))",
    "typing": "import typing\ndef f(x: 'P'): pass\nclass P: pass\nprint(typing.get_type_hints(f))",
    "enum": "import enum\nclass C(enum.Enum):\n    A = 1\nprint(C.A, list(C))",
    "decimal": "from decimal import *\ngetcontext().prec = 5\nprint(Decimal(1) / 3)",
    "fractions": "from fractions import Fraction\nprint(Fraction(1, 3) + 1)",
    "heapq": "import heapq\nh = [3, 1, 2]; heapq.heapify(h); print(heapq.heappop(h))",
    "collections": "from collections import *\nprint(Counter('aab'), deque([1]), defaultdict(int), OrderedDict(a=1))",
    "submodule by accident": "import concurrent\nprint(concurrent.futures)",
    "submodule of xml by accident": "import xml\nprint(xml.etree)",
    "ctypes callback": "import ctypes\nprint(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x + 1)(3))",
    "function of C at the end": """import ctypes
libc = ctypes.CDLL(None)
text = ctypes.c_char_p(b"bye")
getattr(libc, "__cxa_atexit")(libc.puts, text, None)
print("hello")""",
    "inspect": "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f), [f.function for f in inspect.stack()])",
    "traceback": "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    print(traceback.format_exc())\ntraceback.print_stack()",
    "trace": "n = 0\ndef t(frame, event, arg):\n    global n\n    n += 1\n    return t\nsys.settrace(t)\ndef f(): return 1\nf()\nsys.settrace(None)\nprint(n)",
    "linecache": "import linecache\nprint(linecache.getline(__file__, 2))",
    "warning": "import warnings\nwarnings.warn('careful')",
    "deprecation": "import warnings\nwarnings.warn('old', DeprecationWarning)",
    "logging": "import logging\nlogging.warning('logged')",
    "locale": "import locale\nprint(f'{1234567:n}', locale.localeconv()['decimal_point'])",
    "time zone": "print(time.strftime('%Y', time.gmtime(0)), time.timezone)",
    "big numbers": "print(len(str(3 ** 5000)))",
    "too many digits": "print(len(str(3 ** 50000)))",
    "environment changed": "os.environ['X'] = '1'\nprint(os.getenv('X'))",
    "argv used": "print(sys.argv[1])",
    "code object": "print(eval('__name__'), compile('1', 'x', 'eval').co_filename)\nexec('print(__file__)')",
    "walrus": "if (n := 5) > 3: print(n)",
    "help": "help(len)",
    "license": "license",
    "copyright": "print(copyright)",
    "sitecustomize": "print('sitecustomize' in sys.modules, 'usercustomize' in sys.modules)",
    # Both have the same filter, and may open the same files.
    "every call": "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n# On one machine or the other these wait, return from a signal, make a process or end this one.\nfor number in sorted(set(range(470)) - {15, 23, 34, 56, 57, 58, 60, 72, 73, 93, 94, 128, 130, 133, 139, 219, 220, 231, 270, 271}):\n    for argument in (-1, 0):\n        sys.stdout.flush()\n        ctypes.set_errno(0)\n        got = libc.syscall(number, *[ctypes.c_long(argument)] * 6)\n        print(number, argument, got < 0 and ctypes.get_errno())",
    "every path": "for path in [*'. .. / /box /job /job/plan.json /job/waiting /box/waiting.py /etc /etc/passwd /etc/ld.so.cache /root /home /proc /proc/self/mem /proc/1/mem /sys /dev /dev/shm /dev/mem /dev/null /dev/full /dev/zero /tmp /var /run /usr /usr/bin/python3 /lib'.split(), __file__]:\n    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_PATH, os.O_CREAT | os.O_RDWR, os.O_DIRECTORY | os.O_TMPFILE | os.O_RDWR):\n        try: print(path, flags, os.close(os.open(path, flags)))\n        except OSError as e: print(path, flags, e.errno)\n    for call in (os.listdir, os.readlink, os.rmdir, os.unlink, lambda path: os.mkdir(path + '/x'), lambda path: os.symlink('x', path + '/x'), lambda path: os.chmod(path, 0)):\n        try: print(path, call(path))\n        except OSError as e: print(path, e.errno)",
    "star imports": "from math import *\nfrom itertools import *\nprint(pi, list(islice(count(), 3)))",
}  # fmt: skip

_FIRST = "import os, sys; os.dup2(1, 2)"
_USED = ("signal", "threading", "time")
_ALL = """import os, sys; os.dup2(1, 2)
import atexit, contextvars, decimal, faulthandler, gc, inspect, locale, resource, signal, threading, time, tracemalloc
import warnings
def _open(fd):
    try:
        return os.fstat(fd) is not None
    except OSError:
        return False
"""


def found() -> str:
    """Return a program that prints the value of each expression, or its error."""
    expressions = [
        expression.strip() for line in EXPRESSIONS.strip().splitlines() for expression in line.split(" ; ")
    ]
    return _ALL + "".join(
        f"try: print({expression!r}, '=', {expression})\nexcept Exception as e: print({expression!r}, 'fails', repr(e))\n"
        for expression in expressions
    )


def whole(source: str) -> str:
    """Return a program with the modules that it uses on its first line. Its errors go to its output."""
    if source.startswith(("from __future__", "'''", "#", "\ufeff")) or not source:
        return source
    modules = [name for name in _USED if f"{name}." in source]
    return "".join((_FIRST, *(f"; import {name}" for name in modules), "\n", source))


BATCH = {"modules and environment": found(), **{name: whole(source) for name, source in PROGRAMS.items()}}
ALONE = {"output over the limit, unbuffered"}  # no other program ends this way
