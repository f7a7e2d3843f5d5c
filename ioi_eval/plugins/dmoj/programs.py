"""Read a package's own programs: interactors, bridged checkers, generators, and graders of submissions."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Fields, format_value
from ioi_eval.model.languages import find_language
from ioi_eval.model.values import CHECKER_FILES, Blob, CheckerKind, Manager, NamedBlob
from ioi_eval.plugins.dmoj.files import PackageFiles
from ioi_eval.plugins.dmoj.keys import DmojHeader, ProgramKeys
from ioi_eval.problems.keys import Keys
from ioi_eval.problems.names import is_portable_file_name, stays_in_folder
from ioi_eval.problems.package import (
    TESTLIB,
    TESTLIB_REMEDY,
    collect_program_files,
    language_of,
    read_source_text,
)

_KINDS: Mapping[str, CheckerKind] = MappingProxyType(
    {"default": CheckerKind.EXIT_CODE, "testlib": CheckerKind.TESTLIB, "coci": CheckerKind.TESTLIB}
)
# First line of every source that is compiled with a grader.
_SIGNATURE_DEFINITION = "#define SIGNATURE_GRADER\n"


def read_program(folder: Path, fields: Fields) -> Manager | None:
    """Return an interactor, a checker or a generator, or None after a fault."""
    keys = ProgramKeys.from_fields(fields)
    kind = keys.type
    report_unsupported_program_keys(keys)
    files = keys.files
    file_names = [files] if isinstance(files, str) else files if isinstance(files, list) else []
    existing_names = [
        name
        for name in file_names
        if isinstance(name, str) and stays_in_folder(name) and (folder / name).is_file()
    ]
    if not file_names or existing_names != file_names:
        keys.report_fault(
            "files", f"{format_value(files)} is not in the package", "Name its source, then its other files"
        )
        return None
    source_names = [name for name in existing_names if language_of(name)]
    if len(source_names) != 1:
        keys.report_fault(
            "files", f"{len(source_names)} sources", "Name one source; it may include the other files"
        )
        return None
    language = _find_language(keys, source_names[0])
    try:
        source_path = folder / source_names[0]
        program_files = collect_program_files(
            source_names[0], read_source_text(source_path), source_path.parent, folder, folder.parent
        )
    except InputError as error:
        keys.report_fault("files", error.problem, TESTLIB_REMEDY)
        return None
    other_names = (name for name in existing_names if name not in (source_names[0], TESTLIB))
    other_files = tuple(NamedBlob(name=name, content=Blob.of_file(folder / name)) for name in other_names)
    return Manager(
        sources=(*program_files, *other_files),
        language=language,
        kind=_KINDS[kind],
        given=_read_arguments(keys),
    )


def report_unsupported_program_keys(keys: Keys) -> None:
    """Report flags for the compiler, which are not supported, and unknown keys."""
    if keys.raw_value("flags"):
        keys.report_fault("flags", "programs of a package are built without own flags", "Remove it")
    keys.check_keys()


def _read_arguments(keys: ProgramKeys) -> tuple[str, ...]:
    """Return a program's arguments, with the names that its files have when it runs."""
    format_string = keys.args_format_string
    for role, name in CHECKER_FILES.items():
        format_string = format_string.replace(f"{{{role}_file}}", name)
    try:
        arguments = shlex.split(format_string)
    except ValueError as error:
        arguments = [f"{{{error}}}"]
    unknown_argument = next((argument for argument in arguments if re.search("[{}]", argument)), None)
    if unknown_argument is not None:
        remedy = "Use {input_file}, {output_file} and {answer_file}"
        keys.report_fault("args_format_string", f"{unknown_argument!r} is not supported", remedy)
    return tuple(arguments)


def _find_language(keys: ProgramKeys, source: str) -> str:
    """Return the language of a program. Another language than C++, C and Python is a fault."""
    dmoj_name = ProgramKeys.lang.read(keys, language_of(source) or "")
    language = find_language_name(dmoj_name)
    if language in ("c++", "c", "python"):
        return language
    keys.report_fault("lang", f"it is in {dmoj_name}", "Expected C++, C or Python")
    return "c++"


def find_language_name(name: str) -> str:
    """Return this judge's name of a language, or `name` if the language is unknown."""
    try:
        return find_language(name).name
    except InputError:
        return name


def read_graders_and_prelude(header: DmojHeader, files: PackageFiles) -> tuple[tuple[NamedBlob, ...], str]:
    """Return the files that submissions are compiled with, and the lines before the submission's code."""
    if not header.has_field("signature_grader"):
        return (), ""
    keys = header.signature_grader
    keys.check_keys()
    content_by_key = dict[str, bytes]()
    for key, file_name in (("entry", keys.entry), ("header", keys.grader_header)):
        content = files.read_content(file_name) if file_name else None
        if file_name and (content is None or not is_portable_file_name(file_name)):
            keys.report_fault(
                key, f"there is no file {file_name!r} in the package", "Add it, or correct the name"
            )
        content_by_key[key] = content.read() if content is not None else b""
    header_name = keys.grader_header or "header.h"
    suffixes = (".c", ".cpp") if keys.entry.endswith(".c") else (".cpp",)
    prelude = f'{_SIGNATURE_DEFINITION}#include "{header_name}"\n'
    if not keys.allow_main:
        prelude += "#define main main_of_the_submission\n"
    grader = _SIGNATURE_DEFINITION.encode() + b"#line 1\n" + content_by_key["entry"]
    content_by_name = {f"graders/grader{suffix}": grader for suffix in suffixes}
    content_by_name[f"graders/{header_name}"] = content_by_key["header"]
    graders = (
        NamedBlob(name=file_name, content=Blob.of(content)) for file_name, content in content_by_name.items()
    )
    return tuple(graders), prelude
