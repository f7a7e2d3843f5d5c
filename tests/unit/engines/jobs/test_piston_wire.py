"""Requests and replies of Piston: all recorded samples, and faulty requests and replies."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import SAMPLES, reply

from ioi_eval.engines.jobs.piston_api import (
    LIMITS,
    RefusedRequest,
    ServerFailed,
    check_content_type,
    check_limits,
    decode_reply,
    decode_request,
    encode_request,
    encode_result,
    make_size_refusal,
)
from ioi_eval.errors import (
    BrokenReply,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    JobRejected,
    JobTooLarge,
)
from ioi_eval.models import Blob, Ending, Job, JobFile, JobResult

ANSWERED = [name for name, sample in SAMPLES.items() if sample["request"]["path"] == "/execute"]
RESULTS = [name for name in ANSWERED if SAMPLES[name]["response"]["status"] == 200]
REFUSALS = [name for name in ANSWERED if SAMPLES[name]["response"]["status"] in (400, 415)]


def encoded_sample(name: str) -> bytes:
    return json.dumps(SAMPLES[name]["request"]["body"]).encode()


def job(*files: JobFile, **fields: Any) -> Job:
    return Job(files=files or (JobFile(name="run", content=Blob.of("true")),), **fields)


# --- replies, as a client reads them -----------------------------------------------------------------


def test_recorded_samples_cover_old_and_current_server() -> None:
    assert len(RESULTS) > 20 and len(REFUSALS) > 10
    assert sum(name.startswith("old_") for name in RESULTS) > 5


@pytest.mark.parametrize("name", RESULTS)
def test_recorded_result_is_decoded_field_by_field(name: str) -> None:
    result, recorded = decode_reply(*reply(name), endpoint="http://it"), SAMPLES[name]["response"]["body"]
    assert (result.language, result.version, result.endpoint) == (
        recorded["language"],
        recorded["version"],
        "http://it",
    )
    for stage, fields in ((result.compile, recorded.get("compile")), (result.run, recorded["run"])):
        assert (stage is None) == (fields is None)
        for field in () if fields is None else fields.keys() - {"output"}:
            assert getattr(stage, field) == fields[field]
    if name.startswith("old_"):
        assert (result.run.status, result.run.cpu_time, result.run.memory) == (None, None, None)


@pytest.mark.parametrize("name", RESULTS)
def test_recorded_result_survives_reencoding_by_worker(name: str) -> None:
    result = decode_reply(*reply(name))
    assert decode_reply(200, encode_result(result)) == result


def test_encoded_result_has_fields_of_current_server() -> None:
    ours = json.loads(encode_result(decode_reply(*reply("classic_ce"))))
    theirs = SAMPLES["classic_ce"]["response"]["body"]
    assert ours.keys() == theirs.keys()
    for stage in ("compile", "run"):
        assert ours[stage].keys() == theirs[stage].keys()


REFUSED_AS: dict[str, tuple[type[EngineError], str]] = {
    "content_not_a_string": (JobRejected, "files[0].content is required as a string"),
    "file_escape": (ServerFailed, "HTTP 500 with an empty body"),
    "not_json": (JobRejected, "SyntaxError: Expected property name or '}' in JSON at position 1"),
    "stock_body_too_large": (JobTooLarge, "PayloadTooLargeError: request entity too large"),
    "stock_timeout_above_limit": (JobTooLarge, "run_timeout cannot exceed the configured limit of 3000"),
    "unknown_runtime": (JobRejected, "nope-* runtime is unknown"),
    "wrong_content_type": (JobRejected, "requests must be of type application/json"),
}


@pytest.mark.parametrize(("name", "kind", "message"), [(name, *rest) for name, rest in REFUSED_AS.items()])
def test_recorded_refusal_raises_expected_error(name: str, kind: type[EngineError], message: str) -> None:
    with pytest.raises(EngineError) as caught:
        decode_reply(*reply(name))
    assert type(caught.value) is kind and message in str(caught.value)


def test_recorded_refusals_all_raise_job_rejected() -> None:
    for name in REFUSALS:
        with pytest.raises(JobRejected):
            decode_reply(*reply(name))


@pytest.mark.parametrize(
    ("name", "limit"), [("timeout_above_limit", "run_timeout"), ("stock_body_too_large", "body")]
)
def test_refused_limit_is_named_in_job_too_large(name: str, limit: str) -> None:
    with pytest.raises(JobTooLarge) as caught:
        decode_reply(*reply(name))
    assert caught.value.limit == limit


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"", BrokenReply),
        (200, b"<html>", BrokenReply),
        (200, b'{"run": {"stdout": "half a', BrokenReply),
        (200, b'{"run": "no stage"}', BrokenReply),
        (200, b"[]", BrokenReply),
        (200, b'{"message": "nothing else"}', BrokenReply),
        (200, b'{"compile": {"code": 0}}', BrokenReply),
        (200, b'{"run": {"stdout": "\xff"}}', BrokenReply),
        (302, b"", EngineUnavailable),
        (401, b'{"message": "no"}', EngineUnavailable),
        (404, b'{"message": "Not Found"}', EngineUnavailable),
        (413, b"<html>413</html>", JobTooLarge),
        (400, b"<html>400 Bad Request</html>", EngineUnavailable),
        (400, b'{"error": "no route"}', EngineUnavailable),
        (400, b'{"message": "a job that cannot be"}', JobRejected),
        (422, b"", EngineUnavailable),
        (429, b"slow down", EngineOverloaded),
        (500, b"", ServerFailed),
        (502, b"<html>", ServerFailed),
        (504, b"<html>", ServerFailed),
        (503, b'{"message": "queue is full"}', EngineOverloaded),
    ],
)
def test_unusual_reply_raises_expected_engine_error(
    status: int, body: bytes, kind: type[EngineError]
) -> None:
    with pytest.raises(EngineError) as caught:
        decode_reply(status, body)
    assert type(caught.value) is kind


_NGINX = b"<html>\r\n<head><title>%b</title></head>\r\n<body>\r\n<center><h1>%b</h1></center></body></html>"


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (502, _NGINX.replace(b"%b", b"502 Bad Gateway"), "HTTP 502: Bad Gateway"),
        (504, b"<html><body><h1>504 Gateway Time-out</h1>\nNot in time.\n</body></html>", "timeout server"),
        (413, _NGINX.replace(b"%b", b"413 Request Entity Too Large"), "HTTP 413: Request Entity Too Large)"),
        (502, b"<!DOCTYPE html>\n<p>Away", "HTTP 502: <!DOCTYPE html>"),
    ],
)
def test_gateway_error_page_is_quoted_in_error(status: int, body: bytes, message: str) -> None:
    with pytest.raises(EngineError) as caught:
        decode_reply(status, body)
    assert message in str(caught.value)


def test_error_message_printed_by_submission_is_not_a_refusal() -> None:
    printed = "run_timeout cannot exceed the configured limit of 1 PayloadTooLargeError Resource temporarily"
    result = decode_reply(200, encode_result(JobResult(run=Ending(stdout=printed, stderr=printed, code=0))))
    assert result.run.stdout == printed


def test_unknown_fields_and_statuses_of_reply_are_ignored() -> None:
    recorded_reply = {
        "run": {"stdout": "x", "status": "ZZ", "code": 1, "wall_time": 1.6, "new": []},
        "later": {},
    }
    run = decode_reply(200, json.dumps(recorded_reply).encode()).run
    assert (run.stdout, run.status, run.wall_time) == ("x", None, 2)


def test_failed_compile_stage_replaces_missing_run_stage() -> None:
    result = decode_reply(200, b'{"compile": {"code": 1, "stderr": "oops"}}')
    assert result.run == result.compile and result.run.stderr == "oops"


# --- requests ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RESULTS)
def test_recorded_request_survives_decoding_and_encoding(name: str) -> None:
    """The server decodes a recorded request to the job that the package's client would send."""
    decoded, recorded = decode_request(encoded_sample(name)), SAMPLES[name]["request"]["body"]
    encoded_again = json.loads(encode_request(decoded))
    assert decode_request(encode_request(decoded)) == decoded
    assert {**encoded_again, "files": None} == {**recorded, "files": None}
    assert [(f["name"], f["content"], f.get("encoding", "utf8")) for f in encoded_again["files"]] == [
        (f["name"], f["content"], f.get("encoding", "utf8")) for f in recorded["files"]
    ]


