"""The package for Piston servers has the layout of installed packages, and works."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from server_helpers import API, Caller

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.errors import InputError
from ioi_eval.server import Server, ServerOptions
from ioi_eval.server.packaging import SERVER_FOLDER, install_package, publish_package
from ioi_eval.store.resources import piston_folder

FILES = {"compile", "environment", "pkg-info.json", "run"}
NOT_KEPT = {"PWD", "OLDPWD", "_", "SHLVL"}  # variables that an installing server drops


def package_variables(folder: Path) -> dict[str, str]:
    """Return the environment variables of a server at installation, as bash reads them."""
    command = ["/usr/bin/env", "-i", "bash", "-c", f"cd {folder}; source environment; env"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    pairs = dict(line.split("=", 1) for line in lines)
    return {name: value for name, value in pairs.items() if name not in NOT_KEPT}


def kept(folder: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in (folder / ".env").read_text().splitlines())


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    folder = tmp_path / "gcc"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "our-compiler").write_text("#!/bin/sh\necho compiled\n")
    (folder / "bin" / "our-compiler").chmod(0o755)
    return folder


def test_installed_package_folder_has_the_layout_of_piston(tmp_path: Path) -> None:
    package_folder = install_package(tmp_path / "packages")
    assert package_folder == tmp_path / "packages" / "ioi_eval" / "1.0.0"
    assert {path.name for path in package_folder.iterdir()} == FILES | {".env", ".ppman-installed"}
    assert re.fullmatch(r"\d{13}", (package_folder / ".ppman-installed").read_text())
    info = json.loads((package_folder / "pkg-info.json").read_text())
    assert (info["language"], info["version"], info["aliases"]) == ("ioi_eval", "1.0.0", [])
    assert all(os.access(package_folder / name, os.X_OK) for name in ("compile", "run"))
    assert kept(package_folder) == package_variables(package_folder)


def test_packaged_compiler_is_on_path_of_server(tmp_path: Path, compiler: Path) -> None:
    package_folder = install_package(tmp_path / "packages", compiler=compiler)
    variables = {
        name: value.replace(SERVER_FOLDER, str(tmp_path / "packages"))
        for name, value in kept(package_folder).items()
    }
    assert variables == package_variables(package_folder)
    assert variables["PATH"].startswith(f"{package_folder}/compiler/bin:")
    reinstalled = install_package(tmp_path / "packages")
    assert (reinstalled / "compiler" / "bin" / "our-compiler").exists(), "it stays until it is replaced"
    with pytest.raises(InputError, match="the compiler's folder has no subfolder bin/"):
        install_package(tmp_path / "packages", compiler=tmp_path)


@pytest.fixture
def precompiler(compiler: Path) -> Path:
    """Return a g++ that records its arguments instead of writing a header of 120 MB."""
    tool = compiler / "bin" / "g++"
    tool.write_text('#!/bin/sh\necho "$@" > header; cat wrapper.hpp >> header\n')
    tool.chmod(0o755)
    return compiler


def test_packaged_headers_are_compiled_by_packaged_compiler(
    tmp_path: Path, precompiler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    umask_before = os.umask(0o077)
    try:
        package_folder = install_package(
            tmp_path / "packages", compiler=Path("gcc"), headers=("gnu++17", "c++20", "c++20")
        )
    finally:
        os.umask(umask_before)
    modes = {path.stat().st_mode & 0o777 for path in (package_folder / "headers").rglob("*")}
    assert modes == {0o755, 0o644}, "jobs run as separate users"
    headers = (package_folder / "headers").glob("*/bits/stdc++.h.gch")
    compiled_headers = {path.parents[1].name: path.read_text() for path in headers}
    assert compiled_headers.keys() == {"gnu++17", "gnu++20"}
    assert all(f"-std={name} -O2" in content for name, content in compiled_headers.items()), compiled_headers
    assert all(content.endswith("#include <bits/stdc++.h>\n") for content in compiled_headers.values()), (
        compiled_headers
    )
    variables = {
        name: value.replace(SERVER_FOLDER, str(tmp_path / "packages"))
        for name, value in kept(package_folder).items()
    }
    assert (
        variables == package_variables(package_folder)
        and variables["IOI_EVAL_HEADERS"] == f"{package_folder}/headers"
    )
    reinstalled = install_package(tmp_path / "packages")
    assert (reinstalled / "headers").is_dir() and kept(reinstalled)["IOI_EVAL_HEADERS"], (
        "they stay until they are replaced"
    )
    reinstalled = install_package(tmp_path / "packages", headers=("gnu++23",))
    [made_by_its_own] = (reinstalled / "headers").glob("*/bits/stdc++.h.gch")
    assert "-std=gnu++23" in made_by_its_own.read_text()
    reinstalled = install_package(tmp_path / "packages", compiler=precompiler)
    assert not (reinstalled / "headers").exists(), "they are from another compiler"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("python", "'python' has no header to precompile"),
        ("c++", "'c\\+\\+' has no header to precompile. .*gnu\\+\\+17"),
        ("gnu++2020", "unknown language"),
    ],
)
def test_header_for_unsupported_standard_is_input_error(
    tmp_path: Path, precompiler: Path, name: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        install_package(tmp_path / "packages", compiler=precompiler, headers=(name,))
    (precompiler / "bin" / "g++").write_text("#!/bin/sh\necho no such standard >&2; exit 1\n")
    package_folder = install_package(tmp_path / "packages", compiler=precompiler)
    files_before = {path.name: path.read_bytes() for path in package_folder.iterdir() if path.is_file()}
    with pytest.raises(InputError, match=r"cannot precompile bits/stdc.*no such standard"):
        install_package(tmp_path / "packages", compiler=precompiler, headers=("gnu++26",))
    assert files_before == {
        path.name: path.read_bytes() for path in package_folder.iterdir() if path.is_file()
    }
    (precompiler / "bin" / "g++").unlink()
    with pytest.raises(InputError, match=r"cannot precompile: g.. was not found"):
        publish_package(tmp_path, "http://x", compiler=precompiler, headers=("gnu++26",))


def test_package_limits_equal_compose_limits() -> None:
    """A server with stock limits then accepts ioi-eval's jobs."""
    limits = json.loads((piston_folder() / "package" / "metadata.json").read_text())["limit_overrides"]
    lines = (piston_folder() / "limits.env").read_text().splitlines()
    compose_limits = dict(
        line.removeprefix("PISTON_").split("=") for line in lines if line.startswith("PISTON_")
    )
    assert limits == {name: int(compose_limits[name.upper()]) for name in limits}


