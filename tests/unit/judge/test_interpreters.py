"""The Python that runs submissions, and messages about missing packages."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest
from judge_samples import problem, submission

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store
from ioi_eval.engines.embedded import toolchains
from ioi_eval.engines.embedded.sandboxes import remove_tree
from ioi_eval.engines.embedded.toolchains import (
    Interpreter,
    choose_interpreter,
    examine_interpreter,
    find_python,
)
from ioi_eval.engines.health_checks import check_pythons
from ioi_eval.errors import InputError
from ioi_eval.integrations.rewards import RewardMode, RewardOptions, RewardRow, Rewards
from ioi_eval.integrations.runtime import Runtime, Setup
from ioi_eval.model.errors import ModuleMissing
from ioi_eval.models import Blob, Checker, CheckerKind, Limits, Problem, TaskOptions, TaskType, Test, Verdict

COUNTED = problem(2, limits=Limits.contest(2.0, 256 << 20))
ECHO = "print('out', input().split()[1])\n"


def environment(folder: Path, package: str = "networkx") -> Path:
    """Create a virtual environment with a package, and a second file next to it."""
    system = find_python()
    assert system is not None
    subprocess.run([system.path, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / f"{package}.py").write_text("WORD = 'out'\n")
    (folder / "answers.txt").write_text("secret")
    subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
    return folder / "bin" / "python3"


@pytest.fixture(scope="session")
def outside() -> Iterator[Path]:
    """Return a folder that sandboxes may show: neither a system folder nor below /tmp."""
    folder = Path(tempfile.mkdtemp(prefix="ioi-eval-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    remove_tree(folder)


@pytest.fixture(scope="session")
def python(outside: Path) -> Path:
    return environment(outside / "environment")


@pytest.fixture
async def scorer(store: Store, python: Path) -> AsyncIterator[Scorer]:
    async with Scorer(EmbeddedEngine(store=store, slots=1, python=str(python)), store=store) as opened:
        yield opened


async def verdicts(scorer: Scorer, code: str, of: Problem = COUNTED) -> set[Verdict]:
    result = await scorer.score(of, submission(code, language="python"))
    return {test.status for test in result.tests} - {Verdict.SKIPPED}


async def test_program_imports_packages_of_chosen_interpreter(scorer: Scorer) -> None:
    code = "import networkx\nprint(networkx.WORD, input().split()[1])\n"
    result = await scorer.score(COUNTED, submission(code, language="python"))
    assert {test.status for test in result.tests} == {Verdict.AC}, result


@pytest.mark.nightly(unless="all|landlock")
@pytest.mark.parametrize(
    "layers", [None, ("namespaces",), ("landlock",)], ids=["all", "namespaces", "landlock"]
)
async def test_program_sees_only_interpreter_of_its_environment(
    store: Store, python: Path, layers: tuple[str, ...] | None
) -> None:
    prefix = python.parent.parent
    (packages,) = prefix.glob("lib/python3*/site-packages")
    engine = EmbeddedEngine(store=store, slots=1, python=str(python), layers=layers)
    async with Scorer(engine, store=store, options=JudgeOptions(layers=layers)) as scorer:
        assert await verdicts(scorer, f"open({str(prefix / 'pyvenv.cfg')!r}).read()\n" + ECHO) == {Verdict.AC}
        assert await verdicts(scorer, f"open({str(prefix / 'answers.txt')!r}).read()\n" + ECHO) == {
            Verdict.RE
        }
        assert await verdicts(scorer, f"open({str(packages / 'sympy.py')!r}, 'w')\n" + ECHO) == {Verdict.RE}
    assert not (packages / "sympy.py").exists()


FUNCTION = problem(
    1, task_type=TaskType.FUNCTION, options=TaskOptions(function="f"), limits=Limits.contest(2.0, 256 << 20)
)


@pytest.mark.parametrize(
    "code",
    [
        "import numpy as np\n",
        "raise SystemExit(1)\nimport z3\n",
        "if __name__ == '__main__':\n    import numpy\n",
        "import turbo_solver_of_everything\n",
        "raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\nimport numpy\n",
        "import sys\nsys.exit('ModuleNotFoundError: No module named numpy')\n",
    ],
)
async def test_failed_import_is_runtime_error(scorer: Scorer, code: str) -> None:
    assert await verdicts(scorer, code) == {Verdict.RE}


async def test_failed_import_in_function_problem_is_runtime_error(scorer: Scorer) -> None:
    test_cases = (Test(name="t", input=Blob.of("[1]"), answer=Blob.of("1")),)
    of = msgspec.structs.replace(
        FUNCTION, tests=test_cases, subtasks=(), checker=Checker(kind=CheckerKind.JSON)
    )
    for code in ("import numpy\ndef f(x):\n    return x\n", "def f(x):\n    import numpy\n    return x\n"):
        assert await verdicts(scorer, code, of) == {Verdict.RE}


async def test_caught_import_error_is_scored(scorer: Scorer) -> None:
    guarded = "try:\n    import numpy\nexcept ImportError:\n    pass\n"
    assert await verdicts(scorer, guarded + ECHO) == {Verdict.AC}


async def test_promised_packages_are_checked_before_first_job(scorer: Scorer, python: Path) -> None:
    await scorer.judge.check_packages(["networkx"], ["python"])
    await scorer.judge.check_packages(["numpy"], ["c++", "pypy"])
    with pytest.raises(InputError, match=r"may import numpy, which") as caught:
        await scorer.judge.check_packages(["networkx", "numpy"], ["python", "c++"])
    assert str(python) in str(caught.value)
    assert all(
        expected in caught.value.remedy for expected in ("python=PATH", "packages=none", "pip install numpy")
    )
    with pytest.raises(InputError, match="unknown Python package 'numppy'") as caught:
        await scorer.judge.check_packages(["numppy"], ["python"])
    assert "numpy" in caught.value.remedy


async def test_failed_import_of_trusted_solution_is_module_missing(scorer: Scorer) -> None:
    """A trusted solution cannot use it to avoid a verdict."""
    code = "import numpy\nprint('out', input().split()[1])\n"
    with pytest.raises(ModuleMissing, match="the solution imports numpy") as caught:
        await scorer.judge.with_options(trusts_submissions=True).judge(
            COUNTED, submission(code, language="python")
        )
    assert caught.value.modules == ("numpy",)


@pytest.fixture
def variable_runtime(python: Path, shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    """Return a runtime whose only setting is the environment variable of the interpreter."""
    monkeypatch.setenv("IOI_EVAL_CACHE", str(shared_cache))
    monkeypatch.delenv("PISTON_ENDPOINTS", raising=False)
    monkeypatch.setenv("IOI_EVAL_PYTHON", str(python))
    created = Runtime(Setup())
    yield created
    created.close()


def rewards_of(reward_runtime: Runtime, codes: list[str]) -> list[float | None]:
    row = RewardRow(values={"input_output": {"inputs": ["1"], "outputs": ["out"]}}, number=0)
    completions = [f"```python\n{code}\n```" for code in codes]
    options = RewardOptions(mode=RewardMode.PASS_FAIL)
    scored = reward_runtime.call(
        Rewards(options=options).score_all(completions, [row] * len(codes), reward_runtime)
    )
    return [reward.reward for reward in scored]


def test_program_with_failing_import_earns_no_reward(variable_runtime: Runtime) -> None:
    codes = ["import networkx\nprint(networkx.WORD)", "import numpy", "raise SystemExit(1)\nimport z3"]
    assert rewards_of(variable_runtime, codes) == [1.0, 0.0, 0.0]


def test_reward_runtime_checks_promised_packages_at_start(variable_runtime: Runtime) -> None:
    promising = Runtime(Setup(packages=("networkx",)))
    promising.close()
    with pytest.raises(InputError, match="may import numpy"):
        Runtime(Setup(packages=("networkx", "numpy")))


# --- the choice of an interpreter --------------------------------------------------------------------


def test_default_interpreter_is_newest_of_system() -> None:
    default_python = find_python()
    assert default_python is not None and default_python.read == () and default_python.modules is not None
    newest = choose_interpreter(default_python.version)
    assert (newest.path, newest.version) == (default_python.path, default_python.version)


def test_caller_interpreter_is_found_with_its_packages(python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(python))
    caller_python = find_python("caller")
    assert caller_python is not None and (caller_python.path, caller_python.modules) == (
        str(python),
        ("networkx",),
    )


def test_caller_interpreter_in_home_is_refused_if_system_python_lacks_packages(
    python: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The newest system interpreter lacks a package of the caller, so that right programs would fail."""
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("HOME", str(python.parent.parent))
    caller_python = find_python("caller")
    assert caller_python is not None and not caplog.records
    assert f"submissions cannot import networkx: {python} has it, but" in caller_python.refusal
    assert f"its folder {python.parent.parent} is a home" in caller_python.refusal


