"""Runtimes and packages, as servers list them."""

from __future__ import annotations

import json

import pytest
from recorded import SAMPLES, reply

from ioi_eval.engines.jobs.piston_api import (
    ForeignReply,
    RefusedRequest,
    ServerRuntime,
    decode_package,
    decode_reply,
    decode_runtimes,
    encode_packages,
    encode_result,
    encode_runtimes,
)
from ioi_eval.errors import EngineOverloaded, EngineUnavailable
from ioi_eval.models import Ending, JobResult, StageStatus

# --- listings ----------------------------------------------------------------------------------------


def test_recorded_runtimes() -> None:
    runtimes = decode_runtimes(*reply("runtimes"))
    assert runtimes[0] == ServerRuntime(language="bash", version="5.2.0", aliases=("sh",))
    assert runtimes[1].names == ("cms", "cms_ioi") and runtimes[1].runtime == "cms_ioi"
    assert json.loads(encode_runtimes(runtimes)) == SAMPLES["runtimes"]["response"]["body"]


def test_a_route_that_is_not_there() -> None:
    with pytest.raises(ForeignReply, match=r"HTTP 404$"):
        decode_runtimes(*reply("no_such_route"))


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 405, 410, 501])
def test_answers_of_servers_without_that_path(status: int) -> None:
    with pytest.raises(ForeignReply, match=f"HTTP {status}$"):
        decode_runtimes(status, b"<!DOCTYPE HTML>")


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503])
def test_refusals_and_faults_may_be_those_of_a_gateway(status: int) -> None:
    with pytest.raises((EngineUnavailable, EngineOverloaded), match=f"HTTP {status}"):
        decode_runtimes(status, b"<!DOCTYPE HTML>")


def test_listings_that_are_none() -> None:
    for body in (b"", b"{}", b'[{"language": "x"}]', b"<html>"):
        with pytest.raises(ForeignReply, match="not a list of runtimes"):
            decode_runtimes(200, body)


def test_packages_that_are_installed() -> None:
    told = {"language": "bash", "language_version": "5.2.0", "installed": True}
    assert json.loads(encode_packages([("bash", "5.2.0")])) == [told]


def test_what_to_install() -> None:
    assert decode_package(b'{"language": "bash", "version": "5.2.0"}') == ("bash", "5.2.0")
    for body in (b"", b"{}", b"[]", b'{"language": "bash"}', b'{"language": "bash", "version": 5}'):
        with pytest.raises(RefusedRequest):
            decode_package(body)


def test_a_status_has_a_word_for_each_of_ours() -> None:
    for status in StageStatus:
        stage = Ending(status=status)
        assert decode_reply(200, encode_result(JobResult(run=stage))).run.status is status
