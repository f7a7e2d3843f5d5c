"""Piston's HTTP API v2 as bytes to values and back, for clients and for servers. Pure."""

from ioi_eval.engines.transport.replies import (
    ForeignReply,
    Refused,
    bounded,
    check_content_type,
    decode_reply,
    encode_result,
    limit_in,
    pieces_of,
    refused_above,
    too_large,
)
from ioi_eval.engines.transport.requests import (
    LIMITS,
    Runtime,
    check_limits,
    decode_package,
    decode_request,
    decode_runtimes,
    encode_packages,
    encode_request,
    encode_runtimes,
)

__all__ = [
    "LIMITS",
    "ForeignReply",
    "Refused",
    "Runtime",
    "bounded",
    "check_content_type",
    "check_limits",
    "decode_package",
    "decode_reply",
    "decode_request",
    "decode_runtimes",
    "encode_packages",
    "encode_request",
    "encode_result",
    "encode_runtimes",
    "limit_in",
    "pieces_of",
    "refused_above",
    "too_large",
]