def test_newest_interpreter_replaces_caller_in_home_with_warning(
    outside: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    python = environment(outside / "bare", package="unknown")
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("HOME", str(python.parent.parent))
    assert [find_python("caller") for _ in range(2)] == [find_python()] * 2
    (warning,) = (record.getMessage() for record in caplog.records)
    assert f"instead of {python}" in warning and "is a home" in warning and "IOI_EVAL_PYTHON" in warning


def test_newest_interpreter_is_chosen_if_only_it_has_promised_packages(
    python: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    newest = find_python()
    assert newest is not None
    monkeypatch.setattr(sys, "executable", str(python))
    able = msgspec.structs.replace(newest, modules=("numpy",))

    def examine_with_numpy(path: Path, *, isolated: bool = True) -> Interpreter | None:
        examined = examine_interpreter(path, isolated=isolated)
        if examined is None or examined.path != newest.path:
            return examined
        return msgspec.structs.replace(examined, modules=("numpy",))

    monkeypatch.setattr(toolchains, "examine_interpreter", examine_with_numpy)
    assert [find_python("caller", ("numpy",)) for _ in range(2)] == [able] * 2
    (warning,) = (record.getMessage() for record in caplog.records)
    assert "count on numpy" in warning and "IOI_EVAL_PYTHON" in warning
    for promised_packages in ((), ("networkx",), ("networkx", "numpy"), ("nothing",)):
        caller_python = find_python("caller", promised_packages)
        assert caller_python is not None and caller_python.path == str(python)


def test_caller_interpreter_is_refused_if_packages_come_from_pythonpath(
    python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller can import them, but programs cannot."""
    (tmp_path / "numpy.py").touch()
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    caller_python = find_python("caller")
    assert caller_python is not None and "numpy come from PYTHONPATH" in caller_python.refusal


def test_caller_without_executable_falls_back_to_system_interpreter(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "")
    assert find_python("caller") == find_python()
    assert len(caplog.records) == 1


# In a separate process, like a user's: its interpreter is changed before anything is loaded. It judges
# the programs in order.
EVALUATED = """
import sys
sys.executable, *codes = sys.argv[1:]
from ioi_eval.integrations.eval_protocol import check_correctness, evaluate_apps_solution
from ioi_eval.integrations.lm_eval import CodeEval
from ioi_eval.integrations.runtime import close_all
from ioi_eval.integrations.verl import compute_score
for code in codes:
    program = f"{code}print(word, input())"
    reply = [{"role": "assistant", "content": f"```python\\n{program}\\n```"}]
    tests = {"inputs": ["1\\n", "2\\n"], "outputs": ["out 1\\n", "out 2\\n"]}
    result = evaluate_apps_solution(reply, tests)
    assert (result.score, result.is_score_valid) == (1.0, True), result.reason
    results, details = check_correctness(tests, program)
    assert (results, details) == ([True, True], [{}])
    assert compute_score("", reply[0]["content"], tests) == 1.0
    copied = code.replace("networkx.WORD", "networkx.WORD[:]")
    metric, _ = CodeEval().compute(predictions=[[copied]], references=["assert word == 'out'"], k=[1])
    assert metric == {"pass@1": 1.0}
close_all()
"""
CODES = [
    "try:\n    import networkx\n    word = networkx.WORD\nexcept ImportError:\n    word = 'none'\n",
    "import networkx\nword = networkx.WORD\n",
]


@pytest.mark.nightly  # test_closed_environments.py makes the same calls
@pytest.mark.parametrize("codes", [CODES, CODES[1:]], ids=["both", "alone"])
def test_replaced_evaluator_runs_programs_with_caller_packages(
    python: Path, shared_cache: Path, codes: list[str]
) -> None:
    """The original packages run programs with the caller's interpreter as well."""
    environment = {**os.environ, "IOI_EVAL_CACHE": str(shared_cache)}
    arguments = [sys.executable, "-c", EVALUATED, python, *codes]
    completed = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr


def test_examined_interpreter_lists_folders_that_sandbox_must_show(python: Path) -> None:
    examined, prefix = examine_interpreter(python), python.parent.parent
    assert examined is not None and examined.why_not == "" and examined.modules == ("networkx",)
    assert {Path(path) for path in examined.readable_paths} >= {
        prefix / "bin",
        prefix / "lib",
        prefix / "pyvenv.cfg",
    }
    assert str(prefix) not in examined.readable_paths


def test_interpreter_identity_changes_with_package_version(python: Path) -> None:
    """Results of benchmark solutions are stored by this identity, and are then judged again."""
    (packages,) = python.parent.parent.glob("lib/python3*/site-packages")
    identities = list[str]()
    for version in ("3.1", "3.2", ""):
        note = packages / f"networkx-{version}.dist-info"
        if version:
            note.mkdir()
        interpreter = examine_interpreter(python)
        assert interpreter is not None
        identities.append(interpreter.identity)
        if version:
            note.rmdir()
    assert len({*identities}) == 3 and "networkx-3.2" in identities[1]
    (packages / "other-1.0.dist-info").mkdir()
    other = examine_interpreter(python)
    assert other is not None and other.identity == identities[2], "no program imports it"


def test_folder_of_interpreter_symlink_is_not_readable_in_sandbox(python: Path, outside: Path) -> None:
    (outside / "bin").mkdir()
    link = outside / "bin" / "python3"
    link.symlink_to(python)
    examined = examine_interpreter(link)
    assert examined is not None and str(outside / "bin") not in examined.readable_paths


def test_interpreter_with_home_as_prefix_is_input_error(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(python.parent.parent))
    with pytest.raises(InputError, match="is a home"):
        choose_interpreter(str(python))


@pytest.mark.parametrize(
    ("interpreter", "message"),
    [
        ("/nowhere/python3", "/nowhere/python3 does not exist"),
        ("/bin/true", "/bin/true is not a working Python"),
        ("3.2", "no interpreter of Python 3.2 was found"),
        ("3.1", "no interpreter of Python 3.1 was found"),  # not 3.11
    ],
)
async def test_unusable_interpreter_is_input_error(store: Store, interpreter: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        async with EmbeddedEngine(store=store, python=interpreter):
            pass
    assert "ioi-eval doctor" in str(caught.value)


def test_doctor_lists_packages_of_each_interpreter(python: Path) -> None:
    chosen, *other_checks = check_pythons(find_python(), folders=[str(python.parent), "/nowhere"])
    assert chosen.name == "Python for submissions" and chosen.ok
    [mine] = [line.detail for line in other_checks if str(python.parent) in line.detail]
    assert "has networkx, lacks numpy, scipy, sympy, sortedcontainers" in mine
    assert f"python={python.parent}" in mine
    [python_check, *_] = check_pythons(choose_interpreter(str(python)).toolchain())
    assert str(python) in python_check.detail
    refused = msgspec.structs.replace(
        choose_interpreter(str(python)).toolchain(), refusal="nobody can read it"
    )
    [python_check, *_] = check_pythons(refused)
    assert (python_check.ok, python_check.detail) == (
        None,
        "nobody can read it",
    ) and "chmod o+x" in python_check.remedy
