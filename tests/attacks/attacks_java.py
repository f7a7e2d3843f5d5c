"""Attacks in Java, whose runtime needs threads, its process's entries in /proc, and a large address space."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from attack import MLE, PLANTED, RE, TLE, Win, attack_program
from support.engines import find_language
from support.folders import graders_folder
from support.proctor_protocol import PlanSubmission

CPU_TIME = 1.5  # seconds, of which the start uses 0.1
MEMORY = 96 << 20
HERE = shutil.which("java") is not None
_JAVA = find_language("java")


in_java = partial(attack_program, language="java")

JAVAS = (
    in_java(
        "stealing",
        "everything-java-finds",
        "landlock namespaces",
        """for (String path : new String[] {home, neighbour, answer, "/proc/" + ProcessHandle.current().pid() + "/environ", "/proc/1/environ"}) show(new File(path));
        for (String folder : new String[] {".", "..", "t", "/proc/self/fd", "/job"}) { File[] files = new File(folder).listFiles(); if (files != null) for (File file : files) if (!file.getPath().matches(".*/fd/[012]")) show(file); }""",
    ),
    in_java(
        "stealing",
        "name-of-its-input-in-java",
        "copies",
        'try { String name = java.nio.file.Files.readSymbolicLink(new File("/proc/self/fd/0").toPath()).toString(); if (!name.startsWith("/memfd:input")) won(name); } catch (IOException refused) { }',
        by_path=True,
    ),
    in_java(
        "stealing",
        "environment-in-java",
        "environment",
        "System.out.println(System.getenv()); System.out.println(System.getProperties());",
    ),
    in_java(
        "stopping",
        "processes-in-java",
        "seccomp",
        'Process p = new ProcessBuilder("/bin/sh", "-c", "exit 7").start(); if (p.waitFor() == 7) won("child");',
    ),
    in_java(
        "talking",
        "a-server-on-this-machine-in-java",
        "seccomp landlock namespaces",
        'try (Socket s = new Socket("127.0.0.1", port)) { won("connected"); }',
    ),
    in_java(
        "stopping",
        "thread-bomb-in-java",
        "polling",
        'for (int i = 0; i < 200; i++) { Thread t = new Thread(() -> { try { rest(60); } catch (InterruptedException stopped) { } }); t.setDaemon(true); t.start(); } rest(3); won("threads");',
        verdicts=(RE,),
    ),
    in_java(
        "cheating time",
        "a-hook-that-goes-on",
        "polling accounting rlimit-cpu",
        'won("answered"); System.out.flush(); Runtime.getRuntime().addShutdownHook(new Thread(() -> { var clock = java.lang.management.ManagementFactory.getThreadMXBean(); while (clock.getCurrentThreadCpuTime() < enough * 1e9) { } }));',
        verdicts=(TLE,),
    ),
    in_java(
        "stopping",
        "memory-outside-the-heap",
        "polling accounting",
        'var f = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe"); f.setAccessible(true); var u = (sun.misc.Unsafe) f.get(null); for (int i = 0; i < 30; i++) u.setMemory(u.allocateMemory(8 << 20), 8 << 20, (byte) 1); rest(3); won("touched");',
        verdicts=(MLE,),
    ),
    in_java(
        "forging",
        "files-for-the-next-in-java",
        "landlock namespaces",
        f'try (OutputStream out = new FileOutputStream("{PLANTED}")) {{ out.write(1); }} catch (IOException refused) {{ }}',
        win=Win.NEXT,
    ),
)  # fmt: skip


def build(code: str, jar: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "submission.java"
        source.write_text(code)
        subprocess.run(["java", str(graders_folder() / _JAVA.helper), str(jar), str(source)], check=True)


def started(jar: Path) -> dict[str, object]:
    """Return the arguments of `Bench.judge` that start the program."""
    argv = _JAVA.run_command(str(Path(shutil.which("java") or "java").resolve()), MEMORY)
    return {
        "source": "",
        "extra": {_JAVA.artifact_name: jar.read_bytes()},
        "submission": PlanSubmission(
            argv=argv, files=(_JAVA.artifact_name,), threads=_JAVA.threads, proc=True, address_space=False
        ),
    }
