"""Programs for tests, built once for all processes of a session."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ioi_eval.store.compiling import fork_server_compiler_arguments, hash_sources, proctor_compiler_arguments

SOURCES = Path(__file__).parents[2] / "graders" / "proctor"
WARNINGS = ("-Wall", "-Wextra", "-Werror")
SANITIZERS = (
    "-g1",
    "-O0",  # compiling all sources as a single unit is the slowest step
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-static-libasan",
    "-static-libubsan",
    "-include",
    str(Path(__file__).parent / "sanitizers.cpp"),
)


def built_once(binary: Path, build: Callable[[Path], object]) -> Path:
    """Return `binary`, a file or folder, after `build` has created it, here or in another process."""
    with binary.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            unfinished = binary.with_suffix(".new")
            build(unfinished)
            unfinished.rename(binary)
    return binary


def of_these_sources(name: str) -> str:
    """Return a file name that changes with the proctor's sources, so that no older proctor is used."""
    contents = b"".join(path.read_bytes() for path in sorted(SOURCES.iterdir()) if path.is_file())
    return f"{name}-{hashlib.sha256(contents).hexdigest()[:16]}"


def build_proctor(flags: Sequence[str], output: Path) -> None:
    arguments = proctor_compiler_arguments([path.name for path in SOURCES.glob("*.cpp")], str(output))
    # later flags override earlier flags
    subprocess.run(["g++", *arguments, *WARNINGS, *flags], check=True, cwd=SOURCES)


def build_sanitized(output: Path) -> None:
    """Build with AddressSanitizer and UndefinedBehaviorSanitizer, which do not support static programs."""
    arguments = proctor_compiler_arguments([path.name for path in SOURCES.glob("*.cpp")], str(output))
    supported = [argument for argument in arguments if argument not in ("-static", "-s", "-O1")]
    subprocess.run(["g++", *SANITIZERS, *supported, *WARNINGS], check=True, cwd=SOURCES)


def build_counted(counters: Path, output: Path) -> None:
    """Build a proctor that counts executed lines in the file `counters`, for `tools/coverage`."""
    options = ["-std=c++17", "-static", "-g", "-O0", "-w", "-o", str(output), f'-DCOUNTED="{counters}"']
    counted = [
        "-fprofile-instr-generate=/dev/null",
        "-fcoverage-mapping",
        "-mllvm",
        "-runtime-counter-relocation",
    ]
    names = [path.name for path in SOURCES.glob("*.cpp") if path.name != "main.cpp"]
    includes = [argument for name in sorted(names) for argument in ("-include", name)]
    ours = ["-Wl,--wrap=syscall", "-include", str(Path(__file__).with_name("counted.cpp"))]
    subprocess.run(["clang++", *options, *counted, *ours, *includes, "main.cpp"], check=True, cwd=SOURCES)


def build_program(code: str, output: Path) -> None:
    source = output.with_suffix(".cpp")
    source.write_text(code)
    subprocess.run(["g++", "-O1", "-w", "-static", "-s", "-o", str(output), str(source)], check=True)


def by_word(head: str, bodies: Mapping[str, str], argument: int = 1) -> str:
    """Return a program whose behavior an argument selects, so that many tests need one build."""
    branches = "".join(
        f'  if (!std::strcmp(argv[{argument}], "{name}")) {{ {body} return 0; }}\n'
        for name, body in bodies.items()
    )
    return f"#include <cstring>\n{head}\nint main(int argc, char** argv) {{\n{branches}  return 99;\n}}\n"


def waiting_library(binaries: Path, name: str, flags: Sequence[str]) -> bytes:
    """Return the fork server's library, built from these sources."""

    def build(output: Path) -> None:
        subprocess.run(
            ["g++", *fork_server_compiler_arguments(str(output)), *WARNINGS, *flags],
            check=True,
            cwd=SOURCES.parent,
        )

    return built_once(binaries / f"{name}-{hash_sources(SOURCES.parent)[:16]}", build).read_bytes()
