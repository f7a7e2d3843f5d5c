"""Packed sets behave like dicts, even with hash collisions and after they are saved."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioi_eval.store import packed
from ioi_eval.store.packed import Keys, NamedKeys, Packed, PackedContent

texts = st.text(st.characters(), max_size=4)  # including halves of surrogate pairs, and the empty string


@pytest.fixture(params=["as it is", "all collide"])
def checksums(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "all collide":
        monkeypatch.setattr(packed, "crc32", len)


@pytest.mark.usefixtures("checksums")
def test_packed_keys_behave_like_dict_keys() -> None:
    @given(st.lists(texts), st.lists(texts))
    def holds(added: list[str], asked: list[str]) -> None:
        keys, places = Keys(), dict[str, int]()
        for text in added:
            assert keys.add(text) == (text not in places)
            places.setdefault(text, len(places))
        kept = msgspec.msgpack.decode(msgspec.msgpack.encode(keys.packed.to_stored), type=PackedContent)
        for found in (keys, Keys.from_stored(kept)):
            assert list(found) == list(places) and len(found) == len(places)
            for text in (*added, *asked):
                assert found.find(text) == places.get(text, -1)
                assert (text in found) == (text in places)

    holds()


def test_packed_set_read_from_file_accepts_new_keys() -> None:
    first = Packed()
    for number in range(100):
        first.add(b"%d" % number)
    found = Packed.from_stored(first.to_stored)
    for number in range(200):
        assert found.add(b"%d" % number) == (number >= 100)
    assert [*found] == [b"%d" % number for number in range(200)] and len(first) == 100


@given(st.dictionaries(texts, st.sampled_from("abc")))
def test_named_keys_behave_like_dict(names: dict[str, str]) -> None:
    made = NamedKeys()
    for key, name in names.items():
        made.add(key, name)
    kept = NamedKeys(Keys.from_stored(made.keys_in_order.packed.to_stored), made.names, made.name_indexes)
    for found in (made, kept):
        assert dict(found) == names and list(found) == list(names)
        with pytest.raises(KeyError):
            found["none of these"]
    kept.add("more", "new")
    assert dict(kept) == {**names, "more": "new"}
