"""`--engine NAME` finds engines of other packages, such as the engine in docs/extending.md."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path

import pytest
from support.plugins import needs_plugin

from ioi_eval import Engine, InputError, JudgeOptions, Problem, Scorer, Store, Submission
from ioi_eval.cli.options import EngineOptions
from ioi_eval.engines.registry import EngineChoice, find_engine, open_engine

DOCS = Path(__file__).parents[3] / "docs" / "extending.md"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a distribution with the module and the entry point of docs/extending.md."""
    section = DOCS.read_text().partition("## An engine")[2]
    code, entry = (re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)[0] for kind in ("python", "toml"))
    (tmp_path / "folder_engine.py").write_text(code)
    metadata_folder = tmp_path / "folder_engine-1.0.dist-info"
    metadata_folder.mkdir()
    (metadata_folder / "METADATA").write_text("Metadata-Version: 2.1\nName: folder-engine\nVersion: 1.0\n")
    lines = entry.replace('[project.entry-points."ioi_eval.engines"]', "[ioi_eval.engines]")
    (metadata_folder / "entry_points.txt").write_text(lines.replace('"', ""))
    monkeypatch.syspath_prepend(str(tmp_path))


async def test_engine_from_docs_extending_judges_submissions(installed: None, shared_cache: Path) -> None:
    store, choice = Store(shared_cache), EngineOptions(engine="folder").read_engine_choice()
    engine, trusted = open_engine(choice, store)
    assert isinstance(engine, Engine) and trusted is not None
    problem = Problem.of(tests=[("1 2", "3"), ("2 2", "4")])
    options, verdicts = JudgeOptions(allow_unconfined=True), list[str]()
    async with Scorer(engine, store=store, options=options, trusted=trusted) as scorer:
        for code in ("print(sum(map(int, input().split())))", "print(3)", "print("):
            sent = Submission(key=code, problem_id=problem.id, code=code, language="python")
            result = await scorer.score(problem, sent)
            verdicts.append(" ".join(test.status for test in result.tests))
    assert verdicts == ["AC AC", "AC WA", "CE CE"]


@needs_plugin("ray")
def test_unknown_engine_name_is_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="or name an engine: embedded, ray, slurm"):
        find_engine("coin:heads")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"Ray is not installed.*pip install '.\[ray\]'"):
        open_engine(EngineChoice(text="ray"), Store(tmp_path))


@pytest.mark.parametrize(
    ("engine_text", "suggestion"),
    [("slrum", "slurm"), ("Embedded", "embedded"), ("rya", "ray"), ("k8s", "k8s:")],
)
def test_misspelt_engine_name_is_not_treated_as_host(
    engine_text: str, suggestion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [("every", "host", "is", "there", ("", 0))])
    remedy = f"Did you mean '{suggestion}'? A host of that name is http://{engine_text}:PORT"
    with pytest.raises(InputError, match=re.escape(remedy)):
        find_engine(engine_text)
    find_engine(f"http://{engine_text}:2000")


def test_engine_name_without_scheme_is_a_host_only_if_it_resolves(monkeypatch: pytest.MonkeyPatch) -> None:
    def known(name: str, *_: object) -> list[str]:
        if name == "judge-1":
            return ["an address"]
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", known)
    with pytest.raises(
        InputError, match=r"'nothere' is not an engine and not a host\. Name an engine \(.*embedded, ray"
    ):
        find_engine("nothere")
    # If one of several servers is down, its name may be unknown as well.
    for engine_text in ("judge-1", "nothere,judge-1", "nothere:2000", "nothere.example", "10.0.0.7"):
        find_engine(engine_text)


def test_unknown_engine_error_lists_installed_engines(installed: None) -> None:
    with pytest.raises(InputError, match="or name an engine: folder, embedded"):
        find_engine("dice:six")
