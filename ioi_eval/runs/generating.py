"""Generate: copies of packages that come without their tests, with the tests made as the packages say.

Generators, the main solution and validators run where compilers do: in a box. A package itself is left alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

from ioi_eval.engines.contract import GENERATED, BuildSpec, BuildSuccess, CompileError
from ioi_eval.engines.embedded import EmbeddedEngine
from ioi_eval.engines.jobs.build import Builder
from ioi_eval.engines.jobs.runner import opened
from ioi_eval.judge.programs import script_of
from ioi_eval.judge.recipes import trusted_recipe
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults
from ioi_eval.model.languages import find
from ioi_eval.model.options import BuildLimits
from ioi_eval.model.values import Blob, Checker, CheckerKind, NamedBlob, Problem
from ioi_eval.problems.collection import format_of, package_folders
from ioi_eval.problems.package import Executable, GeneratedTest, Making, PackageFormat, as_on_linux
from ioi_eval.runs.work import synchronous
from ioi_eval.store import Store
from ioi_eval.store.resources import graders

_ERRORS = "stderr"
_SCRIPT, _OUTPUT, _GIVEN, _PROGRAM = "ioi-eval-produce.py", "ioi-eval-made", "ioi-eval-given", "ioi-eval-run"
_PARTNER = "ioi-eval-partner"
_GENERATOR = "generator"
PROGRAM_SECONDS = 60.0


async def generate(
    source: str | Path, out: str | Path, *, store: Store, seconds: float = PROGRAM_SECONDS
) -> tuple[Path, ...]:
    """Copy the packages of a source into the folder `out`, and make the tests that they lack.

    `seconds`: of CPU time, for all processes of a package's program while it makes or looks at one file.
    Raises InputError for a package that does not say how, for a program that fails, and for a test that the
    package's validators reject.
    """
    written = list[Path]()
    with ExitStack() as kept:
        async with opened(EmbeddedEngine(store=store), store) as tests:
            for folder, where in package_folders(source, store.root / "packages", kept):
                found = format_of(folder)
                if not isinstance(found, PackageFormat):
                    raise InputError("packages of this format do not say how tests are made", where=where)
                target = Path(out) / (found.package_id(folder, where) or folder.name)
                if target.exists():
                    raise InputError(
                        "exists already", where=str(target), remedy="Remove it, or name another folder"
                    )
                faults = Faults(where)
                making = found.making(folder, faults)
                if faults.errors or making is None:
                    raise faults.errors[0]
                files = await _Producer(tests.builder, folder, where, seconds).files(making)
                shutil.copytree(folder, target)
                for name, content in files.items():
                    (target / name).parent.mkdir(parents=True, exist_ok=True)
                    (target / name).write_bytes(content.read())
                written.append(target)
    return tuple(written)


generate_sync = synchronous(generate)


class _Producer:
    def __init__(self, builder: Builder, folder: Path, where: str, seconds: float) -> None:
        self._builder, self._folder, self._where = builder, folder, where
        self._limits = BuildLimits(wall_time=max(PROGRAM_SECONDS, seconds), cpu_time=seconds)
        self._built: dict[Executable, NamedBlob] = {}

    async def files(self, making: Making) -> Mapping[str, Blob]:
        """Make what is missing, by its place in the package. All inputs are shown to the validators."""
        files = dict[str, Blob]()
        for test in making.tests:
            if test.command:
                given = await self._generated(test, making)
            else:
                given = as_on_linux(self._folder / (test.copied or test.input))
            if test.command or test.copied or given.data is not None:  # or with other line ends than its file
                files[test.input] = given
            for validator in making.validators:
                what = f"the validator rejects {test.input}"
                arguments = ("input.txt", *test.subtask) if making.named else test.subtask
                await self._run(validator, arguments, given, what, read="input.txt" if making.named else "")
            if (self._folder / test.answer).is_file() and not test.command:
                continue
            if making.solution is None:
                files[test.answer] = await self._generated(test, making, written=_ERRORS)
            else:
                what = f"the main solution fails on {test.input}"
                files[test.answer] = await self._run(
                    making.solution,
                    (),
                    given,
                    what,
                    read=making.read,
                    written=making.written,
                    partner=making.interactor,
                )
        return files

    async def _generated(self, test: GeneratedTest, making: Making, *, written: str = "") -> Blob:
        name, *arguments = test.command
        what = f"{' '.join(test.command)} fails, which is to make {test.input}"
        return await self._run(making.generators[name], tuple(arguments), None, what, written=written)

    async def _run(
        self,
        program: Executable,
        arguments: tuple[str, ...],
        given: Blob | None,
        what: str,
        *,
        read: str = "",
        written: str = "",
        partner: Executable | None = None,
    ) -> Blob:
        """Return the program's output. `what`: the message where it fails.

        `read`, `written`: the names of the files in place of standard input and output. `partner`: a program
        that it talks to, and whose file `written` is then.
        """
        script = NamedBlob(name=_SCRIPT, content=Blob.of_file(graders() / "python" / "produce.py"))
        started = await self._program(program)
        files = [] if given is None else [NamedBlob(name=_GIVEN, content=given)]
        if partner is not None:
            other = await self._program(partner)
            files.append(
                NamedBlob(name=f"{_PARTNER}{PurePosixPath(other.name).suffix}", content=other.content)
            )
        stdin = "-" if given is None else f"./{_GIVEN}"
        python = find("python")
        recipe = BuildSpec(
            kind=GENERATED,
            output=_OUTPUT,
            command=(
                *(python.command, "-I", f"./{_SCRIPT}"),
                *(
                    _OUTPUT,
                    stdin,
                    read or "-",
                    written or "-",
                    f"./{files[-1].name}" if partner else "-",
                    started.name,
                ),
                *arguments,
            ),
            sources=(script, *files, started),
            control=NamedBlob(name="ioi-eval-control.py", content=Blob.of("print()\n")),
            limits=self._limits,
        )
        return (await self._made(recipe, what)).artifact

    async def _program(self, program: Executable) -> NamedBlob:
        if program not in self._built:
            first = program.sources[0].name
            checker = Checker(
                sources=program.sources,
                language=program.language,
                kind=CheckerKind.ICPC if program.linked else CheckerKind.TESTLIB,
            )
            language = find(program.language, where=self._where)
            if language.syntax == "python":
                content, name = script_of(checker), f"{_PROGRAM}.py"
            else:
                problem = Problem(id="generated", cpp_standard="gnu++20")
                # Unlike what it builds, a compiler that is killed is no fault of the package.
                recipe = trusted_recipe(problem, checker, _GENERATOR, BuildLimits())
                content, name = (await self._made(recipe, f"{first} does not compile")).artifact, _PROGRAM
            self._built[program] = NamedBlob(name=name, content=content)
        return self._built[program]

    async def _made(self, recipe: BuildSpec, what: str) -> BuildSuccess:
        built = await self._builder.build(recipe)
        if isinstance(built, CompileError):
            log = " ".join(built.log.split()).replace("The compiler was stopped: ", "")
            remedy = "Correct it in the package"
            if recipe.kind == GENERATED and "took too long" in log:
                remedy += f", or allow more than {self._limits.cpu_time:g} s (seconds=S)"
            raise InputError(f"{what}: {log[:300].rstrip('.')}", where=self._where, remedy=remedy)
        return built
