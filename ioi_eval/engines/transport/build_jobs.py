"""Build jobs: sources and a script that compiles them, for each kind of engine. Never a test. Pure.

A server's own box shows a compiler more than it should see, and what a source includes ends up in its
program. Where the engine does not confine its stages as we do, a submission's build brings the proctor along:
the sources and the script lie in a folder of their own, and the job's one script starts `proctor box` on it.
How that ended is read from the proctor's report, never from what a compiler said.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

import msgspec

from ioi_eval.engines.embedded.spec import BoxLimits, BoxSpec, encode_spec
from ioi_eval.engines.transport.build_script import DRIVERS, compile_script
from ioi_eval.engines.transport.delivery import boxed_build, hand_over, whole_build
from ioi_eval.engines.transport.precompiled import FOLDER
from ioi_eval.engines.transport.runtimes import OWN, shell_runtime
from ioi_eval.engines.values import Profile, Recipe
from ioi_eval.model.values import Blob, Job, JobFile, Toolchain
from ioi_eval.rules.limits import hard_stop, milliseconds

_BUILD = "build"
# As in the embedded engine's boxes, where servers set nothing: compilers speak as there, and have a home.
_ENVIRONMENT = 'export LANG=C.UTF-8 HOME="${HOME:-$PWD}"\n'
DELIVERY_SECONDS = 30.0  # to compress and print what was made

_BOX, _PROCTOR, _SPEC, _REPORT = "box", "proctor", "box.json", 3  # the last is a descriptor
_PROCESSES, _DISK, _NAMES = 256, 4 << 30, 100_000  # as in the embedded engine's boxes


def build_job(
    recipe: Recipe, tool: Toolchain, header: JobFile | None, profile: Profile, proctor: Blob | None = None
) -> Job:
    """The sources, the one that the build is about last, and the script that compiles them. Never a test.

    `proctor`: confines the build, where the engine does not.
    """
    if profile.takes_paths:
        return _job_with_paths(recipe, tool, header)
    recipe, tool = _log_that_fits(recipe, profile), _found_anywhere(tool, profile)
    if proctor is not None:
        return _job_in_a_box(recipe, tool, profile, proctor)
    if shell_runtime(profile) == OWN:
        return _job_of_two_stages(recipe, tool, profile)
    return _job_of_one_stage(recipe, tool, profile)


def _job_with_paths(recipe: Recipe, tool: Toolchain, header: JobFile | None) -> Job:
    script = compile_script(recipe, tool=tool, headers=FOLDER if header else "")
    limits = recipe.limits
    return Job(
        files=(_script("compile", script), *((header,) if header else ()), *_sources(recipe)),
        compile_timeout=milliseconds(limits.wall_time),
        compile_cpu_time=milliseconds(limits.cpu_time),
        compile_memory_limit=limits.memory,
        keep=(recipe.output,),
    )


def _job_of_two_stages(recipe: Recipe, tool: Toolchain, profile: Profile) -> Job:
    compiling = recipe.limits
    delivering = _least(milliseconds(DELIVERY_SECONDS), profile.max_run_time)
    return Job(
        files=(
            _script("compile", _ENVIRONMENT + compile_script(recipe, tool=tool)),
            _script("run", hand_over(recipe.output, profile.max_output)),
            *_sources(recipe),
        ),
        compile_timeout=_least(milliseconds(compiling.wall_time), profile.max_compile_time),
        compile_cpu_time=_least(milliseconds(compiling.cpu_time), profile.max_compile_time),
        compile_memory_limit=_memory(recipe, tool),
        run_timeout=delivering,
        run_cpu_time=_least(delivering, profile.max_run_cpu_time),
    )


def _job_of_one_stage(recipe: Recipe, tool: Toolchain, profile: Profile) -> Job:
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
            _script("compile", _ENVIRONMENT + compile_script(recipe, tool=tool)),
            *_sources(recipe),
        ),
        run_timeout=_least(time, profile.max_run_time),
        run_cpu_time=_least(cpu, profile.max_run_cpu_time),
        run_memory_limit=_memory(recipe, tool),
    )


def _script(name: str, text: str) -> JobFile:
    return JobFile(name=name, content=Blob.of(text))


def _sources(recipe: Recipe) -> Iterable[JobFile]:
    return (JobFile(name=file.name, content=file.content) for file in (recipe.control, *recipe.sources))


def _memory(recipe: Recipe, tool: Toolchain) -> int | None:
    """Servers before isolate limit the address space. Other compilers reserve what they never use of it."""
    return recipe.limits.memory if tool.command in DRIVERS else None


def _log_that_fits(recipe: Recipe, profile: Profile) -> Recipe:
    if profile.max_output is None:
        return recipe
    log = max(0, min(recipe.limits.log, profile.max_output // 2))
    return msgspec.structs.replace(recipe, limits=msgspec.structs.replace(recipe.limits, log=log))


def _found_anywhere(tool: Toolchain, profile: Profile) -> Toolchain:
    """By its name where endpoints have it in different places."""
    paths = {tools[tool.command].path for tools in profile.by_endpoint.values() if tool.command in tools}
    return tool if paths <= {tool.path} else msgspec.structs.replace(tool, path=tool.command)


def _least(wanted: int | None, most: int | None) -> int | None:
    given = [value for value in (wanted, most) if value is not None]
    return min(given, default=None)


# --- in a box of the proctor's -----------------------------------------------------------------------


def _job_in_a_box(recipe: Recipe, tool: Toolchain, profile: Profile, proctor: Blob) -> Job:
    limits = recipe.limits
    script = _start(tool) + boxed_build(f"{_BOX}/{recipe.output}", profile.max_output)
    inside = (_script("compile", compile_script(recipe, tool=tool)), *_sources(recipe))
    wall = None if limits.wall_time is None else hard_stop(limits.wall_time) + DELIVERY_SECONDS
    cpu = None if limits.cpu_time is None else 2 * limits.cpu_time + DELIVERY_SECONDS
    return Job(
        files=(
            _script("run", script),
            JobFile(name=_PROCTOR, content=proctor, executable=True),
            JobFile(name=_SPEC, content=Blob.of(encode_spec(_spec(recipe)))),
            *(msgspec.structs.replace(file, name=f"{_BOX}/{file.name}") for file in inside),
        ),
        run_timeout=_least(milliseconds(wall), profile.max_run_time),
        run_cpu_time=_least(milliseconds(cpu), profile.max_run_cpu_time),
    )


def _spec(recipe: Recipe) -> BoxSpec:
    """What stands between @ only the place knows where the job runs."""
    limits = recipe.limits
    wall = milliseconds(limits.wall_time)
    return BoxSpec(
        argv=("/bin/bash", "compile"),
        env={"PATH": "@PATH@", "LD_LIBRARY_PATH": "@LIBRARIES@", "HOME": "/tmp", "LANG": "C.UTF-8"},
        dir="@FOLDER@",
        read=("@COMPILER@",),
        profile="tool",
        limits=BoxLimits(
            wall_ms=wall,
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


def _start(tool: Toolchain) -> str:
    """A compiler outside of the system's folders, as a package has it, is shown with what lies beside it."""
    return f"""compiler=$(readlink -f "$(command -v {shlex.quote(tool.path)})")
case $compiler in /usr/* | /bin/* | /lib*) compiler= ;; esac
sed -i -e "s#@FOLDER@#$PWD/{_BOX}#" -e "s#@PATH@#$PATH#" -e "s#@LIBRARIES@#${{LD_LIBRARY_PATH:-}}#" \\
    -e "s#@COMPILER@#${{compiler%/*/*}}#" {_SPEC}
./{_PROCTOR} box {_SPEC} {_REPORT}> .ioi-eval-report > .ioi-eval-log 2>&1 < /dev/null
"""
