"""Build jobs: sources and a script that compiles them, never a test. Pure. rules/builds.py reads the ending.

A server's own box shows a compiler more than it should see, and what a source includes ends up in its
program. Where the engine does not confine its stages as we do, a submission's build brings the proctor along:
the sources and the script lie in a folder of their own, and the job's one script starts `proctor box` on it.
How that ended is read from the proctor's report, never from what a compiler said.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

import msgspec

from ioi_eval.engines.contract import DRIVERS, OWN, Profile, Recipe, least
from ioi_eval.engines.embedded.box import BoxLimits, BoxSpec, encode_spec
from ioi_eval.engines.jobs.ahead import FOLDER, OBJECT, header_name
from ioi_eval.engines.jobs.shipping import boxed_build, hand_over, whole_build
from ioi_eval.model.job import Job, JobFile, Toolchain
from ioi_eval.model.values import Blob
from ioi_eval.rules.builds import MACHINE_AT_FAULT
from ioi_eval.rules.limits import build_idle, hard_stop, milliseconds

# --- the script --------------------------------------------------------------------------------------


_ROOM = 8 << 20  # bytes that must be free where compilers write; servers let a file have 10 MB at the least
_CODE, _CONTROL, _CONTROL_LOG = ".ioi-eval-code", ".ioi-eval-control", ".ioi-eval-control.log"
_QUICK_LOG = ".ioi-eval-quick.log"


def compile_script(recipe: Recipe, *, tool: Toolchain, headers: str = "", linked: bool = False) -> str:
    """`headers`: a folder with a precompiled header, searched first; it never changes what comes out.

    `linked`: whether the shared source is there as an object, too. What fails with that is built without.
    """
    # Options that are in no key, because they do not change what comes out.
    options = ["-pass-exit-codes"] if tool.command in DRIVERS else []  # else a crash exits with 1 too
    options += ["-I", headers] if headers else []
    build = shlex.join([tool.path, *options, *recipe.command[1:]])
    if linked:
        words = (OBJECT if word == recipe.shared else word for word in recipe.command[1:])
        quick = shlex.join([tool.path, *options, *words])
        build = f"{{ {quick} > {_QUICK_LOG} 2>&1 && cat {_QUICK_LOG}; }} || {build}"
    control = shlex.join([tool.path, *control_command(recipe)[1:]])
    return f"""# Builds the {recipe.kind}; of what is printed, the first {recipe.limits.log} bytes are kept.
