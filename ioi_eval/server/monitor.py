"""The state of a run that another process writes, and counts for Prometheus."""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.quoting import quote_label
from ioi_eval.model.values import Reason, Value
from ioi_eval.reports.summary import read_valid_run_info
from ioi_eval.store.folder import FAILURES, PROGRESS, RESULTS, Activity, Progress, read_progress
from ioi_eval.store.rows import MODEL_COLUMNS, read_model_name, shorten

_READ_SIZE_BYTES = 1 << 22  # number of bytes of a file that are read at a time
_WINDOW_S = 60.0  # seconds over which the rate is computed; more if these have fewer than _MIN_ROWS rows
_MIN_ROWS, _MAX_WINDOW_S = 20, 3600.0
_SLIDE_S = 5.0  # minimum seconds between two updates of the rate without new rows
_MAX_TEXT = 500  # maximum characters of a string
_HEALTHY = "healthy"


class _Row(msgspec.Struct):
    """The columns of a row or failure that are counted."""

    key: str
    verdict: str = ""
    # Reason of the failure; its type is unknown, because a dump may have a column of this name.
    reason: Any = None
    model: Any = None
    model_id: Any = None
    model_name: Any = None
    model_kwargs: Any = None


class ModelCounts(Value):
    """A model's results so far."""

    model: str
    verdicts: Mapping[str, int]
    unscored: int


class RunState(Activity, kw_only=True):
    """The state of a run that the live page shows. Servers that are not healthy come first."""

    name: str
    command: str  # command that continues the run, and retries submissions that could not be judged
    judged: int
    unscored: int
    rate: float  # number of rows per second in the window
    tests_rate: float  # number of tests per second in the window
    left: float | None  # estimated seconds until the end of the run
    last: float | None  # time of the last row, in seconds since 1970
    models: tuple[ModelCounts, ...]
    alive: float | None  # time of the run's last sign of life, in seconds since 1970

    @property
    def rows(self) -> int:
        """Return the number of submissions that are done."""
        return self.judged + self.unscored


