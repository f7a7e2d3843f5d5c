"""The caller's Python environment in a folder that only its owner may enter, such as /root, or below /tmp."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from judge_samples import problem, submission
from requirements import require_language
from support.cached_lookups import script_with_known_tools

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store
from ioi_eval.engines.embedded.sandboxes import remove_tree
from ioi_eval.engines.embedded.toolchains import is_enterable_by_everyone
from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.models import Blob, Checker, CheckerKind, Limits, NamedBlob, Verdict

COUNTED = problem(1, limits=Limits.contest(5.0, 512 << 20))
ECHO = "print('out', input().split()[1])\n"
BY_NUMPY = "import numpy\nprint('out', numpy.add(int(input().split()[1]), 0))\n"
SECRET = "nobody may read this"
TOP = "ioi-eval-closed-"
TWO_ROWS = pytest.mark.nightly(unless="^/tmp-all|^/var/tmp-namespaces")
ROOTS_OWN = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's programs run as the user")


def environment(folder: Path, python: str = sys.executable) -> Path:
    """Make a virtual environment with a module `numpy`, and secrets in and next to it. Return its Python."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "numpy.py").write_text("def add(a, b):\n    return a + b\n")
    (packages / "unlisted_package.py").write_text("from numpy import add\n")
    (folder.parent / "sibling").mkdir()
    for readable_folder in (folder, folder.parent, folder.parent / "sibling", folder.parents[1]):
        (readable_folder / "secret.txt").write_text(SECRET)
    return folder / "bin" / "python3"


