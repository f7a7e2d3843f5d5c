"""Fetch dumps from the hub: a name with config, split and revision becomes files on disk.

org/name                    all configs and splits of a dataset
org/name/config             one config, or several: `*` and `?` are wildcards, also in the name
org/name/config/split       one split, or several
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
_DEFAULT_CONFIG = "default"  # config of a dataset that does not name its configs
_log = logging.getLogger(__name__)
# A lock for the client's offline setting, which holds for the whole process.
_offline_lock = threading.RLock()
_CONNECT_TIMEOUT_S = 8.0  # timeout of a connection in seconds, in which TCP sends a lost packet four times
# Names of errors that mean that there is no connection to the hub.
_CONNECTION_ERRORS = frozenset(
    {"ConnectError", "ConnectTimeout", "ConnectionError", "ProxyError", "SSLError"}
)
_REMEDY = "Is the name right, and is there a network? Copies on disk can be named as files"


class HubPath(NamedTuple):
    """The parts of a dataset's name. Name, config and split may contain wildcards."""

    owner: str
    name: str
    config: str
    split: str
    revision: str | None

    @property
    def repo(self) -> str:
        """Return the dataset's name with its owner."""
        return f"{self.owner}/{self.name}"


class RowFile(NamedTuple):
    """A file of rows.

    `label` is its name in messages, and `model` the model of rows that name none.
    """

    path: Path
    label: str
    model: str = ""


def parse_hub_path(text: str) -> HubPath | None:
    """Return the parts of a dataset's name, or None if the string is not such a name."""
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    owner, name, config, split, revision = match.groups()
    return HubPath(owner, name, config or "*", split or "*", revision)


def fetch_row_files(name: HubPath) -> list[RowFile]:
    """Return the files of all datasets, configs and splits that match. Download missing files."""
    with _hub_input_errors(name.repo), hub_connection(name.repo):
        files = [file for repo in _matching_repos(name) for file in _fetch_repo_files(repo, name)]
    if not files:
        raise InputError(
            f"the dataset has no config {name.config!r} with a split {name.split!r}", where=name.repo
        )
    return files


def fetch_hub_file(repo: str, name: str) -> Path | None:
    """Return a file of a dataset, or None if it does not exist. Download it if necessary."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    with _hub_input_errors(repo), hub_connection(repo):
        try:
            return Path(hf_hub_download(repo, name, repo_type="dataset"))
        except LocalEntryNotFoundError:  # raised if the hub cannot be reached
            raise
        except EntryNotFoundError:
            return None


def _matching_repos(name: HubPath) -> list[str]:
    """Return the names of the datasets that match."""
    if not _is_pattern(name.name):
        return [name.repo]
    from huggingface_hub import HfApi

    prefix = re.split(r"[*?]", name.name, maxsplit=1)[0]
    names = [dataset.id for dataset in HfApi().list_datasets(author=name.owner, search=prefix or None)]
    matching = sorted(repo for repo in names if fnmatchcase(repo, name.repo))
    if not matching:
        remedy = f"The owner's datasets are: {', '.join(sorted(names)[:8])}" if names else _REMEDY
        raise InputError("the hub has no dataset with this name", where=name.repo, remedy=remedy)
    return matching


def _fetch_repo_files(repo: str, name: HubPath) -> Iterator[RowFile]:
    """Yield the files of a dataset's configs and splits that match."""
    import datasets

    datasets.disable_progress_bars()
    with _hub_input_errors(repo):
        configs = datasets.get_dataset_config_names(repo, revision=name.revision)
    for config in _matching_names(configs, name.config):
        with _hub_input_errors(f"{repo}/{config}"):
            splits: dict[str, Any] = datasets.load_dataset(repo, config, revision=name.revision)
        config_label = "" if config == _DEFAULT_CONFIG else config
        is_model = bool(config_label) and not _is_pattern(name.name)
        model = config_label if is_model else _join_nonempty(repo.partition("/")[2], config_label)
        for split in _matching_names(splits, name.split):
            label = _join_nonempty(repo, config_label, split if len(splits) > 1 else "")
            files = (Path(file["filename"]) for file in splits[split].cache_files)
            yield from (RowFile(file, label, model) for file in files)