class _GrowingFile:
    """Reads new lines of a growing file. `on_replaced` is called when the file was replaced."""

    def __init__(self, path: Path, on_replaced: Callable[[], None]) -> None:
        self._path, self._on_replaced = path, on_replaced
        self._inode, self._offset, self._incomplete_line = 0, 0, b""
        # Time of the file's last change, as of the last time that it was read.
        self.modified_at: float | None = None

    def has_new_data(self) -> bool:
        """Return True if there is anything to read. An unchanged file must cost next to nothing."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return False
        return (status.st_ino, status.st_size) != (self._inode, self._offset)

    def read_lines(self) -> Iterator[bytes]:
        try:
            stream = self._path.open("rb")
        except FileNotFoundError:
            return
        with stream:
            status = os.fstat(stream.fileno())
            self.modified_at = status.st_mtime
            if status.st_ino != self._inode or status.st_size < self._offset:
                self._inode, self._offset, self._incomplete_line = status.st_ino, 0, b""
                self._on_replaced()
            stream.seek(self._offset)
            while piece := stream.read(_READ_SIZE_BYTES):
                self._offset += len(piece)
                *complete_lines, self._incomplete_line = (self._incomplete_line + piece).split(b"\n")
                yield from complete_lines


class RunMonitor:
    """Reads a run's state. Each call of `poll` counts new rows."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Raise InputError if the folder is not a run's."""
        self._folder, self._clock = folder, clock
        command = read_valid_run_info(folder).settings.get("command")
        self._command = command if isinstance(command, str) else ""
        self._result_file = _GrowingFile(folder / RESULTS, self._reset)
        self._failure_file = _GrowingFile(folder / FAILURES, lambda: None)
        # For each update: time, number of rows, number of tests.
        self._samples: deque[tuple[float, int, int]] = deque()
        self._model_by_failed_key: dict[str, str] = {}  # name of the model by key of the failed submission
        self._progress, self._progress_mtime = Progress(), 0
        self._state: RunState | None = None
        self._built_at = 0.0
        self._reset()

    def _reset(self) -> None:
        self._result_keys = set[str]()
        self._verdicts_by_model: dict[str, Counter[str]] = {}
        self._samples.clear()

    def poll(self) -> RunState:
        """Return the state after new rows. If nothing has changed, it is the same object as before."""
        now_s = self._clock()
        has_new_rows = self._read_rows()
        self._samples.append((now_s, len(self._result_keys), self._progress.tests))
        self._drop_old_samples(now_s)
        slide_interval = max(_SLIDE_S, (now_s - self._samples[0][0]) / _MIN_ROWS)
        is_slide_due = (
            self._state is not None and self._state.rate and now_s >= self._built_at + slide_interval
        )
        if self._state is None or has_new_rows or is_slide_due:
            self._state, self._built_at = self._build_state(), now_s
        return self._state

    def _read_rows(self) -> bool:
        """Read new lines, and return True if there are any. Lines that are not rows are ignored."""
        has_progress_changed = self._update_progress()
        if not (self._result_file.has_new_data() or self._failure_file.has_new_data()):
            return has_progress_changed
        for row in _decode_rows(self._result_file):
            if row.key not in self._result_keys:
                self._result_keys.add(row.key)
                outcome = row.reason if row.reason == Reason.NO_PROGRAM else row.verdict
                self._verdicts_by_model.setdefault(_format_model(row), Counter())[outcome] += 1
        for failure in _decode_rows(self._failure_file):
            self._model_by_failed_key[failure.key] = _format_model(failure)
        return True

    def _update_progress(self) -> bool:
        """Read progress.json, and return True if it has changed."""
        try:
            progress_mtime = (self._folder / PROGRESS).stat().st_mtime_ns
        except FileNotFoundError:
            return False
        has_changed = progress_mtime != self._progress_mtime
        if has_changed:
            self._progress, self._progress_mtime = read_progress(self._folder) or Progress(), progress_mtime
        return has_changed

    def _build_state(self) -> RunState:
        unscored_counts = Counter(
            model for key, model in self._model_by_failed_key.items() if key not in self._result_keys
        )
        progress = self._progress
        judged_count, total = len(self._result_keys), progress.total
        (first_time, first_rows, first_tests), (last_time, last_rows, last_tests) = (
            self._samples[0],
            self._samples[-1],
        )
        seconds = last_time - first_time
        rate, tests_rate = (
            max(0, increase) / seconds if seconds > 0 else 0.0
            for increase in (last_rows - first_rows, last_tests - first_tests)
        )
        waiting_count = None if total is None else max(0, total - judged_count - unscored_counts.total())
        activity_fields = {name: getattr(progress, name) for name in Activity.__struct_fields__}
        activity_fields["standings"] = tuple(
            sorted(progress.standings, key=lambda standing: standing.state == _HEALTHY)
        )
        return RunState(
            **activity_fields,
            name=self._folder.resolve().name,
            command=self._command,
            judged=judged_count,
            unscored=unscored_counts.total(),
            rate=rate,
            tests_rate=tests_rate,
            left=waiting_count / rate if waiting_count is not None and rate and not progress.ended else None,
            last=self._result_file.modified_at if judged_count else None,
            models=tuple(
                ModelCounts(
                    model=name,
                    verdicts=dict(self._verdicts_by_model.get(name, {})),
                    unscored=unscored_counts[name],
                )
                for name in sorted(self._verdicts_by_model.keys() | unscored_counts.keys())
            ),
            alive=progress.at,
        )

    def _drop_old_samples(self, now: float) -> None:
        """Drop measurements before the window: the last minute, or longer if there were few rows."""
        samples, row_count = self._samples, self._samples[-1][1]
        while len(samples) > 1:
            age_s, has_enough_rows = now - samples[0][0], row_count - samples[1][1] >= _MIN_ROWS
            if age_s <= _WINDOW_S or (age_s <= _MAX_WINDOW_S and not has_enough_rows):
                return
            samples.popleft()


def _decode_rows(file: _GrowingFile) -> Iterator[_Row]:
    decoder = msgspec.json.Decoder(_Row)
    for line in file.read_lines():
        try:
            yield decoder.decode(require_shallow(line))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue


def _format_model(row: _Row) -> str:
    columns = {name: getattr(row, name) for name in (*MODEL_COLUMNS, "model_kwargs")}
    return shorten(read_model_name(columns), _MAX_TEXT)


def format_prometheus(state: RunState) -> str:
    """Return the state in Prometheus' text format."""
    lines = ["# TYPE ioi_eval_run_submissions gauge"]
    for model in state.models:
        counts = {**model.verdicts, "unscored": model.unscored}
        lines += [
            f"ioi_eval_run_submissions{{model={quote_label(model.model)},verdict={quote_label(verdict)}}} "
            f"{number}"
            for verdict, number in counts.items()
        ]
    gauges = {
        "expected": state.total,
        "rate": state.rate,
        "tests_rate": state.tests_rate,
        "seconds_left": state.left,
        "seconds_since_row": None if state.last is None else max(0.0, time.time() - state.last),
        "ended": int(state.ended),
        "under_way": state.under_way,
        "building": state.building,
        "builds_waiting": state.builds_waiting,
        "servers": state.servers,
        "slots": state.slots,
    }
    for name, value in gauges.items():
        if value is not None:
            lines += [f"# TYPE ioi_eval_run_{name} gauge", f"ioi_eval_run_{name} {value:g}"]
    for name in ("up", "slots", "busy", "rate", "errors") if state.standings else ():
        lines.append(f"# TYPE ioi_eval_run_server_{name} gauge")
        for server in state.standings:
            server_value = int(server.state == _HEALTHY) if name == "up" else getattr(server, name)
            lines.append(f"ioi_eval_run_server_{name}{{server={quote_label(server.url)}}} {server_value}")
    return "\n".join(lines) + "\n"
