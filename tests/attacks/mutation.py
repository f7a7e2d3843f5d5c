"""Tries the attacks against a proctor without some layers: each named layer stops its attacks, and without
all of them they succeed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from attack import (
    CHECKER,
    FORGED,
    FRAGILE,
    IN_TIME,
    OUT_FILE,
    PROGRAM_IN,
    SECRET,
    Attack,
    Outcome,
    Way,
    Win,
    in_one_process,
    seconds_of_work,
)
from attack_environment import called, lost
from attacking_pairs import INTERACTOR, MANAGER, Pair, pairs_program
from attacks_compiling import DEEP, EMBEDS, MILD, SourceAttack
from attacks_files import HandedIn
from attacks_functions import Call
from attacks_java import CPU_TIME, HERE, started
from attacks_scripts import Script
from attacks_worker import Siege
from catalogue import ATTACKS, PAIRS, PROGRAMS
from end_to_end_trials import attempt_whole
from harness import Bench, Judged
from leftovers import children
from message_verdicts import verdict_of, words_are_believed
from support.proctor_protocol import PlanLimits, PlanManager, TestReport
from trusting_judges import ECHO, QUOTING, attempt_call, attempt_file, attempt_program, is_unclean
from worker_attacks import REPLACED, attempt_siege

from ioi_eval.models import Limits

_LIMITS = PlanLimits(cpu_ms=400, wall_ms=10000, memory=96 << 20, output=4 << 20)
_SHORT = msgspec.structs.replace(
    _LIMITS, wall_ms=1000
)  # on a busy machine only a small part of a sleep is idle time
_FRAGILE = msgspec.structs.replace(
    QUOTING, limits=PlanLimits(cpu_ms=1000, wall_ms=4000, memory=256 << 20, output=4 << 20)
)
_IN_JAVA = msgspec.structs.replace(_LIMITS, cpu_ms=int(CPU_TIME * 1000))
UID = 65534  # has a name and a password, unlike the uids of sandboxes
TEST_BUILD = ("-O0", "-DIOI_EVAL_TEST_LAYERS=1")
OF_JUDGE = {
    "apart",
    "build",
    "keeping",
    "process",
    "removal",
    "status",
    *REPLACED,
}  # disabled in the judge itself
_CHANCES = 3  # some attacks are races, and machines are busy at times
_HANGING = 6.0  # seconds, several times the wall limit
_HANGING_PAIRS = 15.0  # longer than a pair needs to use up its CPU time limit
_STOPPED = 600.0  # a program that is stopped by CPU time waits for a processor on a busy machine


AnyAttack = Attack | SourceAttack | Pair | Script | HandedIn | Siege


@dataclass(frozen=True)
class Trial:
    """An attack on a proctor without some layers, and whether it must succeed there."""

    attack: AnyAttack
    away: tuple[str, ...]
    succeeds: bool
    way: Way = Way.STARTED

    def fault(self, bench: Bench) -> str:
        if self.way is Way.STARTED:
            bench = replace(bench, waiting=None)
        for _ in range(_CHANCES if self.succeeds else 1):
            outcome = try_it(bench, self.attack, self.away)
            if outcome.succeeded == self.succeeds:
                return ""
        return outcome.why


def trials(names: Collection[str] = ()) -> Iterator[Trial]:
    """Yield trials: an attack succeeds without all of its layers, and fails with any one of them."""
    for attack in ATTACKS:
        if not attack.layers or (names and attack.name not in names) or not _can_succeed(attack):
            continue
        for way in _ways(attack):
            tried = [Trial(attack, attack.layers, getattr(attack, "only", None) in (None, way), way)]
            for layer in attack.layers:
                if layer not in getattr(attack, "not_alone", ()) and (layer != "uid" or os.geteuid() == 0):
                    away = tuple(other for other in attack.layers if other != layer)
                    tried.append(Trial(attack, away, False, way))
            # A fork server needs namespaces.
            yield from (trial for trial in tried if way is Way.STARTED or "namespaces" not in trial.away)


def _ways(attack: AnyAttack) -> tuple[Way, ...]:
    return tuple(Way) if isinstance(attack, Attack) and attack.language == "python" else (Way.STARTED,)


def _can_succeed(attack: AnyAttack) -> bool:
    """Return whether it can succeed here: some attacks need rights to lose, some the lack of rights, or a new
    compiler.
    """
    needs = getattr(attack, "needs", "")
    if getattr(attack, "language", "") == "java" and not HERE:
        return False
    if needs == EMBEDS:
        return _embeds()
    return not needs or needs == ("root" if os.geteuid() == 0 else "user")


def _embeds() -> bool:
    """Return whether g++ has #embed (15 and newer)."""
    source = "#ifndef __has_embed\n#error\n#endif\n"
    command = ["g++", "-std=gnu++20", "-fsyntax-only", "-xc++", "-"]
    return subprocess.run(command, input=source, text=True, stderr=subprocess.DEVNULL).returncode == 0