ulimit -f {recipe.limits.file_size // 1024} 2> /dev/null  # kB; a server may allow even less
{{ chmod a-r /dev/fd/1  # a source that names this pipe would have its compiler wait for itself
    {build}; echo "$?" > {_CODE}; }} 2>&1 < /dev/null | {{ head -c {recipe.limits.log}; cat > /dev/null; }}
read -r code < {_CODE} || exit {MACHINE_AT_FAULT}
if [ "$code" = 0 ]; then
    [ -f {shlex.quote(recipe.output)} ] && exit 0
    echo "nothing came of it" && code=1
fi
for place in . "${{TMPDIR:-/tmp}}"; do
    [ -w "$place" ] || continue
    room=$(mktemp "$place/.ioi-eval-XXXXXX") || exit {MACHINE_AT_FAULT}
    printf '%{min(_ROOM, recipe.limits.file_size // 2)}s' '' | cat > "$room"
    left=$?
    rm "$room"
    [ "$left" = 0 ] || exit {MACHINE_AT_FAULT}
done
{control} > {_CONTROL_LOG} 2>&1 < /dev/null || {{ head -c 4096 {_CONTROL_LOG} >&2; exit {MACHINE_AT_FAULT}; }}
exit "$code"
"""


def control_command(recipe: Recipe) -> tuple[str, ...]:
    """The same command with the control program in the place of all sources."""
    names = {source.name for source in recipe.sources} | {"-include"}  # which comes before one of them
    kept = [_CONTROL if word == recipe.output else word for word in recipe.command if word not in names]
    place = next((i for i, word in enumerate(recipe.command) if word in names), len(kept))
    return (*kept[:place], recipe.control.name, *kept[place:])


# --- the jobs, for each kind of server - ------------------------------------------------------------


_BUILD = "build"
# As in the embedded engine's boxes, where servers set nothing: compilers speak as there, and have a home.
_ENVIRONMENT = 'export LANG=C.UTF-8 HOME="${HOME:-$PWD}"\n'
DELIVERY_SECONDS = 30.0  # to compress and print what was made

_BOX, _PROCTOR, _SPEC, _REPORT = "box", "proctor", "box.json", 3  # the last is a descriptor
_PROCESSES, _DISK, _NAMES = 256, 4 << 30, 100_000  # as in the embedded engine's boxes


def build_job(recipe: Recipe, tool: Toolchain, ahead: Sequence[JobFile], profile: Profile) -> Job:
    """The sources, the one that the build is about last, and the script that compiles them. Never a test.

    `ahead`: what was compiled before, a header or the shared source's object.
    """
    # By its name where endpoints have it in different places.
    if {each.path for each in profile.offered(tool.command)} != {tool.path}:
        tool = msgspec.structs.replace(tool, path=tool.command)
    if profile.max_output is not None:
        log = max(0, min(recipe.limits.log, profile.max_output // 2))
        recipe = msgspec.structs.replace(recipe, limits=msgspec.structs.replace(recipe.limits, log=log))
    if recipe.proctor is not None:
        return _job_in_a_box(recipe, tool, profile, recipe.proctor, ahead)
    if profile.shell() == OWN:
        return _job_of_two_stages(recipe, tool, profile, ahead)
    return _job_of_one_stage(recipe, tool, profile, ahead)


def compiling(recipe: Recipe, tool: Toolchain, ahead: Sequence[JobFile]) -> str:
    names = {file.name for file in ahead}
    headers = FOLDER if header_name(recipe) in names else ""
    return compile_script(recipe, tool=tool, headers=headers, linked=OBJECT in names)


def _job_of_two_stages(recipe: Recipe, tool: Toolchain, profile: Profile, ahead: Sequence[JobFile]) -> Job:
    limits = recipe.limits
    delivering = least(milliseconds(DELIVERY_SECONDS), profile.max_run_time)
    return Job(
        files=(
            _script("compile", _ENVIRONMENT + compiling(recipe, tool, ahead)),
            _script("run", hand_over(recipe.output, profile.max_output)),
            *ahead,
            *sources(recipe),
        ),
        compile_timeout=least(milliseconds(limits.wall_time), profile.max_compile_time),
        compile_cpu_time=least(milliseconds(limits.cpu_time), profile.max_compile_time),
        compile_memory_limit=_memory(recipe, tool, profile),
        run_timeout=delivering,
        run_cpu_time=least(delivering, profile.max_run_cpu_time),
    )


def _job_of_one_stage(recipe: Recipe, tool: Toolchain, profile: Profile, ahead: Sequence[JobFile]) -> Job:
    limits = recipe.limits
    script = whole_build(
        recipe.output,
        profile.max_output,
        hard_stop=None if limits.wall_time is None else hard_stop(limits.wall_time),
        cpu_time=limits.cpu_time,
        script="compile",
    )
    time = None if limits.wall_time is None else milliseconds(limits.wall_time + DELIVERY_SECONDS)
    cpu = None if limits.cpu_time is None else milliseconds(2 * limits.cpu_time + DELIVERY_SECONDS)
    return Job(
        files=(
            _script(_BUILD, script),
            _script("compile", _ENVIRONMENT + compiling(recipe, tool, ahead)),
            *ahead,
            *sources(recipe),
        ),
        run_timeout=least(time, profile.max_run_time),
        run_cpu_time=least(cpu, profile.max_run_cpu_time),
        run_memory_limit=_memory(recipe, tool, profile),
    )


def _script(name: str, text: str) -> JobFile:
    return JobFile(name=name, content=Blob.of(text))


def sources(recipe: Recipe) -> Iterable[JobFile]:
    return (JobFile(name=file.name, content=file.content) for file in (recipe.control, *recipe.sources))


def _memory(recipe: Recipe, tool: Toolchain, profile: Profile) -> int | None:
    """Return the limit that a server is asked for.

    Pistons before isolate limit the address space. Other compilers reserve what they never use of it.
    """
    return recipe.limits.memory if profile.confines or tool.command in DRIVERS else None


# --- in a box of the proctor's -----------------------------------------------------------------------


def _job_in_a_box(
    recipe: Recipe, tool: Toolchain, profile: Profile, proctor: Blob, ahead: Sequence[JobFile]
) -> Job:
    limits = recipe.limits
    # A compiler outside of the system's folders, as a package has it, is shown with what lies beside it.
    script = f"""compiler=$(readlink -f "$(command -v {shlex.quote(tool.path)})")
case $compiler in /usr/* | /bin/* | /lib*) compiler= ;; esac
sed -i -e "s#@FOLDER@#$PWD/{_BOX}#" -e "s#@PATH@#$PATH#" -e "s#@LIBRARIES@#${{LD_LIBRARY_PATH:-}}#" \\
    -e "s#@COMPILER@#${{compiler%/*/*}}#" {_SPEC}
./{_PROCTOR} box {_SPEC} {_REPORT}> .ioi-eval-report > .ioi-eval-log 2>&1 < /dev/null
""" + boxed_build(f"{_BOX}/{recipe.output}", profile.max_output)
    inside = (_script("compile", compiling(recipe, tool, ahead)), *ahead, *sources(recipe))
    wall = None if limits.wall_time is None else hard_stop(limits.wall_time) + DELIVERY_SECONDS
    cpu = None if limits.cpu_time is None else 2 * limits.cpu_time + DELIVERY_SECONDS
    return Job(
        files=(
            _script("run", script),
            JobFile(name=_PROCTOR, content=proctor, executable=True, recurs=True),
            JobFile(name=_SPEC, content=Blob.of(encode_spec(_spec(recipe)))),
            *(msgspec.structs.replace(file, name=f"{_BOX}/{file.name}") for file in inside),
        ),
        run_timeout=least(milliseconds(wall), profile.max_run_time),
        run_cpu_time=least(milliseconds(cpu), profile.max_run_cpu_time),
    )


def _spec(recipe: Recipe) -> BoxSpec:
    """Return the box's spec. Words between @ are filled in where the job runs."""
    limits = recipe.limits
    wall = milliseconds(limits.wall_time)
    return BoxSpec(
        argv=("/bin/bash", "compile"),
        env={"PATH": "@PATH@", "LD_LIBRARY_PATH": "@LIBRARIES@", "HOME": "/tmp", "LANG": "C.UTF-8"},
        dir="@FOLDER@",
        read=("@COMPILER@",),
        profile="tool",
        limits=BoxLimits(
            wall_ms=build_idle(wall),
            hard_ms=None if wall is None else hard_stop(wall),
            cpu_ms=milliseconds(limits.cpu_time),
            memory=limits.memory,
            file_size=limits.file_size,
            processes=_PROCESSES,
            disk=_DISK,
            names=_NAMES,
        ),
        report_fd=_REPORT,
        leash_fd=-1,
        allow_unconfined=True,  # the server's own box is one; the report says what there is besides
    )
