"""Packed sets behave like dicts, even with hash collisions and after they are saved."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioi_eval.store import packed
from ioi_eval.store.packed import NamesByKey, PackedByteStrings, PackedContent, PackedKeys

texts = st.text(st.characters(), max_size=4)  # including halves of surrogate pairs, and the empty string


@pytest.fixture(params=["as it is", "all collide"])
def checksums(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "all collide":
        monkeypatch.setattr(packed, "crc32", len)


@pytest.mark.usefixtures("checksums")
def test_packed_keys_behave_like_dict_keys() -> None:
    @given(st.lists(texts), st.lists(texts))
    def holds(added: list[str], queries: list[str]) -> None:
        keys, indexes = PackedKeys(), dict[str, int]()
        for key in added:
            assert keys.add(key) == (key not in indexes)
            indexes.setdefault(key, len(indexes))
        stored_keys = msgspec.msgpack.decode(
            msgspec.msgpack.encode(keys.packed.stored_content), type=PackedContent
        )
        for key_set in (keys, PackedKeys.from_stored(stored_keys)):
            assert list(key_set) == list(indexes) and len(key_set) == len(indexes)
            for key in (*added, *queries):
                assert key_set.find_index(key) == indexes.get(key, -1)
                assert (key in key_set) == (key in indexes)

    holds()


def test_packed_set_read_from_file_accepts_new_keys() -> None:
    first = PackedByteStrings()
    for number in range(100):
        first.add(b"%d" % number)
    restored = PackedByteStrings.from_stored(first.stored_content)
    for number in range(200):
        assert restored.add(b"%d" % number) == (number >= 100)
    assert [*restored] == [b"%d" % number for number in range(200)] and len(first) == 100


@given(st.dictionaries(texts, st.sampled_from("abc")))
def test_named_keys_behave_like_dict(names: dict[str, str]) -> None:
    named_keys = NamesByKey()
    for key, name in names.items():
        named_keys.add(key, name)
    restored = NamesByKey(
        PackedKeys.from_stored(named_keys.keys_in_order.packed.stored_content),
        named_keys.names,
        named_keys.name_indexes,
    )
    for key_map in (named_keys, restored):
        assert dict(key_map) == names and list(key_map) == list(names)
        with pytest.raises(KeyError):
            key_map["none of these"]
    restored.add("more", "new")
    assert dict(restored) == {**names, "more": "new"}
