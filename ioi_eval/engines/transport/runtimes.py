"""Which of an engine's runtimes a job asks for that brings its own scripts."""

from __future__ import annotations

from collections.abc import Iterable

from ioi_eval.engines.values import Profile
from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.languages import remedy
from ioi_eval.model.values import Toolchain

OWN = "ioi_eval"  # starts the job's own `compile` and `run`
BASH = "bash"  # starts the job's first text file; there is no compile stage
_REMEDY = "Install Piston's package `bash` or ours, `ioi_eval`, on it"
OTHER_MACHINE = "Run `ioi-eval doctor` to see which compilers the engine has"
_CLASSIC = frozenset({"cms_ioi", "cms", "codeforces", "cf_python3", "cf_c++17"})


def shell_runtime(profile: Profile) -> str:
    """The runtime for build jobs and run jobs. JudgeFailure where the engine starts nobody's scripts."""
    for runtime in (OWN, BASH):
        if runtime in profile.runtimes:
            return runtime
    raise JudgeFailure(
        f"engine {profile.name} has no runtime that starts a shell script",
        phase="preparing",
        remedy=f"{_REMEDY}, or ask for classic jobs" if has_classic(profile) else _REMEDY,
    )


def has_shell(profile: Profile) -> bool:
    return OWN in profile.runtimes or BASH in profile.runtimes


def has_classic(profile: Profile) -> bool:
    return not _CLASSIC.isdisjoint(profile.runtimes)


def toolchain(profile: Profile, command: str, purpose: str) -> Toolchain:
    """The engine's own, or a JudgeFailure that says how to get it."""
    tool = profile.toolchains.get(command)
    if tool is None:
        how = remedy(command)
        raise JudgeFailure(
            f"engine {profile.name} has no {command}, which {purpose} needs",
            phase="compiling",
            remedy=f"Install {command}{f': {how}' if how else ''}. {OTHER_MACHINE}",
        )
    return tool


def brings_scripts(profile: Profile, runtime: str) -> bool:
    """Whether a job in this runtime has to bring its own `compile` and `run`."""
    return profile.takes_paths and (runtime == "cms_ioi" or runtime not in profile.runtimes)


# --- interpreters that lie in different places -------------------------------------------------------

_WHICH = "/ioi-eval-which/"  # stands for the path of what follows, where a job runs


def path_of(tool: Toolchain) -> str:
    """For a plan: the interpreter's path, or a word that `finding` replaces where endpoints do not agree."""
    return tool.path if "/" in tool.path else _WHICH + tool.path


def finding(argvs: Iterable[tuple[str, ...]], plan: str) -> str:
    """The line of a script that puts paths into a plan; empty where they are known."""
    names = sorted({argv[0].removeprefix(_WHICH) for argv in argvs if argv and argv[0].startswith(_WHICH)})
    changes = "".join(f' -e "s#{_WHICH}{name}#$(command -v {name})#"' for name in names)
    return f"sed -i{changes} {plan}\n" if changes else ""
