from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.runs import ScoreMode

from ioi_eval.models import SubmissionResult, SubtaskResult, TestResult, Verdict
from ioi_eval.rules import scoring
from ioi_eval.rules.selection import (
    Attempt,
    Budget,
    SubmissionPool,
    find_target_subtask,
    order_attempts_by_rounds,
    select_first_attempts,
    select_single_attempt,
)

POINTS = {"00-samples": 0, "01-few": 30, "02-full": 70}
TARGETS = [None, *POINTS, "no such subtask"]


def candidate(
    key: str,
    scores: Sequence[float] = (0, 0, 0),
    target: str | None = None,
    *,
    compiles: bool = True,
    subtasks: bool = True,
    **fields: object,
) -> Attempt:
    subtask_results = tuple(
        SubtaskResult(
            problem="p",
            subtask=name,
            points=points,
            score=round(score, 2),
            weighted_score=round(score * points, 2),
            exact_score=score,
            score_precision=2,
            status=Verdict.AC,
            test_results=(TestResult(test_name="t", score=score, status=Verdict.AC),),
        )
        for (name, points), score in zip(POINTS.items(), scores, strict=True)
    )
    total = (
        sum(subtask_result.exact_score * subtask_result.points for subtask_result in subtask_results)
        if subtasks
        else scores[0]
    )
    result = SubmissionResult(
        key=key, problem_id="p", compiles=compiles, points=total, subtasks=subtask_results if subtasks else ()
    )
    return msgspec.convert({"result": result, "target": target, **fields}, Attempt)


def keys(chosen: Sequence[Attempt]) -> list[str]:
    return [entry.result.key for entry in chosen]


SCORES = st.sampled_from([0.0, 1 / 3, 1.0])


@st.composite
def pools(draw: st.DrawFn) -> list[Attempt]:
    return [
        candidate(
            f"k{n}",
            draw(st.tuples(SCORES, SCORES, SCORES)),
            draw(st.sampled_from(TARGETS)),
            compiles=draw(st.booleans() | st.just(True)),
            number=draw(st.none() | st.integers(0, 3)),
            length=draw(st.integers(0, 2)),
            tokened=draw(st.booleans()),
        )
        for n in range(draw(st.integers(0, 10)))
    ]


# --- rounds ------------------------------------------------------------------------------------------


def test_submission_rounds_start_with_last_subtask() -> None:
    candidates = [
        candidate(f"{name}{n}", target=name) for n in range(2) for name in POINTS if name != "00-samples"
    ]
    assert keys(select_first_attempts(candidates)) == ["02-full0", "01-few0", "02-full1", "01-few1"]
    assert keys(select_first_attempts(candidates, 3)) == ["02-full0", "01-few0", "02-full1"]


def test_whole_problem_target_comes_first_in_round() -> None:
    candidates = [
        candidate("few", target="01-few"),
        candidate("whole"),
        candidate("odd", target="no such subtask"),
    ]
    assert keys(select_first_attempts(candidates)) == ["odd", "few", "whole"]


def test_candidates_are_ordered_by_samples_length_and_number() -> None:
    candidates = [
        candidate("late", (1, 0, 0), length=5, number=2),
        candidate("early", (1, 0, 0), length=5, number=1),
        candidate("long", (1, 0, 0), length=9, number=3),
        candidate("longest", (0.5, 0, 0), length=99, number=0),
    ]
    assert keys(select_first_attempts(candidates)) == ["long", "early", "late", "longest"]


def test_solved_subtask_uses_no_more_submissions() -> None:
    """The original pipeline continues to submit for solved subtasks."""
    solving = [candidate(f"full{n}", (1, 0, 1), "02-full") for n in range(60)]
    trying = [candidate(f"few{n:02}", (1, 0, 0), "01-few") for n in range(60)]
    chosen = keys(select_first_attempts([*solving, *trying], 50))
    assert chosen == ["full0", *(f"few{n:02}" for n in range(49))]


def test_subtask_may_be_solved_by_submission_with_other_target() -> None:
    candidates = [
        candidate("a", (1, 1, 0), "02-full"),
        candidate("b", (1, 1, 0), "01-few"),
        candidate("c", (1, 0, 0), "02-full"),
    ]
    assert keys(select_first_attempts(candidates)) == ["a", "c"]


