"""Capabilities merged from several servers, and which servers may join later."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from piston_loopback import Loopback, engine_on
from support.servers import EndpointReport

from ioi_eval.engines.piston.reports import (
    add_toolchains,
    check_differences,
    explain_exclusion,
    merge_capabilities,
)
from ioi_eval.errors import InputError
from ioi_eval.judge.needs import refuse_missing_packages
from ioi_eval.models import Toolchain


def tool(command: str, version: str = "12.2.0", path: str = "", build: str = "") -> Toolchain:
    path = path or f"/usr/bin/{command}"
    return Toolchain(
        command=command, path=path, version=version, identity=f"{command} {version} {path} {build}"
    )


def report(name: str, *tools: Toolchain, **fields: Any) -> EndpointReport:
    chosen = tools or (tool("g++"), tool("python3", "3.11.2"))
    defaults: dict[str, Any] = {"runtimes": ("ioi_eval", "bash"), "architecture": "x86_64"}
    return EndpointReport(
        url=f"http://{name}",
        toolchains={toolchain.command: toolchain for toolchain in chosen},
        **{**defaults, **fields},
    )


def test_common_capabilities_have_smallest_limits() -> None:
    a = report("a", max_run_time=60_000, max_body=1000, max_open_files=2048)
    b = report("b", max_run_time=30_000, max_output=7, max_open_files=240)
    c = report("c", max_compile_time=50_000, max_compile_cpu_time=40_000)
    profile = merge_capabilities([a, b, c])
    assert (profile.max_run_time, profile.max_body, profile.max_output) == (30_000, 1000, 7)
    assert (profile.max_compile_time, profile.max_run_cpu_time, profile.max_files) == (40_000, None, 100)
    assert [tool.version for tool in profile.list_toolchains("g++")] == ["12.2.0"]


def test_common_capabilities_without_limits_are_unlimited() -> None:
    profile = merge_capabilities([report("a")])
    limits = (profile.max_run_time, profile.max_compile_time, profile.max_body, profile.max_output)
    assert limits == (None,) * 4 and profile.max_files == 500


def test_common_capabilities_have_tools_and_runtimes_of_all_servers() -> None:
    a = report("a", tool("g++"), tool("go", "1.19"), runtimes=("ioi_eval",))
    b = report("b", tool("g++"), runtimes=("bash", "cms_ioi"))
    profile = merge_capabilities([a, b])
    assert list(profile.toolchains) == ["g++", "go"]
    assert profile.runtimes == ("ioi_eval", "bash", "cms_ioi") and profile.find_shell_runtime() == "ioi_eval"


def test_common_compile_time_ignores_servers_that_build_in_run_stage() -> None:
    a = report("a", runtime="ioi_eval", max_compile_time=120_000)
    b = report("b", runtime="bash", max_compile_time=10_000)
    assert (
        merge_capabilities([a, b]).max_compile_time == 120_000
        and merge_capabilities([b]).max_compile_time is None
    )


def test_different_compilers_merge_to_a_new_identity() -> None:
    a, b = report("a", tool("g++", "12.2.0")), report("b", tool("g++", "8.3.0", "/opt/g++"))
    both, reversed_merge = (merge_capabilities(order).toolchains["g++"] for order in ([a, b], [b, a]))
    assert both.version == "12.2.0, 8.3.0" and both.path == "g++"
    alone = {merge_capabilities([single]).toolchains["g++"].identity for single in (a, b)}
    assert both.identity not in alone and both.identity == reversed_merge.identity
    third = merge_capabilities([a, b, report("c", tool("g++", "9"))]).toolchains["g++"].identity
    assert third not in {both.identity, *alone}


@pytest.mark.parametrize(
    ("late", "reason"),
    [
        (report("late"), ""),
        (report("late", max_run_time=60_000), ""),
        (report("late", max_run_time=59_999), "its max_run_time is 59999"),
        (report("late", max_body=5), "its max_body is 5"),
        (report("late", architecture="aarch64"), "the run is on x86_64, it is aarch64"),
        (report("late", runtimes=("bash",)), ""),
        (report("late", runtimes=("cms",), architecture=""), "it has no runtime bash or ioi_eval"),
        (report("late", tool("g++")), "it has no python3"),
        (report("late", tool("g++", "8.3.0"), tool("python3", "3.11.2")), "its g++ 8.3.0 differs"),
    ],
)
def test_late_server_joins_only_if_it_has_common_capabilities(late: EndpointReport, reason: str) -> None:
    profile = merge_capabilities([report("a", max_run_time=60_000)])
    late = late if late.max_run_time else msgspec.structs.replace(late, max_run_time=60_000)
    misfit = explain_exclusion(profile, late, initial_capabilities=profile)
    assert misfit.startswith(reason) and bool(misfit) == bool(reason)
    other_tools = "its g++" in misfit or "no python3" in misfit
    assert explain_exclusion(profile, late) == ("" if other_tools else misfit)


def with_packages(name: str, *packages: str) -> EndpointReport:
    python = msgspec.structs.replace(tool("python3", build=" ".join(packages)), modules=packages)
    return report(name, tool("g++"), python)


def test_late_server_without_common_python_package_does_not_join() -> None:
    """A benchmark may promise the package to programs."""
    profile = merge_capabilities([with_packages("a", "numpy", "scipy"), with_packages("b", "numpy")])
    assert explain_exclusion(profile, with_packages("c", "numpy", "torch")) == ""
    assert explain_exclusion(profile, with_packages("c", "scipy")).startswith("its python3 has no numpy")
    with pytest.raises(InputError, match="may import scipy"):
        refuse_missing_packages(["numpy", "scipy"], ["python3"], profile)
    refuse_missing_packages(["numpy"], ["python3"], profile)


def test_capabilities_offer_compilers_of_current_servers() -> None:
    older, newer = report("a", tool("g++", "12")), report("b", tool("g++", "8"))
    begun = merge_capabilities([older])
    both = add_toolchains(begun, [older.toolchains, newer.toolchains])
    assert [toolchain.version for toolchain in both.list_toolchains("g++")] == ["12", "8"]
    assert both.toolchains["g++"].version == "12, 8"
    assert explain_exclusion(both, report("c", tool("g++", "9"))) == ""
    assert "differs from the versions that the run started with" in explain_exclusion(
        both, newer, initial_capabilities=begun
    )
    later = add_toolchains(both, [newer.toolchains])
    assert later.toolchains["g++"] == newer.toolchains["g++"] and later.list_toolchains("g++") == (
        tool("g++", "8"),
    )
    assert add_toolchains(later, []) == later, "without any server left, the last toolchains stay"


def test_differing_compilers_are_listed_one_line_each() -> None:
    same = [report("a"), report("b")]
    assert check_differences(same) == ()
    [line] = check_differences([*same, report("c", tool("g++", "8.3.0"), tool("python3", "3.11.2"))])
    assert (line.name, line.detail) == ("g++ differs", "12.2.0 on 2, 8.3.0 on 1") and line.ok is None
    [line] = check_differences([*same, report("c", tool("g++"))])
    assert (line.name, line.detail) == ("python3 differs", "3.11.2 on 2, none on 1")
    rebuilt = report("c", tool("g++", build="other"), tool("python3", "3.11.2"))
    assert check_differences([*same, rebuilt])[0].detail == "12.2.0 on 3, but not the same build"


async def test_same_compiler_option_refuses_servers_with_different_compilers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Loopback() as a, Loopback() as b:
        compilers = {a.url: "12.2.0", b.url: "8.3.0"}

        async def inspect(prober: object, url: str, runtimes: object = ()) -> EndpointReport:
            return msgspec.structs.replace(report("x", tool("g++", compilers[url])), url=url)

        monkeypatch.setattr("ioi_eval.engines.piston.probe.Prober.probe", inspect)
        async with engine_on(a, b, capabilities=None) as engine:
            assert engine.slots == 2
        with pytest.raises(InputError, match=r"g\+\+ differs: 12\.2\.0 on 1, 8\.3\.0 on 1"):
            await engine_on(a, b, capabilities=None, same_compiler=True).__aenter__()
        compilers[b.url] = "12.2.0"
        async with engine_on(a, b, capabilities=None, same_compiler=True) as engine:
            assert engine.slots == 2
        async with engine_on(a, capabilities=None, per_endpoint=3) as engine:
            assert engine.exclusion_reasons == {} and engine.slots == 3


def test_common_capabilities_confine_only_if_all_servers_are_workers() -> None:
    ours, other = report("a", server="Piston v3.1.1 (ioi-eval worker)"), report("b", server="Piston v3.1.1")
    assert merge_capabilities([ours]).confines
    assert not merge_capabilities([ours, other]).confines and not merge_capabilities([other]).confines
    assert "ioi-eval worker" in explain_exclusion(merge_capabilities([ours]), other)
    assert (
        explain_exclusion(merge_capabilities([other]), ours)
        == explain_exclusion(merge_capabilities([ours]), ours)
        == ""
    )


@pytest.mark.parametrize(
    ("options", "slots", "cores"),
    [({}, (None, None), 16), ({}, (4, None), 12), ({}, (4, 4), 0), ({"per_endpoint": 2}, (None, None), 0)],
)
async def test_idle_server_cores_are_counted_unless_job_number_is_given(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, int], slots: tuple[int | None, ...], cores: int
) -> None:
    async with Loopback() as a, Loopback() as b:
        says = dict(zip((a.url, b.url), slots, strict=True))

        async def inspect(prober: object, url: str, runtimes: object = ()) -> EndpointReport:
            return msgspec.structs.replace(report("x", tool("g++")), url=url, cores=8, slots=says[url])

        monkeypatch.setattr("ioi_eval.engines.piston.probe.Prober.probe", inspect)
        async with engine_on(a, b, capabilities=None, **options) as engine:
            assert engine.servers().cores == cores
