"""Parcels between the engine and its nodes: values without their contents, and the contents.

A value is pickled with each blob as its hash; its contents go to a node once. Small ones travel in the call,
others through Ray's object store.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from ioi_eval.engines.cluster import Endpoint
from ioi_eval.engines.contract import Answers, Built, Far, Profile, Rejected
from ioi_eval.model.errors import IoiEvalError
from ioi_eval.model.values import Blob, Value

VERSION = version("ioi-eval")
SMALL = 1 << 16  # bytes of a content that travels in the call


class _Packer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=pickle.HIGHEST_PROTOCOL)
        self.contents = dict[str, Blob]()

    def persistent_id(self, given: Any) -> tuple[str, int] | None:
        if not isinstance(given, Blob):
            return None
        self.contents[given.sha256] = given
        return given.sha256, given.size


class _Unpacker(pickle.Unpickler):
    def __init__(self, packed: bytes, found: Callable[[str, int], Blob]) -> None:
        super().__init__(io.BytesIO(packed))
        self._found = found

    def persistent_load(self, identity: tuple[str, int]) -> Blob:
        return self._found(*identity)


def pack(value: object) -> tuple[bytes, dict[str, Blob]]:
    """Return the value without its contents, and these by their hashes."""
    stream = io.BytesIO()
    packer = _Packer(stream)
    packer.dump(value)
    return stream.getvalue(), packer.contents


def unpack(packed: bytes, found: Callable[[str, int], Blob]) -> Any:
    return _Unpacker(packed, found).load()


class NodeCall(Value):
    """A call to a node."""

    rest: (
        bytes  # packed: a recipe; or what of a batch tells apart whose contents are needed and whose are not
    )
    problem: bytes = b""  # packed, and without contents: those of a batch's tests are in the rest
    needed: tuple[str, ...] = ()
    small: Mapping[str, bytes] = {}  # contents that this node was not given yet
    large: Mapping[str, Any] = {}  # the same, as Ray's references


class Lacking(Value):
    """An answer: contents that the node was not given, has no more, or cannot fetch."""

    names: tuple[str, ...]


class NodeError(Value):
    """An answer: the error that the node's engine raised."""

    error: IoiEvalError


Answer = Answers | Built | Rejected | Lacking | NodeError


class About(Value):
    """The description of a node."""

    made_by: str  # the engine that started the actor
    version: str  # of this package
    slots: int
    profile: Profile


class InStore(Far, kw_only=True):
    """An artifact in the object store, most likely on the node that made it; freed with this value."""

    reference: Any
    fetch: Callable[[Any], bytes]
    made_on: Endpoint

    def read(self) -> bytes:
        """Raises EngineUnavailable where the node that had it is gone."""
        return self.fetch(self.reference)
