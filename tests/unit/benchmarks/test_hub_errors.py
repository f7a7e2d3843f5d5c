"""An unreachable hub is reported in a single sentence, regardless of its client's exception.

The exceptions are the real libraries', but raised by stubs, because the client retries for half a minute.
"""

from __future__ import annotations

import importlib
import logging
import socket
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import huggingface_hub
import msgspec
import pytest

from ioi_eval.benchmarks import hub
from ioi_eval.benchmarks.dumps import find_dumps
from ioi_eval.benchmarks.exports import publish
from ioi_eval.benchmarks.tables import TableSource, open_table
from ioi_eval.errors import InputError
from ioi_eval.model.retry import HUB
from ioi_eval.model.secret import Secret


@pytest.fixture(params=["httpx", "httpx2"])
def error(request: pytest.FixtureRequest) -> Exception:
    """Return an error of the client, which depends on its version."""
    pytest.importorskip(request.param)
    connect_error: Exception = importlib.import_module(request.param).ConnectError(
        "Name or service not known"
    )
    return connect_error


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> None:
    answering = SimpleNamespace(head=lambda *_, **__: None)
    monkeypatch.setattr(huggingface_hub, "get_session", lambda: answering)


def failing(error: Exception) -> Any:
    def fail(*arguments: Any, **options: Any) -> None:
        raise error

    return fail


def refuse_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = SimpleNamespace(head=failing(ConnectionError("refused")))
    monkeypatch.setattr(huggingface_hub, "get_session", lambda: refusing)


@pytest.mark.usefixtures("reached")
def test_hub_pattern_error_is_input_error(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(huggingface_hub.HfApi, "list_datasets", failing(error))
    with pytest.raises(
        InputError, match=r"me/models-\*: the dataset cannot be loaded .*not known.*is there a network"
    ):
        find_dumps(["me/models-*"])


@pytest.mark.usefixtures("reached")
def test_hub_table_error_is_input_error(
    monkeypatch: pytest.MonkeyPatch, error: Exception, tmp_path: Path
) -> None:
    monkeypatch.setattr(datasets, "load_dataset_builder", failing(error))
    with pytest.raises(InputError, match=r"org/x: cannot be loaded .*not known.*data_dir=FOLDER"):
        open_table(TableSource(dataset="org/x", split="test"), cache=tmp_path)


@pytest.mark.usefixtures("reached")
def test_hub_push_error_is_input_error(
    monkeypatch: pytest.MonkeyPatch, error: Exception, tmp_path: Path
) -> None:
    (tmp_path / "results.jsonl").write_text('{"key": "1"}\n')
    (tmp_path / "report.md").write_text("# Scores\n")
    monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", failing(error))
    with pytest.raises(InputError, match=r"me/x, .*cannot be pushed .*not known.*Is there a network"):
        publish(tmp_path, "me/x", private=True, token=Secret("x"), is_dry_run=False)


# --- an unreachable hub is detected in seconds ---------------------------------------------------------


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pause_lengths: list[float] = []
    monkeypatch.setattr(time, "sleep", pause_lengths.append)
    monkeypatch.setattr(hub, "HUB", msgspec.structs.replace(HUB, seconds=0.0))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    return pause_lengths


def test_offline_setting_of_the_hub_client_is_restored(
    monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    """Also if it changed while the hub was unreachable, and with concurrent calls."""
    client, datasets_config = huggingface_hub.constants, datasets.config
    monkeypatch.setattr(datasets_config, "HF_HUB_OFFLINE", True)
    refuse_connections(monkeypatch)
    inside, finished = threading.Event(), threading.Event()
    finished_before = []

    def other() -> None:
        inside.wait()
        with pytest.raises(ConnectionError), hub.connect_to_hub("b"):
            finished_before.append(finished.is_set())
            raise OSError

    thread = threading.Thread(target=other)
    thread.start()
    with hub.connect_to_hub("a"):
        assert client.HF_HUB_OFFLINE and datasets_config.HF_HUB_OFFLINE
        inside.set()
        thread.join(0.2)
        finished.set()
    thread.join()
    assert finished_before == [True], "the calls run after each other"
    assert (client.HF_HUB_OFFLINE, datasets_config.HF_HUB_OFFLINE) == (False, True)


def test_hub_without_network_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ioi_eval")
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))  # but not listening
        url = f"http://127.0.0.1:{bound_socket.getsockname()[1]}"
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", url)
        with pytest.raises(
            InputError, match=f"me/x: the dataset cannot be loaded .{url} cannot be reached: .*refused"
        ):
            find_dumps(["me/x"])
    assert pauses == [], "the client did not retry"
    assert caplog.messages[0] == f"me/x: asking {url}"
    assert not huggingface_hub.constants.HF_HUB_OFFLINE and not datasets.config.HF_HUB_OFFLINE


def test_unreachable_hub_is_not_a_missing_dataset_if_its_port_contains_404(
    monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:40463")
    refuse_connections(monkeypatch)
    with pytest.raises(InputError, match=r"cannot be loaded .http://127.0.0.1:40463 cannot be reached"):
        find_dumps(["me/x"])


def test_hub_connection_is_tried_several_times(monkeypatch: pytest.MonkeyPatch, pauses: list[float]) -> None:
    """A name server may answer the second time."""
    answers: list[Any] = [ConnectionError("no answer"), ConnectionError("no answer"), None]

    def head(*_: Any, **__: Any) -> None:
        if (answer := answers.pop(0)) is not None:
            raise answer

    monkeypatch.setattr(hub, "HUB", msgspec.structs.replace(HUB, seconds=60.0))
    monkeypatch.setattr(huggingface_hub, "get_session", lambda: SimpleNamespace(head=head))
    with hub.connect_to_hub("me/x"):
        assert not huggingface_hub.constants.HF_HUB_OFFLINE
    assert len(pauses) == 2 and answers == []


def test_slow_answer_of_hub_is_no_connection_error(
    monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client_head = huggingface_hub.get_session().head
        impatient = SimpleNamespace(head=lambda url, timeout: client_head(url, timeout=timeout / 160))
        monkeypatch.setattr(huggingface_hub, "get_session", lambda: impatient)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", url)
        with hub.connect_to_hub("me/x"):
            assert not huggingface_hub.constants.HF_HUB_OFFLINE