@pytest.mark.parametrize("name", [name for name in REFUSALS if not encoded_sample(name).startswith(b'"')])
def test_worker_refuses_with_same_reply_as_piston(name: str) -> None:
    def serve() -> None:
        decoded = decode_request(encoded_sample(name))
        limit = 3000 if name.startswith("stock") else 60000
        check_limits(decoded, {"run_timeout": limit, "compile_timeout": 0})
        raise RefusedRequest(f"{decoded.runtime}-{decoded.version} runtime is unknown")

    with pytest.raises(RefusedRequest) as caught:
        serve()
    response = SAMPLES[name]["response"]
    assert (caught.value.status, json.loads(caught.value.body)) == (response["status"], response["body"])


def refusal_of(call: Callable[[], object]) -> RefusedRequest:
    with pytest.raises(RefusedRequest) as caught:
        call()
    return caught.value


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("not_json", refusal_of(lambda: decode_request(b"{x"))),
        ("wrong_content_type", refusal_of(lambda: check_content_type("text/plain"))),
        ("stock_body_too_large", make_size_refusal(100_000)),
    ],
)
def test_worker_refusal_in_other_words_raises_same_error_as_piston(name: str, ours: RefusedRequest) -> None:
    kinds = []
    for status, body in (reply(name), (ours.status, ours.body)):
        with pytest.raises(JobRejected) as caught:
            decode_reply(status, body)
        kinds.append((status, type(caught.value)))
    assert kinds[0] == kinds[1]