def test_published_index_lists_package(tmp_path: Path, compiler: Path, precompiler: Path) -> None:
    (tmp_path / "index").write_text("\nbash,5.2.0,abc,http://x/bash\nioi_eval,1.0.0,old,http://x/old\n")
    line = publish_package(tmp_path, "http://10.0.0.5:8000/", compiler=compiler, headers=("gnu++20",))
    archive = tmp_path / "ioi_eval-1.0.0.pkg.tar.gz"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert str(line) == f"ioi_eval,1.0.0,{digest},http://10.0.0.5:8000/{archive.name}"
    assert (tmp_path / "index").read_text() == f"bash,5.2.0,abc,http://x/bash\n{line}\n"
    (tmp_path / "installed").mkdir()
    subprocess.run(["tar", "xzf", archive], cwd=tmp_path / "installed", check=True)  # like a server
    unpacked = {path.name for path in (tmp_path / "installed").iterdir()}
    assert unpacked == FILES | {"compiler", "headers"}
    package_folder = tmp_path / "installed"
    assert package_variables(package_folder)["IOI_EVAL_HEADERS"] == f"{package_folder}/headers"
    assert (package_folder / "headers/gnu++20/bits/stdc++.h.gch").is_file()
    assert os.access(tmp_path / "installed" / "compiler" / "bin" / "our-compiler", os.X_OK)
    second_line = publish_package(tmp_path, "http://10.0.0.5:8000", compiler=compiler, headers=("gnu++20",))
    assert second_line == line, "packaging is reproducible"


@pytest.mark.parametrize("write", [install_package, partial(publish_package, url="http://10.0.0.5:8000")])
def test_folder_without_bin_is_refused_as_compiler(tmp_path: Path, write: Callable[..., Any]) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="the compiler's folder has no subfolder bin/"):
        write(tmp_path / "packages", compiler=tmp_path / "empty")
    assert not (tmp_path / "packages" / "index").exists()


@pytest.mark.parametrize("url", ["10.0.0.5:8000", "http://", "http://x/a,b", "http://x/a b", "http://x\ny"])
def test_publish_refuses_url_that_servers_cannot_fetch(tmp_path: Path, url: str) -> None:
    """A server splits lines of the index at commas, and needs a URL with a scheme."""
    with pytest.raises(InputError, match="cannot download packages from"):
        publish_package(tmp_path / "www", url)
    assert not (tmp_path / "www").exists()


async def test_installed_package_runs_jobs_with_its_limits(
    tmp_path: Path, store: Store, compiler: Path
) -> None:
    install_package(tmp_path / "packages", compiler=compiler)
    engine = EmbeddedEngine(store=store, slots=1, packages=(tmp_path / "packages",))
    files = [
        {"name": "compile", "content": 'our-compiler > built; echo "$@" >> built'},
        {"name": "run", "content": 'cat built; echo "$0 $*"; cat'},
    ]
    job = {"language": "ioi_eval", "version": "1.0.0", "files": files, "args": ["a"], "stdin": "in"}
    async with (
        engine,
        Server(engine, ServerOptions(port=0, run_timeout=1000)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call = Caller(session)
        status, reply = await call.post(f"{API}/execute", json=job | {"run_timeout": 900_000})
        assert status == 200, reply
        assert reply["run"]["stdout"] == "compiled\ncompile run\nrun compile a\nin\n"
        assert reply["compile"]["code"] == 0
        for name in ("compile", "run"):  # either of the two is enough
            single_file = [{"name": name, "content": "echo alone"}]
            status, reply = await call.post(f"{API}/execute", json=job | {"files": single_file})
            assert reply[name]["stdout"] == "alone\n", reply
            assert reply["compile"]["code"] == reply["run"]["code"] == 0
        status, reply = await call.post(f"{API}/execute", json=job | {"run_timeout": 900_001})
        assert reply == {"message": "run_timeout cannot exceed the configured limit of 900000"}
