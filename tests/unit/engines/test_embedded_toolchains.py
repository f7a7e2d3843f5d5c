from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from support.cached_lookups import cached_toolchains
from support.engines import LANGUAGES

from ioi_eval.engines.embedded import toolchains
from ioi_eval.engines.embedded.toolchains import (
    find_command,
    find_compiler,
    find_haskell,
    find_interpreters,
    find_java,
    find_linking_compiler,
    find_python,
    is_executable_by_everyone,
    is_in_system_folder,
)


def program(path: Path, script: str = "#!/bin/sh\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.parent.chmod(0o755)
    path.write_text(script)
    path.chmod(mode)
    return path


def test_toolchains_of_machine_are_found() -> None:
    compiler, python = find_compiler(), find_python()
    assert compiler is not None and compiler.command == "g++"
    assert Path(compiler.path).is_absolute() and str(Path(compiler.path).resolve()) in compiler.identity
    assert compiler.version in compiler.identity
    assert compiler == find_compiler()
    assert python is not None and python.version.startswith("3.")
    toolchains_found = cached_toolchains()
    assert (
        {"g++", "python3"}
        <= set(toolchains_found)
        <= {tool for language in LANGUAGES for tool in language.tools}
    )
    assert all(name == tool.command and tool.version for name, tool in toolchains_found.items())


def test_cached_toolchains_equal_a_new_search() -> None:
    usable = [interpreter.path for interpreter in find_interpreters() if not interpreter.why_not]
    for arguments in ((usable[-1], ()), ("", ("numpy", "pandas"))):
        assert toolchains.find_toolchains(*arguments) == cached_toolchains(*arguments)


def test_only_system_folders_are_visible_in_sandbox(base: Path) -> None:
    (base / "link").symlink_to("/usr/bin/env")
    assert is_in_system_folder(base / "link")
    assert not is_in_system_folder(program(base / "usr" / "tool"))


def test_java_without_javac_is_not_found(on_path: Path) -> None:
    program(on_path / "bin" / "java", "#!/bin/sh\necho 'openjdk version \"21\" 2023-09-19' >&2\n")
    assert find_java() is None
    program(on_path / "bin" / "javac")
    java = find_java()
    assert java is not None and java.version == "21"


def test_rust_requires_linker_and_identity_includes_it(on_path: Path) -> None:
    program(on_path / "bin" / "rustc", "#!/bin/sh\necho 'rustc 1.63.0'; echo 'release: 1.63.0'\n")
    assert find_linking_compiler("rustc", "-vV") is None
    fake_compiler(on_path)
    for name in ("gcc", "cc"):
        (on_path / "bin" / name).symlink_to("g++")
    first = find_linking_compiler("rustc", "-vV")
    fake_compiler(on_path, library="another")
    second = find_linking_compiler("rustc", "-vV")
    assert first is not None and second is not None
    assert first.version == "1.63.0" and first.identity != second.identity


def test_haskell_identity_includes_gmp_and_linker(on_path: Path) -> None:
    program(on_path / "bin" / "ghc", "#!/bin/sh\necho 'version 9.0.2'\n")
    fake_compiler(on_path)
    for name in ("gcc", "cc"):
        (on_path / "bin" / name).symlink_to("g++")
    identities = set[str]()
    for library in ("one", "another"):
        (on_path / "libgmp.a").write_text(library)
        haskell, linker = find_haskell(), find_compiler("gcc")
        assert haskell is not None and linker is not None
        identities |= {haskell.identity, linker.identity}
    assert len(identities) == 3


def test_first_command_startable_by_all_is_found(base: Path) -> None:
    program(base / "no" / "tool", mode=0o750)
    program(base / "hidden" / "tool")
    (base / "hidden").chmod(0o700)
    tool = program(base / "yes" / "tool")
    program(base / "late" / "tool")
    folders = [str(base / name) for name in ("missing", "no", "hidden", "yes", "late")]
    assert find_command("tool", folders) == tool
    assert find_command("other", folders) is None


def test_command_visible_in_sandbox_is_preferred(base: Path) -> None:
    """For example if /usr/local/bin/node leads to /opt, and /usr/bin has a second node."""
    for name in ("first", "second"):
        (base / name).mkdir()
    (base / "first" / "tool").symlink_to(program(base / "opt" / "tool"))
    (base / "second" / "tool").symlink_to("/usr/bin/env")
    folders = [str(base / name) for name in ("first", "second")]
    assert find_command("tool", folders) == base / "second" / "tool"
    (base / "second" / "tool").unlink()
    assert find_command("tool", folders) == base / "first" / "tool"


def test_link_to_command_is_startable_if_target_is(base: Path) -> None:
    program(base / "hidden" / "tool")
    (base / "hidden").chmod(0o700)
    (base / "link").symlink_to(base / "hidden" / "tool")
    (base / "round").symlink_to(base / "round")
    (base / "nowhere").symlink_to(base / "gone")
    assert not any(is_executable_by_everyone(base / name) for name in ("link", "round", "nowhere"))
    (base / "hidden").chmod(0o755)
    assert is_executable_by_everyone(base / "link")


def fake_compiler(base: Path, version: str = "13.1.0", library: str = "one") -> str:
    (base / "libc.a").write_text(library)
    script = f"""#!/bin/sh
case $1 in
-v) echo "Target: vax-dec-ultrix" >&2; echo "gcc version {version} (Home)" >&2;;
-print-file-name=lib[cg]*.a) echo "{base}/${{1#*=}}";;
*) echo "${{1#*=}}";;
esac
"""
    return str(program(base / "bin" / "g++", script).parent)


@pytest.fixture
def on_path(base: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(toolchains, "find_command", partial(find_command, folders=(str(base / "bin"),)))
    return base


def identity() -> str:
    compiler = find_compiler()
    assert compiler is not None
    return compiler.identity


def test_compiler_identity_changes_with_version_and_libraries(on_path: Path) -> None:
    fake_compiler(on_path)
    first = identity()
    assert "13.1.0" in first and "vax-dec-ultrix" in first
    assert identity() == first
    fake_compiler(on_path, version="13.2.0")
    second = identity()
    fake_compiler(on_path, library="another")
    assert len({first, second, identity()}) == 3


def test_program_that_is_not_a_compiler_is_ignored(on_path: Path) -> None:
    assert find_compiler() is None
    program(on_path / "bin" / "g++", "#!/bin/sh\necho hello\n")
    assert find_compiler() is None
    program(on_path / "bin" / "g++", "not a program")
    assert find_compiler() is None