def _end_all(pids: set[int]) -> None:
    """Kill processes that did not exist before, and all their descendants."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def attempt(bench: Bench, attack: Attack, layers_away: tuple[str, ...]) -> Outcome:
    """Try an attack, and a behaving test after it."""
    uid = 0 if "uid" in layers_away else UID
    environment = {"API_KEY": SECRET, "PATH": "/usr/bin:/bin"}
    without = [layer for layer in layers_away if layer not in OF_JUDGE]
    weakened = replace(bench, without=without, uid=uid, environment=environment)
    with lost(bench.workshop) as ground, ExitStack() as stack:
        children_before = set(children(os.getpid()))
        if "status" in layers_away:
            stack.enter_context(words_are_believed())
        spec = {}
        if attack.win is Win.HANGS:
            spec["leash_fd"] = stack.enter_context(_leash(_patience(attack, layers_away, _HANGING)))
        limits = _SHORT if attack.sleeps else _LIMITS
        work = seconds_of_work(attack, layers_away)
        orders = [ground.order(name, wild=False, work=work) for name in (attack.name, "behave")]
        result = weakened.judge(
            tests=[(order, SECRET) for order in orders],
            checker=_FRAGILE if attack.fragile else QUOTING,
            checker_source=FRAGILE if attack.fragile else CHECKER,
            limits=limits if attack.language != "java" else _IN_JAVA,
            **_program(weakened, attack.language, orders if "process" in layers_away else ()),
            output_file=OUT_FILE if attack.writes_file else "",
            echo=ECHO if attack.win is Win.FEEDBACK else 0,
            by_path=ground.place if attack.by_path else None,
            spec={"limits": {"wall_ms": 300_000}, "allow_unconfined": True, **spec},
            allow_unconfined=True,
        )
        survivors = list(called(ground.mark))
        while remaining := set(children(os.getpid())) - children_before:
            _end_all(remaining)
        return _outcome(attack, result, survivors)


def _program(bench: Bench, language: str, together: Sequence[str]) -> dict[str, Any]:
    if language == "java":
        assert bench.jar is not None
        return started(bench.jar)
    code = PROGRAM_IN[language](PROGRAMS)
    return {"source": in_one_process(code, together) if together else code, "language": language}


def attempt_source(bench: Bench, attack: SourceAttack, layers_away: tuple[str, ...]) -> Outcome:
    """Try an attack at compile time, in a sandbox like a build's. It succeeds if it reads the secret or is built."""
    uid = 0 if "uid" in layers_away else UID
    environment = {"API_KEY": f"x;{SECRET}", "PATH": "/usr/bin:/bin"}
    boxed = replace(bench, uid=uid, environment=environment, without=[x for x in layers_away if x != "build"])
    with lost(bench.workshop) as ground:
        paths = {name: getattr(ground, name) for name in ("answer", "home", "neighbour")}
        depth = DEEP if IN_TIME & {*attack.layers} - {*layers_away} else MILD
        contents = {"a.cpp": attack.source.format(depth=depth, **paths).encode()}
        if "build" in layers_away:
            contents["answer"] = SECRET.encode()
        ended = boxed.box(
            "mkdir t; mv answer t/0.out; g++ -std=gnu++20 -c a.cpp -o a.o 2>&1 && echo BUILT; cat a.o",
            contents=contents,
            limits={"cpu_ms": 500, "memory": 300 << 20, "file_size": 64 << 20, "wall_ms": 60000},
            allow_unconfined=True,
        )
    if "failure" in ended.report:
        return Outcome(False, f"no box: {ended.report['failure']}")
    won = "BUILT" in ended.stdout if attack.bomb else attack.sign.lower() in ended.stdout.lower()
    return Outcome(won, f"{ended.report} {ended.stdout[:300]!r}")


def attempt_pair(bench: Bench, pair: Pair, layers_away: tuple[str, ...]) -> Outcome:
    """Try a pair of processes on a Communication task, and on an Interactive task if the judge itself is
    attacked.
    """
    outcome = _play(bench, pair, layers_away, _COMMUNICATION)
    if pair.win is not Win.JUDGE or not outcome.succeeded:
        return outcome
    return _play(bench, pair, layers_away, _INTERACTIVE)


_COMMUNICATION = {"task_type": "Communication", "manager_source": MANAGER, "processes": 2}
_INTERACTIVE = {"task_type": "Interactive", "manager_source": INTERACTOR}


def _play(bench: Bench, pair: Pair, layers_away: tuple[str, ...], task: Mapping[str, Any]) -> Outcome:
    weakened = replace(bench, without=layers_away, uid=UID)
    kind = "testlib" if task is _INTERACTIVE else "cms"
    with lost(bench.workshop) as ground, ExitStack() as stack:
        spec: dict[str, Any] = {}
        if pair.win is Win.HANGS:
            spec["leash_fd"] = stack.enter_context(_leash(_patience(pair, layers_away, _HANGING_PAIRS)))
        result = weakened.judge(
            pairs_program(PAIRS),
            [(f"{name} {ground.mark} 7\n", None) for name in (pair.name, "behave")],
            manager=PlanManager(argv=("manager",), kind=kind, limits=PlanLimits(cpu_ms=1000, wall_ms=20000)),
            limits=_SHORT if pair.win is Win.HANGS else _LIMITS,
            spec={"limits": {"wall_ms": 700_000}, "allow_unconfined": True, **spec},
            allow_unconfined=True,
            **task,
        )
    return _outcome(pair, result, [])


