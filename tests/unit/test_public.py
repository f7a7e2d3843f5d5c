"""The public names of `ioi_eval`, and the modules that it must not import."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import ioi_eval
from ioi_eval import Limits, Problem, Scorer, Store, Submission, Test, Verdict, load_problems
from ioi_eval.models import Blob
from ioi_eval.store.resources import examples_folder
from ioi_eval.testing import FakeEngine

HEAVY = {"aiohttp", "httpx", "datasets", "pandas", "ray", "pyarrow", "numpy", "rich", "typer", "tqdm"}
SOURCE = Path(ioi_eval.__file__).read_text()


def loaded_by(code: str) -> set[str]:
    shown = "import sys\nprint(*(name.split('.')[0] for name in sys.modules))"
    completed = subprocess.run(
        [sys.executable, "-c", f"{code}\n{shown}"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    return set(completed.stdout.split())


def test_imports_for_type_checking_equal_dunder_all() -> None:
    """Each import under TYPE_CHECKING is in `__all__`, and from the module that provides it at run time."""
    (block,) = (node for node in ast.parse(SOURCE).body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    modules_by_name = {alias.name: node.module for node in imports for alias in node.names}
    assert sorted(modules_by_name) == sorted(ioi_eval.__all__)
    for name, module in modules_by_name.items():
        assert module is not None
        assert getattr(importlib.import_module(module), name) is getattr(ioi_eval, name)


LAZY = ["classic", "engines", "runs", "scoring", "sources"]


@pytest.mark.parametrize("module", ["models", "errors", "testing", *LAZY])
def test_public_module_has_the_names_of_its_dunder_all(module: str) -> None:
    offered = importlib.import_module(f"ioi_eval.{module}")
    assert [name for name in offered.__all__ if not hasattr(offered, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        offered.nonsense  # noqa: B018


@pytest.mark.parametrize("module", LAZY)
def test_lazy_name_equals_type_checking_import(module: str) -> None:
    offered = importlib.import_module(f"ioi_eval.{module}")
    tree = ast.parse(Path(str(offered.__file__)).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imported = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names:
            imported[alias.asname or alias.name] = getattr(importlib.import_module(node.module), alias.name)
    assert imported and set(imported) <= set(offered.__all__)
    assert all(getattr(offered, name) is imported_object for name, imported_object in imported.items())


@pytest.mark.parametrize(
    ("module", "unneeded"),
    [
        ("classic", {"judge", "engines.jobs"}),
        ("engines", {"engines.registry", "engines.piston", "store"}),
        ("scoring", {"judge", "reports", "engines", "store"}),
        ("sources", {"benchmarks", "problems", "generate", "runs", "msgspec"}),
    ],
)
def test_public_module_loads_names_lazily(module: str, unneeded: set[str]) -> None:
    code = f"import sys, ioi_eval.{module}; print(*sys.modules)"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(completed.stdout.split())
    assert {f"ioi_eval.{name}" for name in unneeded} & loaded == set()
    assert loaded & HEAVY == set()


@pytest.mark.parametrize(
    ("name", "unneeded"),
    [
        ("EmbeddedEngine", "engines.piston"),
        ("Problem", "engines"),
        ("load_problems", "judge"),
    ],
)
def test_public_name_loads_only_needed_modules(name: str, unneeded: str) -> None:
    code = f"import sys, ioi_eval; ioi_eval.{name}; print(*sys.modules)"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"ioi_eval.{unneeded}" not in completed.stdout.split()


def test_public_name_list_equals_dir() -> None:
    assert dir(ioi_eval) == ioi_eval.__all__


def test_unknown_public_name_is_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ioi_eval.nonsense  # noqa: B018


def test_importing_ioi_eval_loads_no_heavy_module_or_asyncio() -> None:
    assert loaded_by("import ioi_eval") & (HEAVY | {"asyncio", "msgspec"}) == set()


def test_using_all_public_names_loads_no_heavy_module() -> None:
    code = "import ioi_eval\nfor name in ioi_eval.__all__: getattr(ioi_eval, name)"
    assert loaded_by(code) & HEAVY == set()


async def test_documented_fake_engine_test_works() -> None:
    """It is the example in FakeEngine's documentation."""
    test = Test(name="1", input=Blob.of("1 2\n"), answer=Blob.of("3\n"))
    other = Test(name="2", input=Blob.of("2 2\n"), answer=Blob.of("4\n"))
    problem = Problem(id="sum", limits=Limits.contest(1.0, 256 << 20), tests=(test, other))
    async with Scorer(FakeEngine({0: 1.0, 1: "cpu"})) as scorer:
        result = await scorer.score(
            problem, Submission(key="a", problem_id="sum", code="int main() {}", language="c++")
        )
    assert [test.status for test in result.tests] == [Verdict.AC, Verdict.TLE]
    assert result.points == 0.5


def test_public_functions_accept_folder_paths_as_strings(tmp_path: Path) -> None:
    assert Store(f"{tmp_path}/store").root == tmp_path / "store"
    zipped = load_problems(str(examples_folder() / "problems"), cache=f"{tmp_path}/cache", only={"carousel"})
    assert list(zipped) == ["carousel"]
