"""Merge the shards of a run into a single folder."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ioi_eval.model.errors import InputError
from ioi_eval.model.text import format_count
from ioi_eval.rules.shards import Shard
from ioi_eval.runs.references import REFERENCES
from ioi_eval.store.folder import (
    REJECTED,
    MeasuredLimit,
    RunInfo,
    list_fingerprint_changes,
    read_failures,
    read_info,
    read_limits,
    read_rows,
    write_limits,
)
from ioi_eval.store.result_log import ResultLog
from ioi_eval.store.tasks import read_human_results, read_tasks, write_human_results, write_tasks

LIMIT = "limit"  # name of a run's setting with the maximum number of rows
_ENGINE, _COMMAND = "engine", "command"  # names of settings that may differ between shards
_SUFFIX = re.compile(r"-shard-[0-9]+-of-[0-9]+$")


class ShardFolder(NamedTuple):
    """A run's folder with the rows of a shard."""

    folder: Path
    info: RunInfo
    shard: Shard


def find_shards(folders: Sequence[Path]) -> list[ShardFolder]:
    """Return the shards in several folders, by number, or nothing if no folder is a shard.

    Raises:
        InputError: A shard occurs twice, a folder is not a shard, or the shards belong to different runs.
    """
    info_by_folder = {folder: read_info(folder) for folder in folders if folder.is_dir()}
    shards = [
        ShardFolder(folder, info, Shard.parse(info.shard))
        for folder in folders
        if (info := info_by_folder.get(folder)) is not None and info.shard and not info.merged
    ]
    if not shards or len(folders) == 1:
        return []
    first_shard, *other_shards = shards
    if folders_without_shard := [
        folder for folder in folders if folder not in {shard.folder for shard in shards}
    ]:
        raise InputError(
            f"the folder does not contain a shard, unlike {first_shard.folder}",
            where=str(folders_without_shard[0]),
            remedy="Name only the folders of one run's shards. To compare runs, name their merged folders",
        )
    for other in other_shards:
        if differences := _find_differences(first_shard, other):
            raise InputError(
                f"the folder does not contain a shard of the run in {first_shard.folder}:"
                f" {'; '.join(differences)}",
                where=str(other.folder),
                remedy="Name only the folders of one run's shards, or score this"
                " shard again with the options of the others",
            )
    folder_by_number = dict[int, Path]()
    for shard in shards:
        if shard.shard.index in folder_by_number:
            reason = f"shard {shard.shard} is in {folder_by_number[shard.shard.index]} already"
            raise InputError(reason, where=str(shard.folder), remedy="Name one folder for each shard")
        folder_by_number[shard.shard.index] = shard.folder
    return sorted(shards, key=lambda shard: shard.shard.index)


def _find_differences(shard: ShardFolder, other_shard: ShardFolder) -> list[str]:
    """Return the reasons why two shards do not belong to the same run."""
    fingerprint, other_fingerprint = shard.info.fingerprint, other_shard.info.fingerprint
    differences = [
        f"{name}: {value} -> {other_value}"
        for name, value, other_value in (
            ("number of shards", shard.shard.number, other_shard.shard.number),
            ("limit of rows", *(each_shard.info.settings.get(LIMIT) for each_shard in (shard, other_shard))),
        )
        if value != other_value
    ]
    differences += list_fingerprint_changes(fingerprint, other_fingerprint, include_reading_options=True)
    # The hash of a dump is unknown if the dump was not read completely.
    were_both_dumps_read = not shard.info.unread and not other_shard.info.unread
    differences += (
        ["another dump"] if were_both_dumps_read and fingerprint.dump != other_fingerprint.dump else []
    )
    return differences + (["other problems"] if fingerprint.problems != other_fingerprint.problems else [])


