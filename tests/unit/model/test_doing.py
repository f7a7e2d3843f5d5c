"""Records of submissions in progress."""

from __future__ import annotations

import asyncio

import pytest

from ioi_eval.model.doing import BUILD, TESTS, WAITS, mark_step_executing, track_step, track_submission


async def test_concurrent_submissions_record_their_own_steps_and_endpoints() -> None:
    began, go = asyncio.Event(), asyncio.Event()

    async def built(endpoint_name: str) -> None:
        with track_step(BUILD):
            await began.wait()
            with mark_step_executing(endpoint_name):
                await go.wait()

    async def judged(key: str) -> None:
        with track_submission(key, "p") as submission_state:
            active[key] = submission_state
            await asyncio.gather(built(f"{key} 1"), built(f"{key} 2"))
            with track_step(TESTS), mark_step_executing("there"):
                await asyncio.sleep(0)
                steps.append((submission_state.step.kind, submission_state.step.where))

    active, steps = {}, []
    async with asyncio.TaskGroup() as group:
        for key in ("a", "b"):
            group.create_task(judged(key))
        await asyncio.sleep(0)
        assert {
            key: (submission_state.step.kind, submission_state.step.where)
            for key, submission_state in active.items()
        } == {
            "a": (WAITS, ""),
            "b": (WAITS, ""),
        }
        await asyncio.sleep(0)
        assert {submission_state.step.kind for submission_state in active.values()} == {BUILD}
        assert {submission_state.step.where for submission_state in active.values()} == {""}, (
            "both submissions wait for a slot"
        )
        began.set()
        await asyncio.sleep(0)
        assert {key: submission_state.step.where for key, submission_state in active.items()} == {
            "a": "a 1",
            "b": "b 1",
        }
        go.set()
    assert steps == [(TESTS, "there")] * 2
    assert {submission_state.step.kind for submission_state in active.values()} == {WAITS}


def test_step_outside_of_a_submission_is_not_recorded() -> None:
    with track_step(BUILD), mark_step_executing("there"):
        pass
    with track_submission("a", "p") as submission_state, mark_step_executing("there"):
        assert submission_state.step.where == ""


def test_server_of_step_is_cleared_after_an_exception() -> None:
    with track_submission("a", "p") as submission_state, track_step(BUILD):
        with pytest.raises(ValueError, match="down"), mark_step_executing("there"):
            raise ValueError("down")
        assert (submission_state.step.kind, submission_state.step.where) == (BUILD, "")