def test_json_content_type_with_charset_is_accepted() -> None:
    check_content_type("application/json; charset=utf-8")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"language": ""}', b'{"language": 5}'])
def test_request_without_language_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedRequest, match=r"^language is required as a string$"):
        decode_request(body)


@pytest.mark.parametrize("body", [b"5", b"null", b'"text"', b'{"language": "\xff"}', b"[" * 100_000])
def test_request_that_is_not_a_json_object_is_refused_with_syntax_error(body: bytes) -> None:
    with pytest.raises(RefusedRequest) as caught:
        decode_request(body)
    assert json.loads(caught.value.body)["stack"].startswith("SyntaxError: ")


@given(st.binary(), st.binary(), st.booleans())
def test_file_contents_survive_request_encoding(first: bytes, second: bytes, text: bool) -> None:
    files = (
        JobFile(name="run", content=Blob.of("true")),
        JobFile(name="a", content=Blob.of(first)),
        JobFile(name="b/c", content=Blob.of(second), text=None if text else False),
    )
    body = encode_request(job(*files))
    assert [file.content for file in decode_request(body).files] == [file.content for file in files]
    assert ("encoding" in json.loads(body)["files"][2]) == (not text or not is_text(second))


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_binary_file_from_disk_is_sent_as_base64(tmp_path: Path) -> None:
    path = tmp_path / "blob"
    path.write_bytes(b"\xff\x00")
    run = JobFile(name="run", content=Blob.of("true"))
    [_, sent_file] = json.loads(encode_request(job(run, JobFile(name="x", content=Blob.of_file(path)))))[
        "files"
    ]
    assert sent_file == {"name": "x", "content": "/wA=", "encoding": "base64"}


def test_encoded_request_contains_only_fields_that_are_set() -> None:
    encoded = json.loads(encode_request(job(runtime="bash", run_timeout=5, stdin="x", args=("a",))))
    assert encoded == {
        "language": "bash", "version": "*", "files": [{"name": "run", "content": "true"}],
        "run_timeout": 5, "stdin": "x", "args": ["a"],
    }  # fmt: skip
    hidden = encode_request(job(without_proc=True))
    assert json.loads(hidden)["without_proc"] is True and decode_request(hidden).without_proc


@pytest.mark.parametrize(("runtime", "is_text"), [("ioi_eval", False), ("python", True)])
def test_file_sent_as_hash_is_marked_as_text_except_for_ioi_eval_runtime(runtime: str, is_text: bool) -> None:
    contents = {"main": Blob.of("print()"), "noise": Blob.of(b"\xff")}
    files = (JobFile(name=name, content=content) for name, content in contents.items())
    hashes = tuple(content.sha256 for content in contents.values())
    run = JobFile(name="run", content=Blob.of("true"))
    body = encode_request(job(run, *files, runtime=runtime), stored_hashes=hashes)
    _, main, noise = decode_request(body, accepts_hashes=True).files
    assert (main.text, noise.text, main.content.data) == (is_text, False, None)


