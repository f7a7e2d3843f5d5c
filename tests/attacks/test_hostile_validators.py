"""Hostile validators of packages. A validator decides the score of an output and can do nothing else.

The validators in C++ belong to a Kattis package, the checkers in Python to a DMOJ package. A validator accepts the
output only if its attack succeeded, so the verdict AC means a successful attack.
"""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from support.servers import FixedServers

from ioi_eval import EmbeddedEngine, JudgeOptions, PistonEngine, Scorer, Store
from ioi_eval.errors import JudgeFailure
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    CheckerLimits,
    Limits,
    NamedBlob,
    Problem,
    Submission,
    Test,
    Verdict,
)
from ioi_eval.server import Server, ServerOptions

SECRET = "WALNUT-7731"
ECHO = "print(input())\n"
_HEAD = """#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <initializer_list>
#include <sys/socket.h>
#include <sys/stat.h>
#include <netinet/in.h>
#include <unistd.h>
extern char** environ;
static int number, port;
static const char *home, *answers;
[[noreturn]] static void won() { _exit(42); }
static bool opens(const char* path, int how) { return open(path, how, 0666) >= 0; }
static const char* in(const char* folder, const char* name) { static char path[8192]; sprintf(path, "%s/%s", folder, name); return path; }
"""
# By target. `home` and `answers` are folders with secrets, `port` is the port of a server that the test started.
CPP = {
    "the environment": 'for (char** line = environ; *line; line++) if (strstr(*line, "WALNUT")) won();',
    "the environment of those above": (
        "char text[65536]; for (int pid : {1, int(getppid())}) {"
        ' char path[64]; sprintf(path, "/proc/%d/environ", pid); int f = open(path, O_RDONLY);'
        " long n = f < 0 ? 0 : read(f, text, sizeof text);"
        ' if (n > 0 && memmem(text, n, "WALNUT", 6)) won(); }'
    ),
    "a file of the user": 'if (opens(in(home, "secret"), O_RDONLY)) won();',
    "a file in the user's folder": 'if (opens(in(home, "new"), O_WRONLY | O_CREAT)) won();',
    "files of the system": 'for (auto p : {"/etc/new", "/usr/new", "/usr/lib/new"}) if (opens(p, O_WRONLY | O_CREAT)) won();',
    "users of the machine": 'if (opens("/etc/shadow", O_RDONLY) || opens("/root/.bashrc", O_RDONLY)) won();',
    "a server of this machine": (
        "int s = socket(AF_INET, SOCK_STREAM, 0); sockaddr_in to{}; to.sin_family = AF_INET;"
        " to.sin_port = htons(port); to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);"
        " if (s >= 0 && connect(s, (sockaddr*)&to, sizeof to) == 0) won();"
    ),
    "the process that started it": "if (kill(getppid(), SIGTERM) == 0) { sleep(1); won(); }",
    "another test's answer": 'for (auto p : {"../1.out", "1.out", "../../answers/1", in(answers, "1")}) if (opens(p, O_RDONLY)) won();',
    "the output, once more": 'if (opens("/proc/self/fd/0", O_WRONLY) && opens("/dev/shm/new", O_WRONLY | O_CREAT)) won();',
}
PYTHON = {
    "the environment": "won(any('WALNUT' in value for value in os.environ.values()))",
    "a file of the user": "won(open(home + '/secret').read())",
    "a file in the user's folder": "won(open(home + '/new', 'w'))",
    "users of the machine": "won(open('/etc/shadow').read())",
    "a server of this machine": "import socket\nwon(socket.create_connection(('127.0.0.1', int(port)), timeout=2))",
}
# These waste resources: their test gets no verdict, and the next test is judged normally.
WASTEFUL = {
    "it loops forever": "for (;;) {}",
    "it sleeps": "for (;;) pause();",
    "it prints forever": "static char text[1 << 16]; for (;;) if (write(1, text, sizeof text) < 0) _exit(1);",
    "it allocates all memory": "for (;;) memset(malloc(1 << 20), 1, 1 << 20);",
    "it starts processes": "for (;;) fork();",
    "it fills the disk": 'static char text[1 << 16]; int f = open("all", O_WRONLY | O_CREAT, 0666); for (;;) if (write(f, text, sizeof text) < 0) _exit(1);',
    "it creates files": 'char name[16]; for (int i = 0;; i++) if (sprintf(name, "%d", i), !opens(name, O_WRONLY | O_CREAT)) _exit(1);',
}


def problem(checker: Checker, inputs: Sequence[str]) -> Problem:
    return Problem(
        id="echo",
        limits=Limits.contest(2.0, 256 << 20),
        checker=checker,
        tests=tuple(
            Test(name=content.split()[0], input=Blob.of(content), answer=Blob.of(content))
            for content in inputs
        ),
    )


