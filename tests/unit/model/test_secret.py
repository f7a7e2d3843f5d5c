"""Keys and tokens are sent only to their server, and appear nowhere else."""

from __future__ import annotations

import json
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest
from secret_echo_server import HOW, repeating
from support.model_requests import BudgetTracker, ChatModel, GenerationFailed, ModelOptions, ModelRequest
from support.servers import ServerOptions
from support.stub_server import StubServer

from ioi_eval.benchmarks.exports import publish
from ioi_eval.engines.piston.discovery import normalize_address
from ioi_eval.engines.piston.sending import HttpClient, Request
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.errors import InputError, IoiEvalError
from ioi_eval.model.secret import Secret, is_secret_name

SECRET = "sk-4b1/9f+never-to-be-seen"
Call = Callable[[str, Path], Awaitable[object]]


# --- the value itself ----------------------------------------------------------------------------------


def test_repr_of_objects_with_a_secret_hides_the_secret() -> None:
    servers = EngineChoice.from_variables(None, {"PISTON_ENDPOINTS": "http://a", "IOI_EVAL_TOKEN": SECRET})
    assert servers.token == SECRET
    shown = repr(
        [
            Secret(SECRET),
            {"Authorization": Secret(SECRET).as_authorization_header},
            servers,
            ServerOptions(token=Secret(SECRET)),
        ]
    )
    assert SECRET not in shown and shown.count("***") == 4


def test_secret_is_replaced_by_asterisks_in_texts_and_replies() -> None:
    secret = Secret(SECRET)
    assert secret.remove_from(f"wrong key {SECRET}!") == "wrong key ***!"
    assert Secret("").remove_from("nothing") == "nothing"
    written = json.dumps({"key": SECRET}).replace("/", "\\/")
    assert json.loads(secret.remove_from_reply(written.encode())) == {"key": "***"}


def test_placeholder_key_is_not_replaced_in_replies() -> None:
    assert Secret("EMPTY").remove_from_reply(b"#define EMPTY 0") == b"#define EMPTY 0"


def test_is_secret_name_recognizes_keys_tokens_and_passwords() -> None:
    some = [
        "api_key",
        "OPENAI_API_KEY",
        "KEY",
        "MODEL_KEY",
        "api-key",
        "HF_TOKEN",
        "hub-token",
        "secret",
        "Password",
    ]
    none = ["max_tokens", "key", "token_file", "api_key_env", "prompt_cache_key", "tokenizer", "model"]
    assert [name for name in [*some, *none] if is_secret_name(name)] == some


# --- requests that send a secret -------------------------------------------------------------------------


async def ask_a_model(url: str, folder: Path) -> object:
    options = ModelOptions(name="m", base_url=url, attempts=2, pause=0.001, timeout=20.0)
    async with ChatModel(options, BudgetTracker(), key=SECRET) as model:
        return await model.write(
            ModelRequest(key="a", problem_id="a", prompt="?", language="python", number=0)
        )


async def ask_a_judge(url: str, folder: Path) -> object:
    async with HttpClient(token=f"{url} {SECRET}") as wire:
        return await wire.execute(url, Request(body=b"{}"), 20.0), await wire.ask(
            "GET", url, "/api/v2/runtimes", 20.0
        )


async def push_to_the_hub(url: str, folder: Path) -> object:
    (folder / "results.jsonl").write_text('{"key": "1"}\n')
    (folder / "report.md").write_text("# Scores\n")
    (folder / "summary.json").write_text("{}")
    return publish(folder, "me/x", private=True, token=Secret(SECRET), is_dry_run=False)


@pytest.fixture(autouse=True)
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove the pauses between retries of the Hugging Face hub's client."""
    with monkeypatch.context() as patch:
        patch.setattr(time, "sleep", lambda seconds: None)
        yield


@pytest.mark.parametrize("failure", HOW)
@pytest.mark.parametrize("call", [ask_a_model, ask_a_judge, push_to_the_hub])
async def test_secret_repeated_by_a_server_is_not_logged_or_forwarded(
    call: Call,
    failure: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with repeating(failure) as (server, other):
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", server.url)
        output = await outcome_text(call, server, tmp_path)
    assert any(SECRET in str(request.headers) for request in server.asked), "the server received the secret"
    assert SECRET not in repr([str(request.headers) for request in other.asked]), "and no other server did"
    assert SECRET not in output + logged(caplog)
    assert SECRET[:8] not in output, "not even a part of the secret"


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """Return the log at the lowest level, without httpcore's trace of reply headers."""
    messages = [record.getMessage() for record in caplog.records]
    return "\n".join(message for message in messages if not message.startswith("receive_response_headers."))


async def test_password_in_model_url_is_not_logged(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level(logging.DEBUG)
    with repeating("200") as (server, _):
        url = server.url.replace("//", "//me:pass-word@")
        options = ModelOptions(name="m", base_url=url)
        async with ChatModel(options, BudgetTracker()) as model:
            await model.write(ModelRequest(key="a", problem_id="a", prompt="?", language="python", number=0))
    assert "authorization: Basic" in str(server.asked[0].headers).replace("Authorization", "authorization")
    assert "pass-word" not in caplog.text
    with pytest.raises(InputError) as caught:
        ChatModel(ModelOptions(name="m", base_url="http://me:pass/word@host"), BudgetTracker())
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["ftp://me:pass-word@host", "http://me:pass-word@host:port", "me:pass-word@h"]
)
def test_error_about_endpoint_url_hides_the_password(address: str) -> None:
    with pytest.raises(InputError) as caught:
        normalize_address(address)
    assert "pass-word" not in repr(caught.value)


async def outcome_text(call: Call, server: StubServer, folder: Path) -> str:
    """Return the result of a call, or all messages of its error."""
    try:
        return repr(await call(server.url, folder))
    except (IoiEvalError, GenerationFailed) as error:
        return "\n".join([*traceback.format_exception(error), *(repr(cause) for cause in chain(error))])


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