@pytest.mark.parametrize("name", ["../evil", "/etc/x", "a//b", "a/./b", "", "a\0b"])
def test_unusable_file_name_is_job_rejected(name: str) -> None:
    with pytest.raises(JobRejected, match="cannot be a file's name"):
        encode_request(job(JobFile(name=name, content=Blob.of("x"))))


def test_job_with_duplicate_or_binary_only_files_is_rejected() -> None:
    twice = JobFile(name="run", content=Blob.of("x"))
    with pytest.raises(JobRejected, match="twice"):
        encode_request(job(twice, twice))
    with pytest.raises(JobRejected, match="not UTF-8"):
        encode_request(job(JobFile(name="run", content=Blob.of(b"\xff"), text=True)))
    with pytest.raises(JobRejected, match="at least one utf8"):
        encode_request(job(JobFile(name="run", content=Blob.of(b"\xff"))))


def asked(**fields: Any) -> Job:
    files = [{"content": "x"}]
    return decode_request(json.dumps({"language": "a", "version": "1", "files": files, **fields}).encode())


def test_request_field_that_is_0_or_minus_1_or_null_counts_as_omitted() -> None:
    plain = asked()
    assert plain == asked(run_timeout=0, compile_memory_limit=-1, args=None, stdin=None, unknown={"x": 1})
    assert [file.name for file in plain.files] == ["file0.code"]
    assert asked(run_timeout=1.2).run_timeout == 2
    assert asked(args=["a", 5]).args == ("a", "5")


@pytest.mark.parametrize("fields", [{"args": "a"}, {"stdin": 5}, {"run_cpu_time": True}, {"run_timeout": -1}])
def test_request_with_invalid_field_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(RefusedRequest):
        asked(**fields)


@pytest.mark.parametrize("name", LIMITS)
def test_request_limit_above_configured_limit_is_refused(name: str) -> None:
    check_limits(asked(**{name: 7}), {name: 7})
    check_limits(asked(**{name: 7}), {name: -1})
    with pytest.raises(RefusedRequest, match=f"^{name} cannot exceed the configured limit of 6$") as caught:
        check_limits(asked(**{name: 7}), {name: 6})
    with pytest.raises(JobTooLarge) as refusal:
        decode_reply(caught.value.status, caught.value.body)
    assert refusal.value.limit == name


@pytest.mark.parametrize(
    ("content", "encoding", "data"),
    [
        ("YQ", "base64", b"a"),
        ("YQ==", "base64", b"a"),
        ("Y\nQ==", "base64", b"a"),
        ("-_8=", "base64", b"\xfb\xff"),
        ("YWJjZ", "base64", b"abc"),
        ("6162zz63", "hex", b"ab"),
        ("616", "hex", b"a"),
        ("YQ==", "latin1", b"YQ=="),
    ],
)
def test_file_encoding_is_decoded_like_nodejs_does(content: str, encoding: str, data: bytes) -> None:
    files = [{"content": "x"}, {"name": "f", "content": content, "encoding": encoding}]
    body = {"language": "a", "version": "1", "files": files}
    assert decode_request(json.dumps(body).encode()).files[1].content.read() == data


@given(st.binary())
def test_base64_files_are_decoded_with_any_padding_and_alphabet(data: bytes) -> None:
    content = base64.b64encode(data).decode()
    for encoded in (content, content.rstrip("="), base64.urlsafe_b64encode(data).decode()):
        files = [{"content": "x"}, {"content": encoded, "encoding": "base64"}]
        body = {"language": "a", "version": "1", "files": files}
        assert decode_request(json.dumps(body).encode()).files[1].content.read() == data


def test_base64_file_is_not_marked_as_text() -> None:
    files = [{"name": "a", "content": "eA==", "encoding": "base64"}, {"name": "b", "content": "x"}]
    body = {"language": "a", "version": "1", "files": files}
    assert [file.text for file in decode_request(json.dumps(body).encode()).files] == [False, True]
