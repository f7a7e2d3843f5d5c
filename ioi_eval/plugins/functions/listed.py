"""HumanEval, MBPP and KodCode: entries for datasets whose tests are assertions."""

from __future__ import annotations

from ioi_eval.benchmarks.entries import BenchmarkEntry, BenchmarkFromEntry, EntryColumns

HUMANEVAL = BenchmarkEntry(
    name="humaneval",
    about="HumanEval: 164 functions in Python with a few assertions each",
    dataset="openai/openai_humaneval",
    split="test",
    time_limit=3.0,
    memory_limit=4096,
    columns=EntryColumns(
        id="task_id",
        statement="prompt",
        starter="prompt",
        assertions="test",
        function="entry_point",
        solution="prompt+canonical_solution",
    ),
)
MBPP = BenchmarkEntry(
    name="mbpp",
    about="MBPP: 974 functions in Python with three assertions each",
    dataset="google-research-datasets/mbpp",
    config="full",
    split="test",
    prefix="Mbpp/",
    time_limit=3.0,
    memory_limit=4096,
    columns=EntryColumns(
        id="task_id",
        statement="text|prompt",
        assertions="test_list",
        setup="test_setup_code|test_imports",
        solution="code",
    ),
)
KODCODE = BenchmarkEntry(
    name="kodcode",
    about="KodCode's functions in Python, where their tests are plain assertions",
    dataset="KodCode/KodCode-V1",
    known_by=("gpt_difficulty",),
    columns=EntryColumns(
        id="question_id",
        statement="question",
        assertions="test_code|test",
        difficulty="gpt_difficulty",
        tags=("subset", "style"),
        solution="solution",
    ),
)


class HumanEval(BenchmarkFromEntry):
    def __init__(self) -> None:
        super().__init__(HUMANEVAL)


class Mbpp(BenchmarkFromEntry):
    def __init__(self) -> None:
        super().__init__(MBPP)


class KodCode(BenchmarkFromEntry):
    def __init__(self) -> None:
        super().__init__(KODCODE)