def validators(bodies: Sequence[str]) -> Checker:
    """Return a validator that contains all `bodies`, because a single compilation is quicker.

    The input of a test selects a body and contains the paths and the port.
    """
    cases = "".join(f" case {number}: {{ {body} }} break;" for number, body in enumerate(bodies))
    source = f"""{_HEAD}int main(int, char** argv) {{
  static char first[4096], second[4096];
  if (fscanf(fopen(argv[1], "r"), "%d %4095s %4095s %d", &number, first, second, &port) < 1) return 1;
  home = first, answers = second;
  switch (number) {{{cases} }}
  _exit(43);
}}
"""
    return Checker(kind=CheckerKind.ICPC, sources=(NamedBlob(name="validate.cpp", content=Blob.of(source)),))


def scripts(bodies: Sequence[str]) -> Checker:
    code = "import os, sys\ndef won(success):\n    sys.exit(42 if success else 43)\n"
    code += "n, home, answers, port = open(sys.argv[1]).read().split()\ntry:\n"
    for number, body in enumerate(bodies):
        code += f"    if n == '{number}':\n" + "".join(f"        {line}\n" for line in body.splitlines())
    code += "except Exception:\n    sys.exit(43)\nsys.exit(43)\n"
    source = NamedBlob(name="check.py", content=Blob.of(code))
    return Checker(kind=CheckerKind.ICPC, sources=(source,), language="python")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "secret").write_text(SECRET)
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "1").write_text(SECRET)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("IOI_EVAL_TOKEN", SECRET)
    return home


@pytest.fixture(params=["here", pytest.param("a worker", marks=pytest.mark.nightly)])
async def judge(
    request: pytest.FixtureRequest, store: Store, home: Path
) -> AsyncIterator[tuple[Scorer, int]]:
    """Yield a scorer, and the port of a server on the same machine."""
    few: dict[str, int] = {"max_disk": 64 << 20, "max_names": 3000, "max_processes": 64}
    engine = EmbeddedEngine(store=store, slots=2, **few)
    async with engine, Server(engine, ServerOptions(port=0)) as server:
        port = int(server.url.rsplit(":", 1)[1])
        local = EmbeddedEngine(store=store, slots=1, **few)
        judging = local if request.param == "here" else PistonEngine(FixedServers([server.url]))
        options = JudgeOptions(
            all_tests=True, checker=CheckerLimits(cpu_time=1.0, wall_time=6.0, memory=256 << 20)
        )
        trusted = EmbeddedEngine(store=store, slots=1)  # as commands have it
        async with Scorer(judging, store=store, options=options, trusted=trusted) as scorer:
            yield scorer, port


async def verdicts(scorer: Scorer, checker: Checker, *inputs: str) -> list[Verdict]:
    submission = Submission(key="k", problem_id="echo", code=ECHO, language="python")
    return [test.status for test in (await scorer.score(problem(checker, inputs), submission)).tests]


async def test_validator_cannot_access_the_machine(judge: tuple[Scorer, int], home: Path) -> None:
    scorer, port = judge
    for table, won, make in ((CPP, "won();", validators), (PYTHON, "won(True)", scripts)):
        bodies = [won, *table.values()]
        inputs = [f"{number} {home} {home.parent}/answers {port}" for number in range(len(bodies))]
        first, *results = await verdicts(scorer, make(bodies), *inputs)
        assert first is Verdict.AC, "a success would be seen"
        assert dict(zip(table, results, strict=True)) == dict.fromkeys(table, Verdict.WA)
    assert (home / "secret").read_text() == SECRET and not (home / "new").exists()


def test_unconfined_validator_can_access_the_machine(home: Path, tmp_path: Path) -> None:
    names = ("the environment", "a file of the user", "a file in the user's folder")
    (source,) = validators([CPP[name] for name in names]).sources
    (tmp_path / "bare.cpp").write_bytes(source.content.read())
    subprocess.run(["g++", "-O0", "-o", "bare", "bare.cpp"], cwd=tmp_path, check=True)
    for number, name in enumerate(names):
        (tmp_path / "given").write_text(f"{number} {home} none 0")
        assert subprocess.run(["./bare", "given"], cwd=tmp_path, check=False).returncode == 42, name


@pytest.mark.nightly
async def test_output_validator_over_its_limits_is_a_judge_failure(judge: tuple[Scorer, int]) -> None:
    scorer, _ = judge
    checker = validators(["won();", *WASTEFUL.values()])
    for number, way in enumerate(WASTEFUL, start=1):
        with pytest.raises(JudgeFailure):
            pytest.fail(f"{way}: {await verdicts(scorer, checker, f'{number} none none 0')}")
        assert await verdicts(scorer, checker, "0 none none 0") == [Verdict.AC], way
