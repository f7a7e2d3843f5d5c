"""Dumps on the hub: names with configs, wildcards and revisions become files on disk.

org/name                    every config and split of a dataset
org/name/config             one config, or several: `*` and `?` stand for anything, also in name
org/name/config/split
org/name@revision           a branch, a tag or a commit
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from ioi_eval.model.errors import InputError
from ioi_eval.model.retry import HUB

_NAME = re.compile(
    r"(?P<owner>[\w.-]+)/(?P<name>[\w.*?-]+)(?:/(?P<config>[^/@]+))?(?:/(?P<split>[\w.*?-]+))?(?:@(?P<revision>[^@]+))?"
)
_DEFAULT = "default"  # the config of a dataset that has none of its own
_log = logging.getLogger(__name__)
_offline_once = threading.RLock()  # the client's setting is one for the whole process
_CONNECT = 8.0  # seconds for one attempt: a lost packet is sent for the fourth time by then
_NOBODY = frozenset({"ConnectError", "ConnectTimeout", "ConnectionError", "ProxyError", "SSLError"})
_REMEDY = "Is the name right, and is there a network? Copies on disk can be named as files"


class HubName(NamedTuple):
    """A dataset's name as the user wrote it; parts may be patterns."""

    owner: str
    name: str
    config: str
    split: str
    revision: str | None

    @property
    def repo(self) -> str:
        return f"{self.owner}/{self.name}"


class RowFile(NamedTuple):
    """A file of rows: where it is, what messages call it, and who wrote rows that do not say."""

    path: Path
    label: str
    model: str = ""


def hub_name(text: str) -> HubName | None:
    """Parse a dataset's name; None for texts that cannot be one."""
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    owner, name, config, split, revision = found.groups()
    return HubName(owner, name, config or "*", split or "*", revision)


def fetch(name: HubName) -> list[RowFile]:
    """Every file of every dataset, config and split that fits; downloads what is not there yet."""
    with _said(name.repo), asking(name.repo):
        places = [place for repo in _repos(name) for place in _of_repo(repo, name)]
    if not places:
        raise InputError(f"no config {name.config!r} with a split {name.split!r}", where=name.repo)
    return places


def file_of_hub(repo: str, name: str) -> Path | None:
    """Fetch a file of a dataset; None where the dataset has none of this name."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    with _said(repo), asking(repo):
        try:
            return Path(hf_hub_download(repo, name, repo_type="dataset"))
        except LocalEntryNotFoundError:  # nobody was reached
            raise
        except EntryNotFoundError:
            return None


def _repos(name: HubName) -> list[str]:
    if not _is_pattern(name.name):
        return [name.repo]
    from huggingface_hub import HfApi

    start = re.split(r"[*?]", name.name, maxsplit=1)[0]
    names = [found.id for found in HfApi().list_datasets(author=name.owner, search=start or None)]
    fitting = sorted(repo for repo in names if fnmatchcase(repo, name.repo))
    if not fitting:
        listed = f"There are: {', '.join(sorted(names)[:8])}" if names else _REMEDY
        raise InputError("no dataset of such a name", where=name.repo, remedy=listed)
    return fitting


def _of_repo(repo: str, name: HubName) -> Iterator[RowFile]:
    import datasets

    datasets.disable_progress_bars()
    with _said(repo):
        configs = datasets.get_dataset_config_names(repo, revision=name.revision)
    for config in _fitting(configs, name.config):
        with _said(f"{repo}/{config}"):
            splits: dict[str, Any] = datasets.load_dataset(repo, config, revision=name.revision)
        own = "" if config == _DEFAULT else config
        model = own if own and not _is_pattern(name.name) else _joined(repo.partition("/")[2], own)
        for split in _fitting(splits, name.split):
            shown = split if len(splits) > 1 else ""
            label = _joined(repo, own, shown)
            files = (Path(file["filename"]) for file in splits[split].cache_files)
            yield from (RowFile(file, label, model) for file in files)


def _fitting(names: Iterable[str], pattern: str) -> list[str]:
    return [name for name in names if fnmatchcase(name, pattern)]


def _joined(*parts: str) -> str:
    return "/".join(part for part in parts if part)


def _is_pattern(text: str) -> bool:
    return "*" in text or "?" in text


@contextmanager
def asking(what: str) -> Iterator[None]:
    """Around calls of the hub's client. It tries for half a minute where nobody can be reached, in silence.

    So this looks first whether the hub can be reached. If not, the client looks only for what was fetched
    before, and where there is nothing this raises ConnectionError.
    """
    from huggingface_hub import constants

    _log.info("%s: asking %s", what, constants.ENDPOINT)
    with _offline_once:  # no other call has set it for a while
        wanted = constants.HF_HUB_OFFLINE
    if wanted or (fault := _unreached()) is None:
        yield
        return
    _log.info("%s cannot be reached (%s): looking for what was fetched before", constants.ENDPOINT, fault)
    failures: tuple[type[Exception], ...] = (*network_errors(), ValueError, InputError)
    try:
        with _offline_once, _offline():
            yield
    except failures:
        raise ConnectionError(f"{constants.ENDPOINT} cannot be reached: {fault}") from None


@contextmanager
def _offline() -> Iterator[None]:
    """Lets the client look only for what it has, which no call of it can be asked for, and then as it was."""
    from huggingface_hub import constants

    clients = [constants, *(loaded.config for name, loaded in sys.modules.items() if name == "datasets")]
    before = [client.HF_HUB_OFFLINE for client in clients]
    try:
        for client in clients:
            client.HF_HUB_OFFLINE = True
        yield
    finally:
        for client, value in zip(clients, before, strict=True):
            client.HF_HUB_OFFLINE = value


def _unreached() -> str | None:
    """Why no connection can be made, on the client's own ways: proxies, certificates. Answers may be slow."""
    from huggingface_hub import constants, get_session

    begin, attempt = time.monotonic(), 1
    while True:
        try:
            get_session().head(constants.ENDPOINT, timeout=_CONNECT)
        except network_errors() as error:
            if type(error).__name__ not in _NOBODY:
                return None
            if HUB.is_last(attempt) or time.monotonic() - begin >= HUB.max_seconds:
                return f"{str(error) or type(error).__name__}, {HUB.used_up(attempt)}"
            HUB.log(_log, error)
            time.sleep(HUB.wait_after(attempt))
            attempt += 1
        else:
            return None


def network_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the network: the hub's client lets those of its HTTP library through."""
    loaded = (sys.modules.get(name) for name in ("httpx", "httpx2"))
    return (OSError, *(library.HTTPError for library in loaded if library is not None))


@contextmanager
def _said(where: str) -> Iterator[None]:
    """Turn failures of the hub, and of data that came from it, into one sentence."""
    import datasets

    try:
        yield
    except (*network_errors(), ValueError, datasets.exceptions.DatasetGenerationError) as error:
        if isinstance(error, datasets.exceptions.DatasetNotFoundError) or "404" in str(error):
            raise InputError("no such dataset on the hub", where=where, remedy=_REMEDY) from error
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(f"cannot be loaded ({reason.rstrip('.')})", where=where, remedy=_REMEDY) from error
