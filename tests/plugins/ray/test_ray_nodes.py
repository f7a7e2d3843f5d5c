"""What a node of Ray gets, as far as it takes no Ray."""

from __future__ import annotations

import pytest

from ioi_eval.errors import InputError
from ioi_eval.models import Blob, JobFile
from ioi_eval.plugins.ray.cluster import Seen
from ioi_eval.plugins.ray.wire import _carried

pytestmark = pytest.mark.alike


def test_file_that_the_node_keeps_travels_without_its_content() -> None:
    file = JobFile(name="t/0.in", content=Blob.of("1 2\n" * 1000), executable=True)
    kept = _carried(file, {file.content.sha256: file})
    assert (kept.content.data, kept.content.sha256, kept.executable) == (None, file.content.sha256, True)
    assert _carried(file, {}).content.data == file.content.data


def test_slots_are_what_is_free_and_what_is_declared() -> None:
    free = {"CPU": 7.0, "ioi_eval": 3.0, "GPU": 8.0}
    node = Seen(id="1", name="one", free=free, declares=False)
    assert [node.slots(each) for each in (1.0, 2.0, 0.5, 8.0)] == [7, 3, 14, 0]
    assert Seen(id="1", name="one", free=free, declares=True).slots(1.0) == 3
    assert Seen(id="1", name="one", free={}, declares=True).slots(1.0) == 0


def test_where_ray_is_missing_its_address_is_refused_all_the_same() -> None:
    from ioi_eval.engines.registry import find_engine

    with pytest.raises(InputError, match="not a Ray cluster"):
        find_engine("ray:somewhere")
