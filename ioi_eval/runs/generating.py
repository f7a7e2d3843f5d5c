"""Generate missing tests: copy packages that come without tests, and run their generators.

Generators, validators and the main solution run in a sandbox. The original packages are not changed.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

from ioi_eval.engines.contract import GENERATED, BuildSpec, BuildSuccess, CompileError
from ioi_eval.engines.embedded import EmbeddedEngine
from ioi_eval.engines.jobs.build import Builder
from ioi_eval.engines.jobs.runner import open_test_runner
from ioi_eval.judge.programs import create_script_file
from ioi_eval.judge.recipes import make_trusted_program_spec
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults
from ioi_eval.model.languages import find_language
from ioi_eval.model.options import BuildLimits
from ioi_eval.model.values import Blob, Checker, CheckerKind, NamedBlob, Problem
from ioi_eval.problems.collection import detect_format, find_package_folders
from ioi_eval.problems.package import (
    Executable,
    GeneratedTest,
    PackageFormat,
    TestGeneration,
    load_with_unix_line_ends,
)
from ioi_eval.runs.work import make_synchronous
from ioi_eval.store import Store
from ioi_eval.store.resources import graders_folder

_STDERR = "stderr"  # name of the generating script's output if the output is read from standard error
# Names of files in the sandbox.
_SCRIPT, _OUTPUT, _INPUT, _PROGRAM = "ioi-eval-produce.py", "ioi-eval-made", "ioi-eval-given", "ioi-eval-run"
_PARTNER = "ioi-eval-partner"
_GENERATOR = "generator"  # name of a generating program in the compiler's messages
PROGRAM_SECONDS = 60.0  # default CPU limit of a generating program, in seconds


async def generate(
    source: str | Path, out: str | Path, *, store: Store, seconds: float = PROGRAM_SECONDS
) -> tuple[Path, ...]:
    """Copy the packages of a source into `out`, generate their missing tests, and return the copies' folders.

    Args:
        source: A package or a folder of packages.
        out: Folder of the copies. No copy may exist there yet.
        store: Cache of compiled programs.
        seconds: CPU limit of a package's program for a test, over all its processes.

    Raises:
        InputError: A package does not describe how its tests are generated, a program fails, or a validator
        rejects a test.
    """
    copied_folders = list[Path]()
    with ExitStack() as opened_archives:
        async with open_test_runner(EmbeddedEngine(store=store), store) as runner:
            for folder, location in find_package_folders(source, store.root / "packages", opened_archives):
                package_format = detect_format(folder)
                if not isinstance(package_format, PackageFormat):
                    raise InputError(
                        "packages of this format do not describe how tests are generated", where=location
                    )
                target_folder = Path(out) / (package_format.package_id(folder, location) or folder.name)
                if target_folder.exists():
                    raise InputError(
                        "exists already",
                        where=str(target_folder),
                        remedy="Remove the folder, or name another folder",
                    )
                faults = Faults(location)
                test_plan = package_format.read_test_generation(folder, faults)
                if faults.errors or test_plan is None:
                    raise faults.errors[0]
                files = await _TestGenerator(runner.builder, folder, location, seconds).create_missing_files(
                    test_plan
                )
                shutil.copytree(folder, target_folder)
                for name, content in files.items():
                    (target_folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (target_folder / name).write_bytes(content.read())
                copied_folders.append(target_folder)
    return tuple(copied_folders)


generate_sync = make_synchronous(generate)


class _TestGenerator:
    """Generates the missing files of a package."""

    def __init__(self, builder: Builder, folder: Path, where: str, seconds: float) -> None:
        self._builder, self._folder, self._where = builder, folder, where
        self._limits = BuildLimits(wall_time=max(PROGRAM_SECONDS, seconds), cpu_time=seconds)
        self._executables: dict[Executable, NamedBlob] = {}

    async def create_missing_files(self, test_plan: TestGeneration) -> Mapping[str, Blob]:
        """Return the missing inputs and answers by their path in the package. Validators check all inputs."""
        files = dict[str, Blob]()
        for test in test_plan.tests:
            if test.command:
                test_input = await self._generate_output(test, test_plan)
            else:
                test_input = load_with_unix_line_ends(self._folder / (test.copied or test.input))
            # An input is in memory (`data`) if its line ends were converted. Then the package's file differs.
            if test.command or test.copied or test_input.data is not None:
                files[test.input] = test_input
            for validator in test_plan.validators:
                failure = f"the validator rejects {test.input}"
                arguments = ("input.txt", *test.subtask) if test_plan.named else test.subtask
                input_name = "input.txt" if test_plan.named else ""
                await self._run_program(validator, arguments, test_input, failure, input_name=input_name)
            if (self._folder / test.answer).is_file() and not test.command:
                continue
            if test_plan.solution is None:
                files[test.answer] = await self._generate_output(test, test_plan, output_name=_STDERR)
            else:
                failure = f"the main solution fails on {test.input}"
                files[test.answer] = await self._run_program(
                    test_plan.solution,
                    (),
                    test_input,
                    failure,
                    input_name=test_plan.read,
                    output_name=test_plan.written,
                    interactor=test_plan.interactor,
                )
        return files

    async def _generate_output(
        self, test: GeneratedTest, test_plan: TestGeneration, *, output_name: str = ""
    ) -> Blob:
        """Return the output of a test's generator."""
        generator_name, *arguments = test.command
        failure = f"{' '.join(test.command)} fails, which should generate {test.input}"
        return await self._run_program(
            test_plan.generators[generator_name], tuple(arguments), None, failure, output_name=output_name
        )

    async def _run_program(
        self,
        program: Executable,
        arguments: tuple[str, ...],
        test_input: Blob | None,
        failure_message: str,
        *,
        input_name: str = "",
        output_name: str = "",
        interactor: Executable | None = None,
    ) -> Blob:
        """Run a program, and return its output.

        Args:
            program: The program, which is compiled if necessary.
            arguments: Its arguments.
            test_input: Its input; `None` means no input.
            failure_message: Start of the InputError's message if the program fails.
            input_name: Name of the input file, or "" for standard input.
            output_name: Name of the output file, or "" for standard output.
            interactor: An interactor that runs with the program. The output is then the interactor's file.
        """
        script = NamedBlob(name=_SCRIPT, content=Blob.of_file(graders_folder() / "python" / "produce.py"))
        executable = await self._build_executable(program)
        files = [] if test_input is None else [NamedBlob(name=_INPUT, content=test_input)]
        if interactor is not None:
            built_interactor = await self._build_executable(interactor)
            suffix = PurePosixPath(built_interactor.name).suffix
            files.append(NamedBlob(name=f"{_PARTNER}{suffix}", content=built_interactor.content))
        stdin = "-" if test_input is None else f"./{_INPUT}"
        python_language = find_language("python")
        spec = BuildSpec(
            kind=GENERATED,
            output=_OUTPUT,
            command=(
                *(python_language.command, "-I", f"./{_SCRIPT}"),
                *(
                    _OUTPUT,
                    stdin,
                    input_name or "-",
                    output_name or "-",
                    f"./{files[-1].name}" if interactor else "-",
                    executable.name,
                ),
                *arguments,
            ),
            sources=(script, *files, executable),
            control=NamedBlob(name="ioi-eval-control.py", content=Blob.of("print()\n")),
            limits=self._limits,
        )
        return (await self._build_or_raise(spec, failure_message)).artifact

    async def _build_executable(self, program: Executable) -> NamedBlob:
        """Return the compiled program, or its script."""
        if program not in self._executables:
            first_name = program.sources[0].name
            checker = Checker(
                sources=program.sources,
                language=program.language,
                kind=CheckerKind.ICPC if program.linked else CheckerKind.TESTLIB,
            )
            language = find_language(program.language, where=self._where)
            if language.syntax == "python":
                content, name = create_script_file(checker), f"{_PROGRAM}.py"
            else:
                problem = Problem(id="generated", cpp_standard="gnu++20")
                # The compiler runs with the judge's default limits, because the package does not control it.
                spec = make_trusted_program_spec(problem, checker, _GENERATOR, BuildLimits())
                content, name = (
                    (await self._build_or_raise(spec, f"{first_name} does not compile")).artifact,
                    _PROGRAM,
                )
            self._executables[program] = NamedBlob(name=name, content=content)
        return self._executables[program]

    async def _build_or_raise(self, spec: BuildSpec, failure_message: str) -> BuildSuccess:
        """Return a successful build. Raises InputError, with `failure_message` first, if the build fails."""
        build_outcome = await self._builder.build(spec)
        if isinstance(build_outcome, CompileError):
            compiler_log = " ".join(build_outcome.log.split()).replace("The compiler was stopped: ", "")
            remedy = "Correct it in the package"
            if spec.kind == GENERATED and "took too long" in compiler_log:
                remedy += f", or allow more than {self._limits.cpu_time:g} s (seconds=S)"
            raise InputError(
                f"{failure_message}: {compiler_log[:300].rstrip('.')}", where=self._where, remedy=remedy
            )
        return build_outcome
