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
_NOT_FOUND = re.compile(r"\b404\b")  # the HTTP status in a message, but not a part of a port such as 40463
_DEFAULT_CONFIG = "default"  # name of the config of a dataset without named configs
_log = logging.getLogger(__name__)
# Lock for the client's offline setting, which is a setting of the whole process.
_offline_lock = threading.RLock()
_CONNECT_TIMEOUT_S = 8.0  # timeout of a connection in seconds, in which TCP sends a lost packet four times
# Names of exception classes that mean that there is no connection to the hub.
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

    `label` is the file's name in messages. `model` is the model of rows that do not name a model.
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


def fetch_row_files(hub_path: HubPath) -> list[RowFile]:
    """Return the files of all datasets, configs and splits that match. Download missing files."""
    with _convert_hub_errors(hub_path.repo), connect_to_hub(hub_path.repo):
        files = [
            file for repo in _find_matching_repos(hub_path) for file in _fetch_repo_files(repo, hub_path)
        ]
    if not files:
        raise InputError(
            f"the dataset has no config {hub_path.config!r} with a split {hub_path.split!r}",
            where=hub_path.repo,
        )
    return files


def fetch_hub_file(repo: str, name: str) -> Path | None:
    """Return a file of a dataset, or None if it does not exist. Download it if necessary."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    with _convert_hub_errors(repo), connect_to_hub(repo):
        try:
            return Path(hf_hub_download(repo, name, repo_type="dataset"))
        except LocalEntryNotFoundError:  # raised if the hub cannot be reached
            raise
        except EntryNotFoundError:
            return None


def _find_matching_repos(hub_path: HubPath) -> list[str]:
    """Return the names of the datasets that match."""
    if not _is_pattern(hub_path.name):
        return [hub_path.repo]
    from huggingface_hub import HfApi

    name_prefix = re.split(r"[*?]", hub_path.name, maxsplit=1)[0]
    repo_names = [
        dataset.id for dataset in HfApi().list_datasets(author=hub_path.owner, search=name_prefix or None)
    ]
    matching_names = sorted(repo for repo in repo_names if fnmatchcase(repo, hub_path.repo))
    if not matching_names:
        remedy = f"The owner's datasets are: {', '.join(sorted(repo_names)[:8])}" if repo_names else _REMEDY
        raise InputError("the hub has no dataset with this name", where=hub_path.repo, remedy=remedy)
    return matching_names


def _fetch_repo_files(repo: str, hub_path: HubPath) -> Iterator[RowFile]:
    """Yield the files of a dataset's configs and splits that match."""
    import datasets

    datasets.disable_progress_bars()
    with _convert_hub_errors(repo):
        configs = datasets.get_dataset_config_names(repo, revision=hub_path.revision)
    for config in _filter_names(configs, hub_path.config):
        with _convert_hub_errors(f"{repo}/{config}"):
            splits: dict[str, Any] = datasets.load_dataset(repo, config, revision=hub_path.revision)
        config_label = "" if config == _DEFAULT_CONFIG else config
        is_model = bool(config_label) and not _is_pattern(hub_path.name)
        model = config_label if is_model else _join_nonempty(repo.partition("/")[2], config_label)
        for split in _filter_names(splits, hub_path.split):
            label = _join_nonempty(repo, config_label, split if len(splits) > 1 else "")
            file_paths = (Path(file["filename"]) for file in splits[split].cache_files)
            yield from (RowFile(file, label, model) for file in file_paths)


def _filter_names(names: Iterable[str], pattern: str) -> list[str]:
    """Return the names that match a pattern."""
    return [name for name in names if fnmatchcase(name, pattern)]


def _join_nonempty(*parts: str) -> str:
    """Return the parts that are not empty, joined by slashes."""
    return "/".join(component for component in parts if component)


def _is_pattern(text: str) -> bool:
    """Return True if the string contains a wildcard."""
    return "*" in text or "?" in text


@contextmanager
def connect_to_hub(repo: str) -> Iterator[None]:
    """Call the hub's client in a `with` block, offline if the hub cannot be reached.

    Without a connection the client would silently try for half a minute. So the connection is checked first.
    If that fails, the client uses only files that were fetched before.

    Raises:
        ConnectionError: The hub cannot be reached, and a file was not fetched before.
    """
    from huggingface_hub import constants

    _log.info("%s: asking %s", repo, constants.ENDPOINT)
    with _offline_lock:  # another call must not change the offline setting at the same time
        is_offline = constants.HF_HUB_OFFLINE
    if is_offline or (reason := _find_hub_connection_error()) is None:
        yield
        return
    _log.info(
        "%s cannot be reached (%s): using datasets that were downloaded before", constants.ENDPOINT, reason
    )
    client_errors: tuple[type[Exception], ...] = (*list_network_error_types(), ValueError, InputError)
    try:
        with _offline_lock, _use_only_fetched_files():
            yield
    except client_errors:
        raise ConnectionError(f"{constants.ENDPOINT} cannot be reached: {reason}") from None


@contextmanager
def _use_only_fetched_files() -> Iterator[None]:
    """Context manager: the hub's client uses only fetched files. Its calls lack an option for this."""
    from huggingface_hub import constants

    client_modules = [
        constants,
        *(loaded.config for name, loaded in sys.modules.items() if name == "datasets"),
    ]
    previous_values = [client_module.HF_HUB_OFFLINE for client_module in client_modules]
    try:
        for client_module in client_modules:
            client_module.HF_HUB_OFFLINE = True
        yield
    finally:
        for client_module, previous_value in zip(client_modules, previous_values, strict=True):
            client_module.HF_HUB_OFFLINE = previous_value


def _find_hub_connection_error() -> str | None:
    """Return why the hub cannot be reached, or None if it can be reached or answers slowly.

    The check uses the client's proxies and certificates.
    """
    from huggingface_hub import constants, get_session

    start_time_s, attempt = time.monotonic(), 1
    while True:
        try:
            get_session().head(constants.ENDPOINT, timeout=_CONNECT_TIMEOUT_S)
        except list_network_error_types() as error:
            if type(error).__name__ not in _CONNECTION_ERRORS:
                return None
            if HUB.is_last(attempt) or time.monotonic() - start_time_s >= HUB.max_total_seconds:
                return f"{str(error) or type(error).__name__}, {HUB.describe_exhaustion(attempt)}"
            HUB.log(_log, error)
            time.sleep(HUB.delay_s_after(attempt))
            attempt += 1
        else:
            return None


def list_network_error_types() -> tuple[type[Exception], ...]:
    """Return the types of network errors, including errors of the HTTP library of the hub's client."""
    libraries = (sys.modules.get(name) for name in ("httpx", "httpx2"))
    return (OSError, *(library.HTTPError for library in libraries if library is not None))


@contextmanager
def _convert_hub_errors(where: str) -> Iterator[None]:
    """Turn errors of the hub and of its data into an InputError with a short message."""
    import datasets

    try:
        yield
    except (*list_network_error_types(), ValueError, datasets.exceptions.DatasetGenerationError) as error:
        if isinstance(error, datasets.exceptions.DatasetNotFoundError) or _NOT_FOUND.search(str(error)):
            raise InputError("the hub has no dataset with this name", where=where, remedy=_REMEDY) from error
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(
            f"the dataset cannot be loaded ({reason.rstrip('.')})", where=where, remedy=_REMEDY
        ) from error
