"""Modules follow the layers in pyproject.toml, and the rules for what only some layers may use.

Each rule is a function that yields the offences in a module's syntax tree. The rules are also tested on
sources that break them.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "ioi_eval"
_TABLE = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ioi_eval"]
LEVELS: dict[str, int] = {
    module: number for number, modules in enumerate(_TABLE["layers"]["levels"]) for module in modules
}
ONLY: dict[str, list[str]] = _TABLE["only"]
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "_data" not in path.parts)
CONTRACT = ["engines.contract", "engines.jobs.build", "engines.jobs.runner"]
SURFACE = ""  # ioi_eval/__init__.py, as in `from ioi_eval import Scorer`


def module_name(path: Path) -> str:
    """Return a file's module, such as `cli.score`, or SURFACE for ioi_eval/__init__.py."""
    names = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def within(module: str, prefixes: list[str]) -> bool:
    """Return True if `prefixes` contain the module or a package that contains it."""
    return any(module == prefix or module.startswith(prefix + ".") for prefix in prefixes)


def level(module: str) -> int:
    """Return a module's level. The surface is above `runs`, and the next layer may import it."""
    return 2 * LEVELS["runs"] + 1 if module == SURFACE else 2 * LEVELS[module.split(".")[0]]


@lru_cache(maxsize=1)
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return all nodes of a syntax tree. All rules read the same nodes."""
    return tuple(ast.walk(tree))


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of every import, even in functions and under TYPE_CHECKING."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)


def inner(name: str) -> str | None:
    """Return the module of ioi_eval that contains an imported name, or None for a name of another package."""
    first, _, inner_name = name.partition(".")
    if first != "ioi_eval":
        return None
    return inner_name if inner_name.split(".")[0] in LEVELS else SURFACE


def layer_offences(module: str, tree: ast.AST) -> Iterator[str]:
    for line, name in imported(tree):
        target = inner(name)
        if name.startswith("."):
            yield f"line {line}: relative import {name}"
        elif target is not None and not allowed(module, target):
            yield f"line {line}: {module or 'ioi_eval'} may not import {name}"


def allowed(module: str, target: str) -> bool:
    """Return True if the layers allow `module` to import `target`."""
    if within(target, ["plugins"]) and not within(module, ["plugins"]):
        return False
    same_folder = module.split(".")[0] == target.split(".")[0]
    return same_folder or level(target) < level(module)


def plugin_offences(module: str, tree: ast.AST) -> Iterator[str]:
    """A plugin may import another plugin's package, not the modules inside it."""
    if not within(module, ["plugins"]):
        return
    own_package = ".".join(module.split(".")[:2])
    for line, name in imported(tree):
        target = (inner(name) or "").split(".")
        other = ".".join(target[:2])
        modules = [*(PACKAGE / other.replace(".", "/")).glob("*")]
        if (
            target[0] == "plugins"
            and other != own_package
            and target[2:3]
            and target[2] in {m.stem for m in modules}
        ):
            yield f"line {line}: {module} may not import {name}, from inside another plugin"


def engine_offences(module: str, tree: ast.AST) -> Iterator[str]:
    """The judge may import only the contract of engines, and no engine."""
    for line, name in imported(tree):
        target = inner(name) or ""
        if within(module, ["judge"]) and within(target, ["engines"]) and not within(target, CONTRACT):
            yield f"line {line}: {module} may import {', '.join(CONTRACT)} only, not {name}"


ENGINES = {"EmbeddedEngine", "PistonEngine", "RayEngine", "FakeEngine", "RentedEngine"}
ENGINES |= {"Engine", "ServerCluster"}


