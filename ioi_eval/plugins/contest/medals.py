"""Rules by which a scoreboard awards medals to participants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

_KINDS = ("gold", "silver", "bronze")
_ICPC_MEDALS = 4  # number of participants who get each kind of medal


class MedalRule(StrEnum):
    """A rule that turns the final points into medals."""

    NONE = "none"
    IOI = "ioi"
    ICPC = "icpc"

    @property
    def report_sentence(self) -> str:
        """Return the rule as a sentence of the report, or "" without medals."""
        return {
            MedalRule.NONE: "",
            MedalRule.IOI: "Medals by the IOI's rule: gold for at least a twelfth of the participants, gold "
            "or silver for at least a quarter, and a medal for at most half of them.",
            MedalRule.ICPC: "Medals by the ICPC's rule: four gold, four silver and four bronze medals.",
        }[self]


def award_medals(rule: MedalRule, points: Sequence[float], places: Sequence[int]) -> list[str]:
    """Return the medal of each participant, or an empty string.

    Participants without points never get a medal.

    Args:
        rule: The rule.
        points: Points of all participants, the best first.
        places: Their places, from 1; participants with equal results share a place.
    """
    if rule is MedalRule.NONE:
        return ["" for _ in points]
    if rule is MedalRule.ICPC:
        medals_by_place = [kind for kind in _KINDS for _ in range(_ICPC_MEDALS)]
        return [
            medals_by_place[place - 1] if place <= len(medals_by_place) and score > 0 else ""
            for place, score in zip(places, points, strict=True)
        ]
    participant_count = len(points)
    min_gold, min_silver = (
        points[math.ceil(participant_count / divisor) - 1] if participant_count else 0.0
        for divisor in (12, 4)
    )
    # The bronze cut-off is the lowest score such that no more than half of the participants reach it.
    max_medals = participant_count // 2
    min_bronze = min(
        (score for score in points if sum(other_score >= score for other_score in points) <= max_medals),
        default=math.inf,
    )

    def choose_medal(score: float) -> str:
        if score <= 0:
            return ""
        return (
            "gold"
            if score >= min_gold
            else "silver"
            if score >= min_silver
            else "bronze"
            if score >= min_bronze
            else ""
        )

    return [choose_medal(score) for score in points]
