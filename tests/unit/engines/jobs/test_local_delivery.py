from __future__ import annotations

import msgspec
import pytest
from support.builds import submitted
from support.engines import submission_recipe

from ioi_eval.engines.fake import fake_capabilities
from ioi_eval.engines.jobs.runner import LocalJobDelivery
from ioi_eval.models import BuildLimits, Problem
from ioi_eval.testing import FakeEngine


@pytest.mark.parametrize("confines", [False, True])
async def test_build_of_cpp_hides_proc_if_engine_confines(confines: bool) -> None:
    capabilities = msgspec.structs.replace(fake_capabilities(), confines=confines)
    engine = FakeEngine(capabilities=capabilities)
    spec = submission_recipe(Problem(id="sum", tests=()), submitted("int main() {}"), BuildLimits())
    result = await LocalJobDelivery(engine).build(
        spec, None, capabilities, may_leave_artifact_on_worker=False
    )
    result.discard()
    [job] = engine.jobs
    assert job.without_proc is confines