def test_score_rounded_to_full_marks_does_not_solve_subtask() -> None:
    candidates = [
        candidate(key, (1, 0, score), "02-full") for key, score in (("a", 0.999), ("b", 1), ("c", 1))
    ]
    assert keys(select_first_attempts(candidates)) == ["a", "b"]


def test_subtasks_solved_by_two_submissions_solve_problem() -> None:
    candidates = [candidate("a", (1, 1, 0)), candidate("b", (1, 0, 1)), candidate("c", (1, 1, 1))]
    assert keys(select_first_attempts(candidates)) == ["a", "b"]


def test_uncompiled_programs_and_programs_for_samples_are_not_submitted() -> None:
    candidates = [
        candidate("ce", compiles=False),
        candidate("samples", (1, 0, 0), "00-samples"),
        candidate("a"),
    ]
    assert keys(select_first_attempts(candidates)) == ["a"]


def test_submitting_stops_at_first_pass_without_subtasks() -> None:
    candidates = [candidate(f"k{n}", (score, 0, 0), subtasks=False) for n, score in enumerate([0, 0.5, 1, 1])]
    assert keys(select_first_attempts(candidates)) == ["k0", "k1", "k2"]


@given(pools(), st.integers(0, 12))
def test_smaller_budget_submits_prefix_of_larger(made: list[Attempt], number: int) -> None:
    assert select_first_attempts(made, number) == list(order_attempts_by_rounds(made))[:number]


@given(pools(), st.randoms(use_true_random=False))
def test_selection_does_not_depend_on_judging_order(made: list[Attempt], dice: random.Random) -> None:
    assert select_first_attempts(dice.sample(made, len(made)), 4) == select_first_attempts(made, 4)


@given(pools(), st.integers(1, 6), st.data())
def test_selection_does_not_use_scores_before_submission(
    made: list[Attempt], number: int, data: st.DataObject
) -> None:
    """A score beyond the samples exists only after the submission."""
    chosen = select_first_attempts(made, number)
    unselected = [entry for entry in made if entry not in chosen]
    changed = [
        candidate(
            entry.result.key,
            (entry.result.subtasks[0].exact_score, *data.draw(st.tuples(SCORES, SCORES))),
            entry.target,
            compiles=entry.result.compiles,
            number=entry.number,
            length=entry.length,
        )
        for entry in unselected
    ]
    last = keys(chosen)[-1:]
    selected_again = keys(
        select_first_attempts([*(entry for entry in made if entry in chosen), *changed], number)
    )
    assert selected_again[: len(chosen)] == keys(chosen)
    assert not last or selected_again[len(chosen) - 1] == last[0]


@given(pools())
def test_selection_equals_independent_round_robin(made: list[Attempt]) -> None:
    """In each round the next unsolved target with candidates left is chosen."""
    turns = [None, "02-full", "01-few"]
    candidates_by_turn = {
        turn: [entry for entry in made if entry.result.compiles and find_target_subtask(entry) == turn]
        for turn in turns
    }
    solved: set[str] = set()
    expected: list[str] = []
    idle = at = 0
    while idle < len(turns):
        turn, at = turns[at % 3], at + 1
        is_solved = {"01-few", "02-full"} <= solved if turn is None else turn in solved
        if is_solved or not candidates_by_turn[turn]:
            idle += 1
            continue
        idle = 0
        best = candidates_by_turn[turn][0]
        for entry in candidates_by_turn[turn][1:]:
            merits = (entry.sample_score, entry.length), (best.sample_score, best.length)
            if merits[0] > merits[1] or (merits[0] == merits[1] and entry.sort_key < best.sort_key):
                best = entry
        candidates_by_turn[turn].remove(best)
        expected.append(best.result.key)
        solved |= {
            subtask_result.subtask
            for subtask_result in best.result.subtasks
            if subtask_result.exact_score == 1
        }
    assert keys(select_first_attempts(made, 100)) == expected


# --- a single submission -----------------------------------------------------------------------------