def attempt_script(bench: Bench, script: Script, layers_away: tuple[str, ...]) -> Outcome:
    """Try a script in a sandbox like the sandbox of a job's stage."""
    uid = 0 if "uid" in layers_away else UID
    environment = {"API_KEY": SECRET, "PATH": "/usr/bin:/bin"}
    weakened = replace(bench, without=layers_away, uid=uid, environment=environment)
    limits = {"wall_ms": 30000, "processes": 256, "disk": 32 << 20, "names": 3000}
    with lost(bench.workshop) as ground:
        children_before = set(children(os.getpid()))
        names = {"home": ground.home, "neighbour": ground.neighbour, "mark": ground.mark}
        names["most"] = limits["processes"]
        code = "".join(f"{name}='{value}'\n" for name, value in names.items()) + script.body
        ended = weakened.box(
            code,
            profile="stage",
            limits=limits,
            allow_unconfined=True,
        )
        stays = list(called(ground.mark))
        while remaining := set(children(os.getpid())) - children_before:
            _end_all(remaining)
    if ended.report.get("failure", "").startswith(("seccomp", "landlock", "neither")):
        return Outcome(False, f"no box: {ended.report['failure']}")
    killed = not ended.report or "failure" in ended.report
    won = SECRET in ended.stdout or "won" in ended.stdout.split() or bool(stays) or killed
    return Outcome(won, f"{ended}")


def try_it(bench: Bench, attack: AnyAttack, layers_away: tuple[str, ...]) -> Outcome:
    """Try an attack of any kind."""
    if isinstance(attack, SourceAttack | Script) and attack.whole:
        won = attempt_whole(bench, attack, layers_away)
        return Outcome(bool(won), won)
    if isinstance(attack, SourceAttack):
        return attempt_source(bench, attack, layers_away)
    if isinstance(attack, Pair):
        return attempt_pair(bench, attack, layers_away)
    if isinstance(attack, Script):
        return attempt_script(bench, attack, layers_away)
    if isinstance(attack, Siege):
        return attempt_siege(bench, attack, layers_away)
    if isinstance(attack, HandedIn):
        return attempt_file(bench, attack, layers_away)
    if isinstance(attack, Call):
        return attempt_call(bench, attack, layers_away)
    if "apart" in attack.layers:
        return attempt_program(bench, attack, layers_away)
    return attempt(bench, attack, layers_away)


def _outcome(attack: Attack | Pair, judged: Judged, survivors: list[int]) -> Outcome:
    lines, report = judged.lines, judged.boxed.report
    hostile, behaving = (judged.tests.get(index) for index in (0, 1))
    if attack.win is Win.FORGED and any(line.feedback == FORGED for line in lines):
        return Outcome(True, "the judge accepted a verdict line that the submission wrote")
    if report.get("failure"):
        return Outcome(False, f"no sandbox: {report['failure']}")
    if any(line.fatal for line in lines):
        return Outcome(False, f"no proctor: {lines[-1].fatal}")
    won = {
        Win.POINTS: hostile is not None and hostile.score > 0,
        Win.NEXT: behaving is not None and behaving.score == 0.25,
        Win.JUDGE: not (lines and lines[-1].done) or _disturbed(hostile) or _disturbed(behaving),
        Win.FORGED: False,
        Win.SURVIVES: bool(survivors),
        Win.HANGS: report.get("killed") == "leash",
        Win.FEEDBACK: is_unclean(judged, 0),
        Win.VERDICT: hostile is not None and verdict_of(hostile, Limits()) not in attack.verdicts,
    }[attack.win]
    return Outcome(won, f"{hostile} {behaving} {report} {survivors} {judged.boxed.stderr[:300]!r}")


def _disturbed(line: TestReport | None) -> bool:
    return line is None or line.failure is not None


def _patience(attack: Attack | Pair, away: Collection[str], hanging: float) -> float:
    """Return how long to wait for the job to finish: as short as possible if it never finishes."""
    return hanging if set(attack.layers) <= set(away) else _STOPPED


@contextmanager
def _leash(seconds: float) -> Iterator[int]:
    """Yield the kill switch of a job. It is closed after `seconds`, or when the context exits."""
    reading, writing = os.pipe()
    finished = threading.Event()
    cutter = threading.Thread(target=lambda: (finished.wait(seconds), os.close(writing)))
    cutter.start()
    try:
        yield reading
    finally:
        finished.set()
        cutter.join()
        os.close(reading)
