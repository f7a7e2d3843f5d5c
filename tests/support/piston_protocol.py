"""Piston's HTTP protocol: functions that encode and decode its messages."""

from __future__ import annotations

from ioi_eval.engines.jobs.piston_api import (
    RefusedRequest,
    ServerRuntime,
    check_limits,
    decode_language_and_version,
    decode_reply,
    decode_request,
    decode_runtimes,
    encode_result,
    encode_runtimes,
)

__all__ = [
    "RefusedRequest",
    "ServerRuntime",
    "check_limits",
    "decode_language_and_version",
    "decode_reply",
    "decode_request",
    "decode_runtimes",
    "encode_result",
    "encode_runtimes",
]
