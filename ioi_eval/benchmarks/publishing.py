"""A run as a dataset on the hub: its rows, what could not be judged, and the report as the dataset's card."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ioi_eval.benchmarks.hub import asking, network_errors
from ioi_eval.benchmarks.results import write_results
from ioi_eval.errors import InputError
from ioi_eval.models import Value
from ioi_eval.secret import Secret

TABLE = "data/results.parquet"
_HEAD = f"""---
tags:
- ioi-eval
configs:
- config_name: default
  data_files: {TABLE}
---

"""
_BESIDE = ("summary.json", "failures.jsonl")


class Published(Value):
    """What was pushed, or would be."""

    repo: str
    private: bool
    files: dict[str, int]  # sizes by name
    card: str
    url: str = ""  # empty: nothing was sent


def publish(run: Path, repo: str, *, private: bool, token: Secret, dry: bool) -> Published:
    """Pushes the run's folder to a dataset, which is made where there is none. `dry` sends nothing."""
    with tempfile.TemporaryDirectory() as folder:
        files = _files(run, Path(folder))
        sizes = {name: path.stat().st_size for name, path in files.items()}
        card = files["README.md"].read_text()
        url = "" if dry else _push(files, repo, private=private, token=token)
    return Published(repo=repo, private=private, files=sizes, card=card, url=url)


def _files(run: Path, folder: Path) -> dict[str, Path]:
    table, card = folder / "results.parquet", folder / "README.md"
    write_results(run, table)
    card.write_text(_HEAD + (run / "report.md").read_text())
    beside = {name: run / name for name in _BESIDE if (run / name).exists()}
    return {"README.md": card, TABLE: table, **beside}


def _push(files: dict[str, Path], repo: str, *, private: bool, token: Secret) -> str:
    from huggingface_hub import CommitOperationAdd, HfApi

    api = HfApi(token=token or None)
    refusals: tuple[type[Exception], ...] = (*network_errors(), ValueError)
    added = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=path) for name, path in files.items()]
    try:
        with asking(repo):
            api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
            done = api.create_commit(repo, added, commit_message="Results", repo_type="dataset")
    except refusals as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(
            f"cannot be pushed ({token.out_of(reason).rstrip('.')})",
            where=repo,
            field="--push-to-hub",
            remedy="Is there a network, and is the token allowed to write there?",
        ) from None  # the hub's own words may repeat the token
    return token.out_of(str(done.commit_url))
