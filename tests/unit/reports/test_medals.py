from __future__ import annotations

from pathlib import Path

import pytest

from ioi_eval.errors import InputError
from ioi_eval.reports.medals import ContestYear, award_medal, load_bundled_contest_years, read_contests

SIX = {f"p{n}": 100.0 for n in range(6)}
KNOWN = load_bundled_contest_years()


@pytest.mark.parametrize(
    ("year", "points", "medal"),
    [
        (2019, 414.75, "gold"),
        (2019, 414.74, "silver"),
        (2019, 329.18, "silver"),
        (2019, 250.19, "bronze"),
        (2019, 250.18, "none"),
        (2024, 600, "gold"),
        (2024, 359.70, "silver"),
        (2024, 216.97, "bronze"),
        (2024, 216.96, "none"),
        (2025, 438.30, "gold"),
        (2025, 438.29, None),
    ],
)
def test_points_above_known_cut_off_give_a_medal(year: int, points: float, medal: str | None) -> None:
    assert award_medal(year, KNOWN[year], SIX, points).medal == medal


def test_rounded_points_do_not_lose_a_medal() -> None:
    assert award_medal(2024, KNOWN[2024], SIX, sum([59.95] * 5) + 59.96 - 1e-12).medal == "gold"


def test_unknown_medal_cut_offs_give_no_medal_with_reason() -> None:
    medal_award = award_medal(2025, KNOWN[2025], SIX, 400)
    assert (medal_award.medal, medal_award.reason) == (
        None,
        "below gold, and the other cut-offs are not known",
    )


@pytest.mark.parametrize(
    ("problems", "reason"),
    [
        ({"a": 100.0}, "the contest had 6 problems, the run has 1 of that year"),
        ({**SIX, "more": 100.0}, "the contest had 6 problems, the run has 7 of that year"),
        ({**SIX, "p5": None}, "nothing was scored for p5"),
        ({**SIX, "p5": 50.0}, "the contest's problems are worth 600 points, the run's 550"),
    ],
)
def test_incomplete_problem_set_gets_reason_instead_of_medal(
    problems: dict[str, float | None], reason: str
) -> None:
    medal_award = award_medal(2024, KNOWN[2024], problems, 600)
    assert (medal_award.medal, medal_award.reason) == (None, reason)


def test_medal_table_of_user_adds_and_replaces_years(tmp_path: Path) -> None:
    table = tmp_path / "medals.toml"
    table.write_text("[2024]\ngold = 500\n[1999]\nsilver = 10.5\nproblems = 2\npoints = 20\n")
    contests = read_contests(table)
    assert contests[2019] == KNOWN[2019]
    assert contests[2024] == ContestYear(gold=500)
    assert award_medal(1999, contests[1999], {"a": 10.0, "b": 10.0}, 11).medal == "silver"
    as_json = tmp_path / "medals.json"
    as_json.write_text('{"1999": {"silver": 10.5, "problems": 2, "points": 20}}')
    assert read_contests(as_json)[1999] == contests[1999]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.toml", "[2024", "the file is not a table of medals"),
        ("m.json", "[1]", "the file is not a table of medals"),
        ("m.json", "{", "the file is not a table of medals"),
        ("m.toml", "gold = 3", "'gold' is not a year"),
        ("m.toml", "[24]\ngold = 3", "'24' is not a year"),
        ("m.toml", "2024 = 3", "field '2024'"),
        ("m.toml", "[2024]\nplatinum = 3", "platinum"),
        ("m.toml", "[2024]\ngold = 'much'", "gold"),
        ("m.toml", "[2024]\nproblems = 6", "no cut-off"),
        ("m.toml", "[2024]\ngold = 700", "not within"),
        ("m.toml", "[2024]\ngold = nan", "not within"),
        ("m.toml", "[2024]\ngold = -1", "not within"),
        ("m.toml", "[2024]\ngold = 100\nbronze = 200", "lower cut-off"),
        ("m.toml", "[2024]\ngold = 1\nproblems = 0", "at least one problem"),
    ],
)
def test_invalid_medal_table_is_input_error(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message) as raised:
        read_contests(tmp_path / name)
    assert str(tmp_path / name) in str(raised.value)


def test_unreadable_medal_table_is_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_contests(tmp_path / "none.toml")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not a table of medals"):
        read_contests(tmp_path / "binary")