def kind_offences(module: str, tree: ast.AST) -> Iterator[str]:
    """Only engines may test the class of an engine."""
    if within(module, ["engines"]):
        return
    for node in nodes(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in {"isinstance", "issubclass", "type"}:
            names = {dotted(name).rpartition(".")[2] for name in ast.walk(node)}
            yield from (f"line {node.lineno}: tests for class {name}" for name in sorted(names & ENGINES))


def package_offences(module: str, tree: ast.AST) -> Iterator[str]:
    for line, name in imported(tree):
        package = name.split(".")[0]
        if package in ONLY and not within(module, ONLY[package]):
            yield f"line {line}: only {', '.join(ONLY[package])} may import {package}"


def terminal_offences(module: str, tree: ast.AST) -> Iterator[str]:
    if within(module, ["cli"]):
        return
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and dotted(node) in {"sys.stdout", "sys.stderr"}:
            yield f"line {node.lineno}: {dotted(node)}"


# Modules of contests that may read the environment, as the command line and integrations do.
_CONTEST_MODULES = ("command", "mcp", "openenv")


def environment_offences(module: str, tree: ast.AST) -> Iterator[str]:
    contest_modules = [f"plugins.contest.{name}" for name in _CONTEST_MODULES]
    if within(module, ["cli", "integrations", "plugins.audit.command", *contest_modules]):
        return
    names = {"os.environ", "os.environb", "os.getenv", "os.putenv", "os.getenvb"}
    yield from (f"line {line}: {name}" for line, name in imported(tree) if name in names)
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and dotted(node) in names:
            yield f"line {node.lineno}: {dotted(node)}"


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return "?"


RULES = [
    layer_offences,
    plugin_offences,
    engine_offences,
    kind_offences,
    package_offences,
    terminal_offences,
    environment_offences,
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: module_name(path) or "ioi_eval")
def test_module_imports_follow_layer_rules(path: Path) -> None:
    module, tree = module_name(path), ast.parse(path.read_text(), str(path))
    assert module == SURFACE or module.split(".")[0] in LEVELS, "not in the layers of pyproject.toml"
    offences = [f"{path.relative_to(ROOT)}, {offence}" for rule in RULES for offence in rule(module, tree)]
    assert offences == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rules.plan", "from ioi_eval.judge import Judge"),
        ("engines.fake", "def later():\n    import ioi_eval.runs.runner"),
        ("rules.scoring", "from ioi_eval import judge"),
        ("rules.scoring", "from ioi_eval import Scorer"),
        ("rules.scoring", "from ioi_eval.models import Test"),
        ("reports", "from ioi_eval.benchmarks import open_dump"),
        ("judge", "from . import classic"),
        ("cli.score", "from ioi_eval.plugins.dmoj.packages import Dmoj"),
        ("__main__", "def later():\n    import ioi_eval.plugins.dmoj"),
        ("plugins.italy.packages", "from ioi_eval.plugins.dmoj.packages import Dmoj"),
        ("judge.judge", "from ioi_eval.engines.jobs.http_delivery import HttpJobDelivery"),
        ("judge.classic", "from ioi_eval.engines import Engine"),
        ("runs.work", "if isinstance(engine, ServerCluster):\n    pass"),
        (
            "integrations.runtime",
            "ray = [engine for engine in engines if isinstance(engine, (A, engines.RayEngine))]",
        ),
        ("rules.plan", "import pandas as pd"),
        ("engines.embedded.engine", "import aiohttp"),
        ("judge", "import sys\nsys.stderr.write('hello')"),
        ("engines.embedded", "import os\nPATH = os.environ['PATH']"),
        ("engines.embedded", "from os import getenv"),
    ],
)
def test_layer_rules_report_forbidden_code(module: str, source: str) -> None:
    assert [offence for rule in RULES for offence in rule(module, ast.parse(source))] != []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("judge.judge", "from ioi_eval.engines.contract import Engine"),
        ("judge.scorer", "from ioi_eval.judge import classic\nfrom ioi_eval.model.values import Job"),
        ("cli.score", "from ioi_eval import Scorer\nimport os, tqdm\nos.environ"),
        ("engines.registry", "if isinstance(engine, EmbeddedEngine):\n    pass"),
        (SURFACE, "from ioi_eval.judge import Scorer"),
        ("plugins.italy.packages", "from ioi_eval.plugins.italy import other\nimport ioi_eval.plugins.dmoj"),
    ],
)
def test_layer_rules_accept_correct_imports(module: str, source: str) -> None:
    assert [offence for rule in RULES for offence in rule(module, ast.parse(source))] == []


def test_importing_package_loads_no_heavy_module() -> None:
    heavy = {"aiohttp", "httpx", "datasets", "pandas", "ray", "pyarrow", "numpy", "rich", "typer", "tqdm"}
    code = "import sys, ioi_eval; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert "ioi_eval" in loaded
    assert heavy & {name.split(".")[0] for name in loaded} == set()


# Scripts that need private names, with the purpose.
INSIDE = {
    "scale.py": "simulated servers",
    "report.py": "rows of simulated runs",
    "kernels_guest.py": "sandboxes without some layers",
}
SCRIPTS = [
    path
    for folder in ("scripts", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.name not in INSIDE
]
_PUBLIC = (
    "classic",
    "engines",
    "errors",
    "models",
    "plugins.contest",
    "runs",
    "scoring",
    "sources",
    "testing",
)
PUBLIC = ("ioi_eval", *(f"ioi_eval.{name}" for name in _PUBLIC))


def taken(path: Path) -> Iterator[tuple[str, str]]:
    """Yield module and name of each import from ioi_eval in a file, except from integrations."""
    for node in ast.walk(ast.parse(path.read_text())):
        module = str(node.module) if isinstance(node, ast.ImportFrom) else ""
        if module.partition(".")[0] == "ioi_eval" and not module.startswith("ioi_eval.integrations"):
            yield from ((module, alias.name) for alias in node.names)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_use_public_names(path: Path) -> None:
    for module, name in taken(path):
        assert module in PUBLIC and name in importlib.import_module(module).__all__, f"{module}.{name}"


# Modules that are not public, and the purpose for which integrations import them.
SHARED = {
    "engines.registry": "choice of the engine, as on the command line",
    "engines.piston.sending": "requests to servers that are not jobs",
    "benchmarks.parquet": "reading large files of tests in pieces",
    "benchmarks.row_files": "length of a reply, counted as in a dump",
    "rules.extraction": "reading a reply as in a dump",
    "model.fields": "similar names that errors suggest",
    "model.options": "names and help of options, as on the command line",
    "model.text": "numbers with their nouns in messages",
    "registries": "tasks of plugins that may not be installed",
    "store.resources": "test harnesses that are part of the package",
}


@pytest.mark.parametrize("path", sorted((PACKAGE / "integrations").glob("*.py")), ids=lambda path: path.stem)
def test_integrations_import_public_or_shared_names(path: Path) -> None:
    for module, name in taken(path):
        if module in PUBLIC:
            assert name in importlib.import_module(module).__all__, f"{module}.{name}"
        else:
            assert module.removeprefix("ioi_eval.") in SHARED, f"{module}.{name}"


def test_integrations_import_all_listed_shared_modules() -> None:
    imported_modules = {
        module for path in (PACKAGE / "integrations").glob("*.py") for module, _ in taken(path)
    }
    assert {module.removeprefix("ioi_eval.") for module in imported_modules - set(PUBLIC)} == set(SHARED)