def merge_shards(shards: Sequence[ShardFolder], out: Path | None) -> Path:
    """Write a folder with the rows of all shards, and return it. It replaces an earlier merged folder.

    Args:
        shards: The shards, as `find_shards` returns them.
        out: The folder. `None` means a folder next to the first shard.

    Raises:
        InputError: The folder has other content, or the shards cannot be merged.
    """
    first_shard = shards[0]
    folder = out or first_shard.folder.parent / f"{_SUFFIX.sub('', first_shard.folder.resolve().name)}-merged"
    old_info = read_info(folder)
    if old_info is not None and not old_info.merged:
        reason = "the folder contains a judged run, which the shards would replace"
        raise InputError(reason, where=str(folder), remedy="Choose another out=FOLDER for the merged run")
    limits = _merge_limits(shards)
    with ResultLog.open(
        folder,
        first_shard.info.fingerprint,
        settings=_merge_settings(shards),
        discards_earlier_run=True,
        shard=_list_present_shards(shards),
        merged_folders=[shard.folder for shard in shards],
    ) as journal:
        expected_counts = [shard.info.expected for shard in shards]
        if None not in expected_counts or any(shard.info.unread for shard in shards):
            journal.set_expected_count(
                None if None in expected_counts else sum(filter(None, expected_counts))
            )
        journal.start_run()
        for shard in shards:
            _copy_rows(shard, journal)
    _copy_problem_descriptions([shard.folder for shard in shards], folder)
    if limits:
        write_limits(folder, limits)
    return folder


def _list_present_shards(shards: Sequence[ShardFolder]) -> str:
    """Return the present shards, such as `1,3/4`, or "" if all are present."""
    shard_count = shards[0].shard.number
    return (
        ""
        if len(shards) == shard_count
        else f"{','.join(str(shard.shard.index) for shard in shards)}/{shard_count}"
    )


def _merge_settings(shards: Sequence[ShardFolder]) -> Mapping[str, Any]:
    settings = {**shards[0].info.settings, _COMMAND: ""}
    engines = [str(shard.info.settings[_ENGINE]) for shard in shards if _ENGINE in shard.info.settings]
    return settings | ({_ENGINE: ",".join(dict.fromkeys(engines))} if engines else {})


def _merge_limits(shards: Sequence[ShardFolder]) -> dict[str, MeasuredLimit]:
    """Return the limits that the shards measured. Raises InputError if two shards differ."""
    limits = dict[str, MeasuredLimit]()
    for shard in shards:
        for name, limit in read_limits(shard.folder).items():
            earlier_limit = limits.setdefault(name, limit)
            if (earlier_limit.cpu_time, earlier_limit.processes) != (limit.cpu_time, limit.processes):
                raise InputError(
                    f"the shard's measured limits of {limit.problem},"
                    f" {_format_limit(limit)}, differ from those of"
                    f" another shard, {_format_limit(earlier_limit)}",
                    where=str(shard.folder),
                    remedy="Score this shard again with fresh=True and with reuse=FOLDER of the other shard,"
                    " whose limits are then used",
                )
    return limits


def _format_limit(limit: MeasuredLimit) -> str:
    return f"{limit.cpu_time:g} s and {format_count(limit.processes, 'process', 'processes')}"


def _copy_rows(shard: ShardFolder, journal: ResultLog) -> None:
    for row in read_rows(shard.folder):
        if not shard.shard.contains(row["key"]):
            reason = f"the row {row['key']!r} does not belong to shard {shard.shard}"
            raise InputError(reason, where=str(shard.folder), remedy="Score this shard again with fresh=True")
        journal.record_result(row, is_earlier=True)
    for key, failure in read_failures(shard.folder).items():
        if key not in journal.done:
            journal.record_failure(failure)


def _copy_problem_descriptions(shards: Sequence[Path], folder: Path) -> None:
    """Copy the descriptions of problems, the results of people, and the list of rejected rows."""
    all_tasks = [read_tasks(shard) for shard in shards]
    write_tasks(
        folder,
        dict(sorted((name, task) for shard_tasks in all_tasks for name, task in shard_tasks.items())),
    )
    if people := next(
        (shard_people for shard in shards if (shard_people := read_human_results(shard)) is not None), None
    ):
        write_human_results(folder, people)
    for name in (REFERENCES, REJECTED):
        if source_file := next((shard / name for shard in shards if (shard / name).exists()), None):
            shutil.copyfile(source_file, folder / name)