def _matching_names(names: Iterable[str], pattern: str) -> list[str]:
    """Return the names that match a pattern."""
    return [name for name in names if fnmatchcase(name, pattern)]


def _join_nonempty(*parts: str) -> str:
    """Return the parts that are not empty, joined by slashes."""
    return "/".join(component for component in parts if component)


def _is_pattern(text: str) -> bool:
    """Return True if the string contains a wildcard."""
    return "*" in text or "?" in text


@contextmanager
def hub_connection(repo: str) -> Iterator[None]:
    """Call the hub's client in a `with` block, offline if the hub cannot be reached.

    Without a connection the client would silently try for half a minute. So the connection is checked first.
    If that fails, the client uses only files that were fetched before.

    Raises:
    ConnectionError: The hub cannot be reached, and a file was not fetched before.
    """
    from huggingface_hub import constants

    _log.info("%s: asking %s", repo, constants.ENDPOINT)
    with _offline_lock:  # so that no other call changes the offline setting meanwhile
        is_offline = constants.HF_HUB_OFFLINE
    if is_offline or (reason := _connection_error()) is None:
        yield
        return
    _log.info(
        "%s cannot be reached (%s): using datasets that were downloaded before", constants.ENDPOINT, reason
    )
    client_errors: tuple[type[Exception], ...] = (*network_errors(), ValueError, InputError)
    try:
        with _offline_lock, _use_only_fetched_files():
            yield
    except client_errors:
        raise ConnectionError(f"{constants.ENDPOINT} cannot be reached: {reason}") from None


@contextmanager
def _use_only_fetched_files() -> Iterator[None]:
    """Context manager: the hub's client uses only fetched files. Its calls lack an option for this."""
    from huggingface_hub import constants

    clients = [constants, *(loaded.config for name, loaded in sys.modules.items() if name == "datasets")]
    previous = [client.HF_HUB_OFFLINE for client in clients]
    try:
        for client in clients:
            client.HF_HUB_OFFLINE = True
        yield
    finally:
        for client, value in zip(clients, previous, strict=True):
            client.HF_HUB_OFFLINE = value


def _connection_error() -> str | None:
    """Return why the hub cannot be reached, or None if it can. A slow answer counts as a connection.

    The check uses the client's proxies and certificates.
    """
    from huggingface_hub import constants, get_session

    begin, attempt = time.monotonic(), 1
    while True:
        try:
            get_session().head(constants.ENDPOINT, timeout=_CONNECT_TIMEOUT_S)
        except network_errors() as error:
            if type(error).__name__ not in _CONNECTION_ERRORS:
                return None
            if HUB.is_last(attempt) or time.monotonic() - begin >= HUB.max_seconds:
                return f"{str(error) or type(error).__name__}, {HUB.describe_exhaustion(attempt)}"
            HUB.log(_log, error)
            time.sleep(HUB.wait_after(attempt))
            attempt += 1
        else:
            return None


def network_errors() -> tuple[type[Exception], ...]:
    """Return the types of network errors, including errors of the HTTP library of the hub's client."""
    libraries = (sys.modules.get(name) for name in ("httpx", "httpx2"))
    return (OSError, *(library.HTTPError for library in libraries if library is not None))


@contextmanager
def _hub_input_errors(where: str) -> Iterator[None]:
    """Turn errors of the hub and of its data into an InputError with a short message."""
    import datasets

    try:
        yield
    except (*network_errors(), ValueError, datasets.exceptions.DatasetGenerationError) as error:
        if isinstance(error, datasets.exceptions.DatasetNotFoundError) or "404" in str(error):
            raise InputError("the hub has no dataset with this name", where=where, remedy=_REMEDY) from error
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(
            f"the dataset cannot be loaded ({reason.rstrip('.')})", where=where, remedy=_REMEDY
        ) from error