def test_single_budget_selects_first_program_for_problem_or_last_subtask() -> None:
    candidates = [
        candidate("few", (1, 1, 1), "01-few", number=0),
        candidate("full1", (1, 1, 1), "02-full", number=1),
        candidate("full0", target="02-full", number=0, compiles=False),
    ]
    assert keys([selected for selected in [select_single_attempt(candidates)] if selected]) == ["full0"]
    assert keys(
        [
            selected
            for selected in [select_single_attempt([*candidates, candidate("whole", number=7)])]
            if selected
        ]
    ) == ["whole"]
    assert keys([selected for selected in [select_single_attempt(candidates[:1])] if selected]) == ["few"]
    assert select_single_attempt([]) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (candidate("z", number=0), candidate("a", number=1)),
        (candidate("z", number=0), candidate("a")),
        (candidate("z", time="2025-01-01"), candidate("a", time="2025-01-02")),
        (candidate("abc-9"), candidate("abc-10")),
        (candidate("a"), candidate("b")),
    ],
)
def test_candidates_are_ordered_by_number_and_key(first: Attempt, second: Attempt) -> None:
    assert first.sort_key < second.sort_key
    assert select_single_attempt([second, first]) == first


@pytest.mark.parametrize(("first", "second"), [("s01", "s1"), ("s", "s0")])
def test_selection_order_of_keys_differing_in_leading_zeros_is_stable(first: str, second: str) -> None:
    """Otherwise the order of rows would decide."""
    candidates = candidate(first, (0, 1, 0)), candidate(second, (0, 0, 1))
    for rows in (candidates, candidates[::-1]):
        pool = SubmissionPool(1)
        for entry in rows:
            pool.add(entry)
        chosen = {budget: keys(pool.select_attempts(budget)) for budget in Budget}
        assert chosen[Budget.SINGLE] == chosen[Budget.LIMITED] == [first]
        assert chosen[Budget.UNLIMITED][-1] == second


# --- a pool ------------------------------------------------------------------------------------------


@given(pools(), st.integers(1, 4), st.sampled_from(ScoreMode))
def test_submission_pool_selects_same_submissions_as_full_list(
    made: list[Attempt], number: int, mode: ScoreMode
) -> None:
    pool = SubmissionPool(number)
    for entry in made:
        pool.add(entry)

    def worth(chosen: Sequence[Attempt]) -> float:
        return scoring.compute_problem_points(
            mode, [entry.result for entry in chosen], {entry.result.key for entry in chosen if entry.tokened}
        )

    everything = sorted(made, key=lambda one: one.sort_key)
    assert worth(pool.select_attempts(Budget.UNLIMITED)) == worth(everything)
    assert keys(pool.select_attempts(Budget.LIMITED)) == keys(select_first_attempts(made, number))
    assert keys(pool.select_attempts(Budget.SINGLE)) == keys(
        [entry for entry in [select_single_attempt(made)] if entry]
    )


@given(pools())
def test_larger_budget_never_scores_less(made: list[Attempt]) -> None:
    worth = [
        scoring.compute_problem_points(ScoreMode.MAX_SUBTASK, [entry.result for entry in chosen])
        for chosen in (
            [],
            select_first_attempts(made, 1),
            select_first_attempts(made, 4),
            select_first_attempts(made),
            made,
        )
    ]
    assert worth == sorted(worth)


def test_submission_pool_keeps_bounded_candidates_without_tests() -> None:
    pool = SubmissionPool(3)
    for n in range(500):
        pool.add(candidate(f"k{n}", (1, 0, 0), "02-full", length=n))
    assert sum(map(len, pool._queues_by_target.values())) < 6 and len(pool._best_by_kind) <= 5
    chosen = pool.select_attempts(Budget.LIMITED)
    assert keys(chosen) == ["k499", "k498", "k497"]
    assert all(
        not subtask_result.test_results for entry in chosen for subtask_result in entry.result.subtasks
    )


@given(pools())
@example([candidate("last", number=3), candidate("best", (1, 1, 1), number=1)])
def test_decoded_submission_pool_selects_like_the_original(made: list[Attempt]) -> None:
    pool = SubmissionPool(3)
    for entry in made:
        pool.add(entry)
    decoded = SubmissionPool.deserialize(pool.serialize())
    for budget in Budget:
        assert keys(decoded.select_attempts(budget)) == keys(pool.select_attempts(budget))
