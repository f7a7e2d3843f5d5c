"""Listings of runtimes and packages by servers."""

from __future__ import annotations

import json

import pytest
from recorded import SAMPLES, reply

from ioi_eval.engines.jobs.piston_api import (
    ForeignReply,
    RefusedRequest,
    ServerRuntime,
    decode_language_and_version,
    decode_reply,
    decode_runtimes,
    encode_package_list,
    encode_result,
    encode_runtimes,
)
from ioi_eval.errors import EngineOverloaded, EngineUnavailable
from ioi_eval.models import Ending, JobResult, StageStatus

# --- listings ----------------------------------------------------------------------------------------


def test_recorded_runtimes_listing_is_decoded_and_encoded_back() -> None:
    runtimes = decode_runtimes(*reply("runtimes"))
    assert runtimes[0] == ServerRuntime(language="bash", version="5.2.0", aliases=("sh",))
    assert runtimes[1].names == ("cms", "cms_ioi") and runtimes[1].runtime == "cms_ioi"
    assert json.loads(encode_runtimes(runtimes)) == SAMPLES["runtimes"]["response"]["body"]


def test_runtimes_listing_with_404_counts_as_not_from_piston() -> None:
    with pytest.raises(ForeignReply, match=r"HTTP 404$"):
        decode_runtimes(*reply("no_such_route"))


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 405, 410, 501])
def test_runtimes_listing_with_client_error_counts_as_not_from_piston(status: int) -> None:
    with pytest.raises(ForeignReply, match=f"HTTP {status}$"):
        decode_runtimes(status, b"<!DOCTYPE HTML>")


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503])
def test_runtimes_listing_with_gateway_status_is_temporary_engine_error(status: int) -> None:
    with pytest.raises((EngineUnavailable, EngineOverloaded), match=f"HTTP {status}"):
        decode_runtimes(status, b"<!DOCTYPE HTML>")


def test_malformed_runtimes_listing_counts_as_not_from_piston() -> None:
    for body in (b"", b"{}", b'[{"language": "x"}]', b"<html>"):
        with pytest.raises(ForeignReply, match="not a list of runtimes"):
            decode_runtimes(200, body)


def test_installed_packages_are_encoded_like_piston() -> None:
    expected = {"language": "bash", "language_version": "5.2.0", "installed": True}
    assert json.loads(encode_package_list([("bash", "5.2.0")])) == [expected]


def test_package_to_install_is_decoded_or_refused() -> None:
    assert decode_language_and_version(b'{"language": "bash", "version": "5.2.0"}') == ("bash", "5.2.0")
    for body in (b"", b"{}", b"[]", b'{"language": "bash"}', b'{"language": "bash", "version": 5}'):
        with pytest.raises(RefusedRequest):
            decode_language_and_version(body)


def test_stage_status_survives_encoding() -> None:
    for status in StageStatus:
        stage = Ending(status=status)
        assert decode_reply(200, encode_result(JobResult(run=stage))).run.status is status