@pytest.fixture(params=["/var/tmp", "/tmp"], scope="module")
def python(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Return the Python of an environment in closed folders."""
    top = Path(tempfile.mkdtemp(prefix=TOP, dir=request.param))
    (top / "home").mkdir(mode=0o700)
    yield environment(top / "home" / "environment")
    remove_tree(top)


@pytest.fixture
def as_the_caller(python: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "executable", str(python))
    return python


def opened(store: Store, *layers: str, python: str = "caller") -> AbstractAsyncContextManager[Scorer]:
    chosen = layers or None
    engine = EmbeddedEngine(store=store, slots=1, python=python, layers=chosen)
    return Scorer(engine, store=store, options=JudgeOptions(layers=chosen, all_tests=True))


async def verdicts(scorer: Scorer, code: str) -> set[Verdict]:
    result = await scorer.score(COUNTED, submission(code, language="python"))
    return {test.status for test in result.tests}


@pytest.fixture(params=[(), ("namespaces",)], ids=["all", "namespaces"])
async def scorer(request: pytest.FixtureRequest, store: Store, as_the_caller: Path) -> AsyncIterator[Scorer]:
    async with opened(store, *request.param) as judge_scorer:
        yield judge_scorer


@TWO_ROWS
async def test_programs_import_what_the_caller_can_import(scorer: Scorer, as_the_caller: Path) -> None:
    result = await scorer.score(COUNTED, submission(BY_NUMPY, language="python"))
    assert {test.status for test in result.tests} == {Verdict.AC}, result
    assert result.confinement["interpreter"] == "forked", "the fork server has the environment as well"
    assert await verdicts(scorer, BY_NUMPY.replace("numpy", "unlisted_package")) == {Verdict.AC}
    profile = await scorer.judge.capabilities()
    assert profile.toolchains["python3"].path == str(as_the_caller)


@TWO_ROWS
async def test_checker_with_own_tmp_imports_caller_packages(scorer: Scorer) -> None:
    """It has a private /tmp, in which the environment below the machine's /tmp is visible."""
    code = (
        "import sys, tempfile, numpy\nassert tempfile.TemporaryFile()\n"
        "right = open(sys.argv[2]).read().split() == open(sys.argv[3]).read().split()\n"
        "print(numpy.add(int(right), 0))\nprint('right' if right else 'wrong', file=sys.stderr)\n"
    )
    source = NamedBlob(name="check.py", content=Blob.of(code))
    checker = Checker(kind=CheckerKind.CMS, sources=(source,), language="python")
    of = problem(1, limits=Limits.contest(5.0, 512 << 20), checker=checker)
    for program, verdict in ((ECHO, Verdict.AC), ("print('other')\n", Verdict.WA)):
        result = await scorer.score(of, submission(program, language="python"))
        assert {test.status for test in result.tests} == {verdict}, result


LOOKING = """
import os
found, seen = [], set()
for place in PLACES:
    try:
        found.append(open(place).read())
    except OSError:
        pass
for folder in FOLDERS:
    try:
        seen.update(os.listdir(folder))
    except OSError:
        pass
assert not found and seen <= SHOWN, (found, seen)
"""


@TWO_ROWS
async def test_programs_cannot_see_folders_around_caller_environment(
    scorer: Scorer, as_the_caller: Path
) -> None:
    prefix = as_the_caller.parent.parent
    folders = [prefix, prefix.parent, prefix.parent / "sibling", prefix.parents[1]]
    secret_paths = [str(folder / "secret.txt") for folder in folders] + ["/root/.bashrc", "/root/.profile"]
    shown = {"bin", "lib", "lib64", "pyvenv.cfg", "home", prefix.name, *Path(sys.base_prefix).parts}
    listed = [*map(str, folders), "/root"]
    code = f"PLACES, FOLDERS, SHOWN = {secret_paths!r}, {listed!r}, {shown!r}\n{LOOKING}{ECHO}"
    assert await verdicts(scorer, code) == {Verdict.AC}
    assert await verdicts(scorer, f"open({str(prefix / 'pyvenv.cfg')!r}).read()\n{ECHO}") == {Verdict.AC}


@TWO_ROWS
async def test_programs_cannot_change_caller_environment(scorer: Scorer, as_the_caller: Path) -> None:
    prefix = as_the_caller.parent.parent
    (packages,) = prefix.glob("lib/python3*/site-packages")
    changes = [f"open({str(packages / name)!r}, 'w')" for name in ("sympy.py", "numpy.py")]
    changes += [f"os.{call}({str(packages)!r})" for call in ("rmdir", "unlink")]
    changes.append(f"os.rename({str(prefix / 'lib')!r}, {str(prefix / 'moved')!r})")
    for change in changes:
        assert await verdicts(scorer, f"import os\n{change}\n{ECHO}") == {Verdict.RE}
    assert not (packages / "sympy.py").exists() and (packages / "numpy.py").read_text()


@ROOTS_OWN
@pytest.mark.nightly(unless="^/tmp")
async def test_unreadable_packages_without_namespaces_are_judge_failure_for_python(
    store: Store, as_the_caller: Path
) -> None:
    """Without namespaces the folder cannot be shown to another user, regardless of the program's imports."""
    async with opened(store, "landlock") as scorer:
        for code in (BY_NUMPY, ECHO, "raise ModuleNotFoundError(\"No module named 'numpy'\")"):
            with pytest.raises(JudgeFailure, match="submissions cannot import numpy") as caught:
                await verdicts(scorer, code)
            closed = as_the_caller.parents[2]
            assert f"{closed}" in str(caught.value) and "which submissions cannot read" in str(caught.value)
            assert "chmod o+x" in caught.value.remedy and "IOI_EVAL_PYTHON" in caught.value.remedy
        with pytest.raises(InputError, match="submissions cannot import numpy"):
            await scorer.judge.check_packages((), ["python"])
        await scorer.judge.check_packages((), ["c++"])
    with pytest.raises(InputError, match="cannot run submissions: it is in"):
        async with opened(store, "landlock", python=str(as_the_caller)):
            pass


@ROOTS_OWN
@pytest.mark.nightly(unless="^/tmp")
async def test_unreadable_packages_without_namespaces_still_allow_cpp(
    store: Store, as_the_caller: Path
) -> None:
    require_language("c++")
    code = '#include <cstdio>\nint main() { int n; std::scanf("in %d", &n); std::printf("out %d\\n", n); }\n'
    async with opened(store, "landlock") as scorer:
        result = await scorer.score(COUNTED, submission(code, language="c++"))
    assert {test.status for test in result.tests} == {Verdict.AC}


@ROOTS_OWN
@pytest.mark.nightly(unless="^/tmp")
@pytest.mark.skipif(
    not is_enterable_by_everyone(Path(sys.base_prefix)), reason="only root can read this Python"
)
async def test_packages_readable_by_submissions_need_no_namespaces(store: Store, as_the_caller: Path) -> None:
    """It is the remedy that the judge failure names."""
    closed = [as_the_caller.parents[2], as_the_caller.parents[3]]
    for folder in closed:
        folder.chmod(0o711)
    try:
        async with opened(store, "landlock") as scorer:
            assert await verdicts(scorer, BY_NUMPY) == {Verdict.AC}
    finally:
        for folder in closed:
            folder.chmod(0o700)


@ROOTS_OWN
@pytest.mark.nightly(unless="^/tmp")
@pytest.mark.parametrize(("mode", "of"), [(0o600, "numpy.py"), (0o700, "")], ids=["file", "folder"])
async def test_package_files_unreadable_to_others_are_judge_failure(
    store: Store, as_the_caller: Path, mode: int, of: str
) -> None:
    (packages,) = as_the_caller.parent.parent.glob("lib/python3*/site-packages")
    mode_before = (packages / of).stat().st_mode
    (packages / of).chmod(mode)
    try:
        async with opened(store) as scorer:
            with pytest.raises(JudgeFailure, match="other users may not read these files"):
                await verdicts(scorer, ECHO)
    finally:
        (packages / of).chmod(mode_before)


# --- every entry point, each in a separate process like a user's -----------------------------------


ENTERED = """
[code] = arguments
from ioi_eval.integrations.eval_protocol import check_correctness, evaluate_apps_solution
from ioi_eval.integrations.lm_eval import CodeEval
from ioi_eval.integrations.open_r1 import binary_code_reward, code_reward
from ioi_eval.integrations.runtime import close_all
from ioi_eval.integrations.trl import make_reward
from ioi_eval.integrations.verl import compute_score
text = f"```python\\n{code}```"
reply = [{"role": "assistant", "content": text}]
tests = {"inputs": ["in 1\\n", "in 2\\n"], "outputs": ["out 1\\n", "out 2\\n"]}
result = evaluate_apps_solution(reply, tests)
assert (result.score, result.is_score_valid) == (1.0, True), result.reason
assert check_correctness(tests, code) == ([True, True], [{}])
metric, _ = CodeEval().compute(predictions=[["import numpy"]], references=["assert numpy"], k=[1])
assert metric == {"pass@1": 1.0}
assert make_reward()(completions=[text], input_output=[tests]) == [1.0]
assert compute_score("", text, tests) == 1.0
pairs = zip(tests["inputs"], tests["outputs"])
cases = [{"input": given, "output": wanted, "type": "stdin_stdout"} for given, wanted in pairs]
info = [{"language": "python", "test_cases": cases}]
assert code_reward([reply], verification_info=info) == [1.0]
assert binary_code_reward([reply], verification_info=info) == [1.0]
close_all()
"""
SCORED = """
dump, copies = arguments
from ioi_eval import cli
sys.argv = ["ioi-eval", "score", dump, "--problems", "apps", "--data-dir", copies, "--out", dump + ".run"]
cli.main()
"""


REFUSED = """
from ioi_eval import EmbeddedEngine, JudgeOptions
from ioi_eval.integrations.eval_protocol import evaluate_apps_solution
from ioi_eval.integrations.rewards import RewardRow, Rewards
from ioi_eval.integrations.runtime import Setup, close_all
from ioi_eval.integrations.trl import make_reward
from ioi_eval.integrations.verl import judge_solution
from ioi_eval.errors import InterpreterRefused
layers = ("landlock",)
def make(store):
    return EmbeddedEngine(store=store, slots=1, python="caller", layers=layers)
setup = Setup(engine=make, options=JudgeOptions(layers=layers))
tests = {"inputs": ["in 1\\n"], "outputs": ["out 1\\n"]}
row = RewardRow(values={"input_output": tests}, number=0)
for code in arguments:
    text = f"```python\\n{code}```"
    result = evaluate_apps_solution([{"role": "assistant", "content": text}], tests, engine=setup)
    assert not result.is_score_valid and "cannot import numpy" in result.reason, result.reason
    assert make_reward(setup=setup)(completions=[text], input_output=[tests]) == [None]
    rewards = Rewards(setup=setup)
    try:
        rewards.runtime().call(judge_solution(rewards, rewards.runtime(), text, row, 0.0))
    except InterpreterRefused as error:
        assert "chmod o+x" in str(error)
    else:
        raise AssertionError("verl takes a failure of the judge for a reward")
close_all()
"""


def apps(folder: Path, code: str) -> tuple[str, str]:
    """Write a dump with a program for a problem of APPS, and that problem."""
    tests = json.dumps({"inputs": ["in 1", "in 2"], "outputs": ["out 1", "out 2"]})
    row = {
        "problem_id": 0,
        "question": "Echo.",
        "solutions": "[]",
        "input_output": tests,
        "difficulty": "interview",
        "starter_code": "",
    }
    (folder / "copies" / "apps").mkdir(parents=True)
    (folder / "copies" / "apps" / "test.jsonl").write_text(json.dumps(row) + "\n")
    dump = folder / "dump.jsonl"
    dump.write_text(json.dumps({"uuid": "one", "problem_id": "apps_0", "code": code}) + "\n")
    return str(dump), str(folder / "copies")


def run_script(script: str, cache: Path, folder: Path, python: Path, *arguments: str) -> None:
    """Run a script as a process of this Python, which knows all other compilers of the machine."""
    known = script_with_known_tools(folder / "tools.json")
    script = f"import sys\nsys.executable, *arguments = sys.argv[1:]\n{known}{script}"
    environment = {name: value for name, value in os.environ.items() if name != "IOI_EVAL_PYTHON"}
    completed = subprocess.run(
        [sys.executable, "-c", script, python, *arguments],
        env={**environment, "IOI_EVAL_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr


def run_score_command(python: Path, cache: Path, folder: Path, code: str) -> None:
    dump, copies = apps(folder, code)
    run_script(SCORED, cache, folder, python, dump, copies)
    (row,) = map(json.loads, Path(f"{dump}.run", "results.jsonl").read_text().splitlines())
    assert row["resolved"] is True, row


@pytest.mark.nightly(unless="^/tmp")
def test_all_public_calls_run_programs_with_packages_of_caller(
    python: Path, shared_cache: Path, tmp_path: Path
) -> None:
    run_script(ENTERED, shared_cache, tmp_path, python, BY_NUMPY)


@pytest.mark.nightly  # test_caller_interpreter_is_default asks the command for its engine
def test_score_command_runs_programs_with_packages_of_caller(
    python: Path, shared_cache: Path, tmp_path: Path
) -> None:
    run_score_command(python, shared_cache, tmp_path, BY_NUMPY)


@ROOTS_OWN
@pytest.mark.nightly(unless="^/tmp")
def test_public_calls_give_no_score_if_caller_packages_are_unreadable(
    python: Path, shared_cache: Path, tmp_path: Path
) -> None:
    run_script(REFUSED, shared_cache, tmp_path, python, BY_NUMPY, ECHO)


@pytest.mark.nightly
def test_numpy_is_imported_from_caller_environment(python: Path, shared_cache: Path, tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    installed = Path(numpy.__file__).parent
    (packages,) = python.parent.parent.glob("lib/python3*/site-packages")
    (packages / "numpy.py").rename(packages / "stand_in.py")
    try:
        for package_folder in (installed, installed.parent / "numpy.libs"):
            if package_folder.exists():
                shutil.copytree(package_folder, packages / package_folder.name)
        code = "import numpy\nprint('out', numpy.array([int(input().split()[1])]).sum())\n"
        run_script(ENTERED, shared_cache, tmp_path, python, code)
        run_score_command(python, shared_cache, tmp_path, code)
    finally:
        (packages / "stand_in.py").rename(packages / "numpy.py")
        for name in ("numpy", "numpy.libs"):
            shutil.rmtree(packages / name, ignore_errors=True)
