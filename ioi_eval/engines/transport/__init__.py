"""Piston's HTTP API v2 as bytes to values and back, for clients and for servers. Pure."""

from ioi_eval.engines.transport.listings import (
    Package,
    Runtime,
    decode_package,
    decode_packages,
    decode_runtimes,
    encode_package,
    encode_packages,
    encode_runtimes,
)
from ioi_eval.engines.transport.refusals import (
    Refused,
    check_content_type,
    limit_in,
    refused_above,
    too_large,
)
from ioi_eval.engines.transport.replies import bounded, decode_reply, encode_result, pieces_of
from ioi_eval.engines.transport.requests import LIMITS, check_limits, decode_request, encode_request

__all__ = [
    "LIMITS",
    "Package",
    "Refused",
    "Runtime",
    "bounded",
    "check_content_type",
    "check_limits",
    "decode_package",
    "decode_packages",
    "decode_reply",
    "decode_request",
    "decode_runtimes",
    "encode_package",
    "encode_packages",
    "encode_request",
    "encode_result",
    "encode_runtimes",
    "limit_in",
    "pieces_of",
    "refused_above",
    "too_large",
]
