"""Points of arbitrary groups in ICPC packages equal the points of a second implementation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from kattis_reference import official_points
from support.runs import score_submission

from ioi_eval.model.fields import Faults, Fields
from ioi_eval.models import Blob, Problem, Submission, Test, TestResult, Verdict
from ioi_eval.problems.kattis.default_grader import read_pass_fail_scoring, read_scoring
from ioi_eval.problems.kattis.groups import DataGroup, list_groups
from ioi_eval.rules import verdicts as v
from ioi_eval.rules.plan import Schedule

WORDS = {
    "AC": Verdict.AC,
    "WA": Verdict.WA,
    "RTE": Verdict.RE,
    "TLE": Verdict.TLE,
    "MLE": Verdict.MLE,
    "OLE": Verdict.OLE,
}
FLAGS = st.lists(
    st.sampled_from(
        ["sum", "avg", "min", "max", "worst_error", "first_error", "always_accept", "accept_if_any_accepted"]
    ),
    max_size=3,
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "on_reject": st.sampled_from(["break", "continue"]),
        "grader_flags": FLAGS.map(" ".join),
        "accept_score": st.sampled_from([0, 1, 5, 20]),
        "reject_score": st.sampled_from([0, 0, 0, 1]),
    },
)


def folders(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    inner_folders = st.dictionaries(
        st.sampled_from("abcd"), st.one_of(st.none(), inner), min_size=1, max_size=3
    )
    return st.tuples(inner_folders, SETTINGS).map(lambda made: {**made[0], "settings": made[1]})


SECRET = st.recursive(folders(st.none()), folders, max_leaves=6)
SAMPLE = folders(st.none())


@st.composite
def packages(draw: st.DrawFn) -> dict[str, Any]:
    settings = draw(SETTINGS)
    if draw(st.booleans()):
        settings["grader_flags"] = f"{settings.get('grader_flags', '')} ignore_sample"
    data = {"secret": draw(SECRET), "settings": settings}
    return data | ({"sample": draw(SAMPLE)} if draw(st.booleans()) else {})


def group(folder: Mapping[str, Any], above: Mapping[str, Any], faults: Faults, name: str = "") -> DataGroup:
    """Return a grading tree as the package's reader builds it from a folder."""
    values = {**above, **folder["settings"]}
    below = {child: f"{name}/{child}" if name else child for child in sorted(set(folder) - {"settings"})}
    tests = [Test(name=path, input=Blob.of(path)) for child, path in below.items() if folder[child] is None]
    inner = [
        group(folder[child], values, faults, path)
        for child, path in below.items()
        if folder[child] is not None
    ]
    return DataGroup(
        name=name,
        fields=Fields(values, name, faults),
        own_keys=frozenset(folder["settings"]),
        tests=tuple(tests),
        subgroups=tuple(inner),
    )


def find_problem(data: Mapping[str, Any], *, scoring: bool) -> Problem:
    faults = Faults("p")
    root = group(data, {}, faults)
    scores = (
        read_scoring(root, faults, validator_awards_points=False)
        if scoring
        else read_pass_fail_scoring(root, faults)
    )
    assume(not faults.errors)  # for example an average of tests that stops at the first failure
    tests = tuple(test for test_group in list_groups(root) for test in test_group.tests)
    return Problem(id="p", tests=tests, subtasks=scores.subtasks)


def results(problem: Problem, draw: st.DataObject) -> tuple[dict[str, str], dict[str, TestResult]]:
    names = [test.name for test in problem.tests]
    drawn_verdicts = draw.draw(
        st.fixed_dictionaries({name: st.sampled_from(["AC", "AC", *WORDS]) for name in names})
    )
    return drawn_verdicts, {
        name: TestResult(test_name=name, score=float(verdict == "AC"), status=WORDS[verdict])
        for name, verdict in drawn_verdicts.items()
    }


SUBMISSION = Submission(key="1", problem_id="p", code="", language="c++")


@given(data=packages(), draw=st.data())
def test_kattis_points_equal_reference_implementation(data: dict[str, Any], draw: st.DataObject) -> None:
    problem = find_problem(data, scoring=True)
    drawn_verdicts, test_results = results(problem, draw)
    result = score_submission(problem, SUBMISSION, test_results)
    assert abs(result.points - official_points(data, drawn_verdicts)) < 1e-9


@given(data=packages(), draw=st.data())
def test_kattis_verdict_without_scoring_equals_reference_implementation(
    data: dict[str, Any], draw: st.DataObject
) -> None:
    problem = find_problem(data, scoring=False)
    drawn_verdicts, test_results = results(problem, draw)
    result = score_submission(problem, SUBMISSION, test_results)
    flags = {**data, "settings": {**data["settings"]}}
    accepted = bool(official_points(_only_verdicts(flags), drawn_verdicts))
    if problem.subtasks:
        assert result.points == accepted
    else:
        assert (result.points == 1) == accepted


def _only_verdicts(folder: Mapping[str, Any]) -> dict[str, Any]:
    """Return the groups with a point for each test and group, so that points show acceptance."""
    settings = {**folder["settings"], "accept_score": 1, "reject_score": 1}
    inner = {
        name: _only_verdicts(subfolder) if subfolder else subfolder
        for name, subfolder in folder.items()
        if name != "settings"
    }
    return {**inner, "settings": settings}


@given(data=packages(), draw=st.data())
def test_kattis_early_stop_keeps_points(data: dict[str, Any], draw: st.DataObject) -> None:
    problem = find_problem(data, scoring=True)
    _, test_results = results(problem, draw)
    ran: dict[str, TestResult] = {}
    schedule = Schedule(problem)
    while todo := schedule.list_tests_still_needed(ran):
        name = todo[0].test.name
        ran[name] = test_results[name]
    full = score_submission(problem, SUBMISSION, test_results)
    assert score_submission(problem, SUBMISSION, ran).points == full.points


@given(data=packages())
def test_kattis_compile_error_earns_zero(data: dict[str, Any]) -> None:
    problem = find_problem(data, scoring=True)
    result = score_submission(problem, SUBMISSION, {}, compiles=False)
    assert result.points == 0
    assert {test.status for test in result.tests} == {v.make_uncompiled_result("").status}
