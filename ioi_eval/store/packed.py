"""Sets of many short texts in few bytes each: a `set` of strings takes four times as many."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Self
from zlib import crc32

import msgspec

_LEAST = 8  # slots, a power of two as all their numbers are


class PackedContent(msgspec.Struct):
    """A set as a file holds it. No member can be added to the set while there is such a view of it."""

    content: memoryview
    ends: memoryview
    slots: memoryview


def numbers(kind: str, kept: memoryview) -> array[int]:
    """Return an array of what a file holds of one."""
    return array(kind, kept.tobytes())


class Packed(Collection[bytes]):
    """An ordered set of byte strings. Each has a place, the number of those that came before it."""

    def __init__(self) -> None:
        self._content = bytearray()
        self._ends = array("Q", [0])
        self._slots = array("I", bytes(4 * _LEAST))  # places, from 1 on; the next free one from a checksum on
        self._mask = _LEAST - 1

    @classmethod
    def of(cls, kept: PackedContent) -> Self:
        found = cls()
        found._content = bytearray(kept.content)
        found._ends, found._slots = numbers("Q", kept.ends), numbers("I", kept.slots)
        found._mask = len(found._slots) - 1
        return found

    @property
    def kept(self) -> PackedContent:
        return PackedContent(memoryview(self._content), memoryview(self._ends), memoryview(self._slots))

    def find(self, item: bytes) -> int:
        """Return the place; -1 where it is not in the set."""
        return self._slots[self._slot(item)] - 1

    def _slot(self, item: bytes) -> int:
        """Return the slot that has the place of an item, or the free one for it."""
        content, ends, slots, mask = self._content, self._ends, self._slots, self._mask
        slot = crc32(item) & mask
        while (place := slots[slot]) and content[ends[place - 1] : ends[place]] != item:
            slot = (slot + 1) & mask
        return slot

    def add(self, item: bytes) -> bool:
        """Return True if it is new; its place is the last one then."""
        if self._slots[slot := self._slot(item)]:
            return False
        self._slots[slot] = place = len(self._ends)
        self._content += item
        self._ends.append(len(self._content))
        if 3 * place > 2 * len(self._slots):
            self._grow()
        return True

    def _grow(self) -> None:
        size = 2 * len(self._slots)
        self._slots, self._mask = slots, mask = array("I", bytes(4 * size)), size - 1
        for place, item in enumerate(self, start=1):
            slot = crc32(item) & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = place

    def __contains__(self, item: object) -> bool:
        return isinstance(item, bytes) and self.find(item) >= 0

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[bytes]:
        content, start = self._content, 0
        for number in range(1, len(self._ends)):
            end = self._ends[number]
            yield bytes(content[start:end])
            start = end


class Keys(Collection[str]):
    """An ordered set of texts."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.packed = Packed()
        for text in texts:
            self.add(text)

    @classmethod
    def of(cls, kept: PackedContent) -> Self:
        found = cls()
        found.packed = Packed.of(kept)
        return found

    def find(self, text: str) -> int:
        """Return the place; -1 where it is not in the set."""
        return self.packed.find(text.encode(errors="surrogatepass"))

    def add(self, text: str) -> bool:
        """Return True if it is new; its place is the last one then."""
        return self.packed.add(text.encode(errors="surrogatepass"))

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self.find(text) >= 0

    def __len__(self) -> int:
        return len(self.packed)

    def __iter__(self) -> Iterator[str]:
        return (item.decode(errors="surrogatepass") for item in self.packed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keys) and self.packed.kept == other.packed.kept

    __hash__ = None  # type: ignore[assignment]


class NamedKeys(Mapping[str, str]):
    """A name for each key, in order, where there are few names."""

    def __init__(
        self, keys: Keys | None = None, names: Iterable[str] = (), places: memoryview | None = None
    ) -> None:
        """`places`: of the keys' names among the names."""
        self.keys_in_order = Keys() if keys is None else keys
        self.names = list(names)
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._places = array("I") if places is None else numbers("I", places)

    @property
    def places(self) -> memoryview:
        return memoryview(self._places)

    def add(self, key: str, name: str) -> None:
        """Name a new key."""
        if self.keys_in_order.add(key):
            if name not in self._numbers:
                self._numbers[name] = len(self.names)
                self.names.append(name)
            self._places.append(self._numbers[name])

    def place(self, key: str) -> int:
        """Return the place of a key; -1 where it has no name."""
        return self.keys_in_order.find(key)

    def __getitem__(self, key: str) -> str:
        if (place := self.place(key)) < 0:
            raise KeyError(key)
        return self.names[self._places[place]]

    def __contains__(self, key: object) -> bool:
        return key in self.keys_in_order

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys_in_order)

    def __len__(self) -> int:
        return len(self.keys_in_order)
