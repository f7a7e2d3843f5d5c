"""Compact sets of many short strings. A `set` of strings needs four times the memory."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Self
from zlib import crc32

import msgspec

_MIN_SLOTS = 8  # minimum number of slots of a hash table, which is always a power of two


class PackedContent(msgspec.Struct):
    """A view of a set for storing it in a file. While the view exists, the set must not grow."""

    content: memoryview
    ends: memoryview
    slots: memoryview


def read_numbers(type_code: str, content: memoryview) -> array[int]:
    """Return the array of integers whose bytes were stored in a file."""
    return array(type_code, content.tobytes())


class PackedByteStrings(Collection[bytes]):
    """An ordered set of byte strings. Each item has an index, the number of items added before it."""

    def __init__(self) -> None:
        self._content = bytearray()
        self._item_ends = array("Q", [0])
        # Hash table with open addressing. A slot contains the index of an item plus 1, or 0 if it is free.
        # An item is in the slot of its checksum, or in the next slot that was free when it was added.
        self._slots = array("I", bytes(4 * _MIN_SLOTS))
        self._slot_mask = _MIN_SLOTS - 1

    @classmethod
    def from_stored(cls, stored: PackedContent) -> Self:
        """Return the set with a stored content."""
        packed_set = cls()
        packed_set._content = bytearray(stored.content)
        packed_set._item_ends, packed_set._slots = (
            read_numbers("Q", stored.ends),
            read_numbers("I", stored.slots),
        )
        packed_set._slot_mask = len(packed_set._slots) - 1
        return packed_set

    @property
    def stored_content(self) -> PackedContent:
        """Return the arrays from which `from_stored` creates the set again."""
        return PackedContent(memoryview(self._content), memoryview(self._item_ends), memoryview(self._slots))

    def find(self, item: bytes) -> int:
        """Return the item's index, or -1 if it is not in the set."""
        return self._slots[self._find_slot(item)] - 1

    def _find_slot(self, item: bytes) -> int:
        """Return the slot of an item, or the free slot in which to insert it."""
        content, ends, slots, mask = self._content, self._item_ends, self._slots, self._slot_mask
        slot = crc32(item) & mask
        while (index_plus_one := slots[slot]) and content[
            ends[index_plus_one - 1] : ends[index_plus_one]
        ] != item:
            slot = (slot + 1) & mask
        return slot

    def add(self, item: bytes) -> bool:
        """Add an item. Return True if it is new, so that it got the next free index."""
        if self._slots[slot := self._find_slot(item)]:
            return False
        self._slots[slot] = next_index = len(self._item_ends)
        self._content += item
        self._item_ends.append(len(self._content))
        if 3 * next_index > 2 * len(self._slots):
            self._grow()
        return True

    def _grow(self) -> None:
        """Double the number of slots."""
        slot_count = 2 * len(self._slots)
        self._slots, self._slot_mask = slots, mask = array("I", bytes(4 * slot_count)), slot_count - 1
        for index, item in enumerate(self, start=1):
            slot = crc32(item) & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = index

    def __contains__(self, item: object) -> bool:
        return isinstance(item, bytes) and self.find(item) >= 0

    def __len__(self) -> int:
        return len(self._item_ends) - 1

    def __iter__(self) -> Iterator[bytes]:
        content, item_start = self._content, 0
        for index in range(1, len(self._item_ends)):
            item_end = self._item_ends[index]
            yield bytes(content[item_start:item_end])
            item_start = item_end


class PackedKeys(Collection[str]):
    """An ordered set of strings."""

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self.packed = PackedByteStrings()
        for string in strings:
            self.add(string)

    @classmethod
    def from_stored(cls, stored: PackedContent) -> Self:
        """Return the set with a stored content."""
        keys = cls()
        keys.packed = PackedByteStrings.from_stored(stored)
        return keys

    def find_index(self, string: str) -> int:
        """Return the string's index, or -1 if it is not in the set."""
        return self.packed.find(string.encode(errors="surrogatepass"))

    def add(self, string: str) -> bool:
        """Add a string. Return True if it is new, so that it got the next free index."""
        return self.packed.add(string.encode(errors="surrogatepass"))

    def __contains__(self, string: object) -> bool:
        return isinstance(string, str) and self.find_index(string) >= 0

    def __len__(self) -> int:
        return len(self.packed)

    def __iter__(self) -> Iterator[str]:
        return (item.decode(errors="surrogatepass") for item in self.packed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedKeys) and self.packed.stored_content == other.packed.stored_content

    __hash__ = None  # type: ignore[assignment]


class NamesByKey(Mapping[str, str]):
    """An ordered mapping of keys to names, for many keys with few distinct names."""

    def __init__(
        self,
        keys: PackedKeys | None = None,
        names: Iterable[str] = (),
        name_indexes: memoryview | None = None,
    ) -> None:
        """`name_indexes` has, for each key, the index of its name in `names`."""
        self.keys_in_order = PackedKeys() if keys is None else keys
        self.names = list(names)
        self._index_by_name = {name: number for number, name in enumerate(self.names)}
        self._name_index_by_key = array("I") if name_indexes is None else read_numbers("I", name_indexes)

    @property
    def name_indexes(self) -> memoryview:
        """Return the index of each key's name in `names`, in the form that a file stores."""
        return memoryview(self._name_index_by_key)

    def add(self, key: str, name: str) -> None:
        """Add a key with its name. A key that exists already is unchanged."""
        if self.keys_in_order.add(key):
            if name not in self._index_by_name:
                self._index_by_name[name] = len(self.names)
                self.names.append(name)
            self._name_index_by_key.append(self._index_by_name[name])

    def find_key_index(self, key: str) -> int:
        """Return the index of a key, or -1 if it has no name."""
        return self.keys_in_order.find_index(key)

    def __getitem__(self, key: str) -> str:
        if (index := self.find_key_index(key)) < 0:
            raise KeyError(key)
        return self.names[self._name_index_by_key[index]]

    def __contains__(self, key: object) -> bool:
        return key in self.keys_in_order

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys_in_order)

    def __len__(self) -> int:
        return len(self.keys_in_order)
