from __future__ import annotations

import asyncio
import gzip
import random
import subprocess
from pathlib import Path

import msgspec
import pytest
from support.engines import Batch, Program
from support.proctor_protocol import PlanChecker, PlanSubmission

from ioi_eval.engines.jobs.http_delivery import HttpDelivery, JobPacker, pack_content
from ioi_eval.engines.jobs.run import Frame
from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Blob, Capabilities, Job, JobFile, Problem, Test
from ioi_eval.rules.plan import Schedule
from ioi_eval.testing import FakeEngine

SERVER = Capabilities(name="server", architecture="x86_64", runtimes=("sh", "bash", "cms_ioi"))
NOISE = random.Random(7).randbytes(5000)
TEXT = "the same line again\n" * 1000


def test_small_or_incompressible_content_is_sent_uncompressed() -> None:
    for content in (b"", b"abc", b"a" * 2000, bytes(300), NOISE):
        parcel = pack_content(Blob.of(content))
        assert (parcel.packed, parcel.content.read()) == (False, content)


def test_compressible_content_is_sent_as_gzip() -> None:
    parcel = pack_content(Blob.of(TEXT))
    assert parcel.packed and gzip.decompress(parcel.content.read()) == TEXT.encode()
    assert parcel.weight < len(TEXT) // 20


def test_file_edited_after_hashing_is_judge_failure(tmp_path: Path) -> None:
    (tmp_path / "1.out").write_text("3\n")
    content = Blob.of_file(tmp_path / "1.out")
    (tmp_path / "1.out").write_text("4\n")
    with pytest.raises(JudgeFailure, match=r"1\.out was edited"):
        pack_content(content)
    (tmp_path / "1.out").write_text("3\n")
    assert pack_content(content).content.read() == b"3\n"


def test_weight_of_packed_content_is_its_size_in_the_request() -> None:
    assert pack_content(Blob.of("a\n\x00")).weight == len('"a\\n\\u0000"')
    assert pack_content(Blob.of(b"\xff" * 300)).weight == 400


def job(*files: JobFile) -> Job:
    return Job(files=(JobFile(name="data", content=Blob.of("first")), *files))


def said(script: str, folder: Path) -> str:
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


async def test_packed_job_script_unpacks_its_files(tmp_path: Path) -> None:
    path = tmp_path / "somewhere"
    path.write_text(TEXT)
    shipped = await JobPacker().shipped(
        job(
            JobFile(name="run", content=Blob.of("./a\\ program t/1.in\n")),
            JobFile(name="t/1.in", content=Blob.of_file(path)),
            JobFile(name="a program", content=Blob.of("#!/bin/sh\nwc -c < $1\n"), executable=True),
        ),
        "run",
        SERVER,
    )
    assert [file.name for file in shipped.files] == ["run", "data", "t/1.in.gz", "a program"]
    assert all(file.content.path is None and not file.executable for file in shipped.files)
    assert shipped.runtime == "bash"
    for file in shipped.files:
        (tmp_path / file.name).parent.mkdir(exist_ok=True)
        (tmp_path / file.name).write_bytes(file.content.read())
    script = (tmp_path / "run").read_text().replace("a\\ program", "'a program'")
    assert said(script, tmp_path) == str(len(TEXT))


async def test_folders_with_only_subfolders_get_marker_file() -> None:
    deep = [JobFile(name=name, content=Blob.of("deep")) for name in ("a/b/c/d.txt", "e/f.txt", "e/g/h.txt")]
    shipped = await JobPacker().shipped(job(*deep, JobFile(name="run", content=Blob.of(""))), "run", SERVER)
    names = [file.name for file in shipped.files]
    assert names == ["run", "data", *(file.name for file in deep), "a/.ioi-eval", "a/b/.ioi-eval"]


async def test_same_content_is_compressed_once(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_text(TEXT)
    shipping, blob = JobPacker(), Blob.of_file(path)
    parcels = await asyncio.gather(*(shipping.packed(blob) for _ in range(5)))
    path.unlink()
    assert {id(parcel) for parcel in [*parcels, await shipping.packed(blob)]} == {id(parcels[0])}


async def test_packed_contents_cache_is_bounded(tmp_path: Path) -> None:
    shipping = JobPacker(max_cached_bytes=8000)
    first, *others = [Blob.of(NOISE[: 3000 + index]) for index in range(4)]
    kept = await shipping.packed(first)
    for blob in others:
        await shipping.packed(blob)
    assert await shipping.packed(first) is not kept


async def test_content_received_as_gzip_is_forwarded_unchanged() -> None:
    shipping, came = JobPacker(), gzip.compress(TEXT.encode(), 1)
    shipping.add_packed(Blob.of(TEXT), came)
    parcel = await shipping.packed(Blob(sha256=Blob.of(TEXT).sha256, size=len(TEXT), path="/nowhere"))
    assert (parcel.packed, parcel.content.read()) == (True, came)
    assert parcel.weight == (len(came) + 2) // 3 * 4


async def test_gzip_larger_than_content_is_not_reused() -> None:
    shipping = JobPacker()
    for content in (b"abc", NOISE):
        shipping.add_packed(Blob.of(content), gzip.compress(content))
        assert not (await shipping.packed(Blob.of(content))).packed


@pytest.mark.parametrize(
    ("runtimes", "chosen"),
    [(("bash",), "bash"), (("bash", "ioi_eval"), "ioi_eval"), (("cms", "ioi_eval"), "ioi_eval")],
)
def test_shell_runtime_prefers_own_package(runtimes: tuple[str, ...], chosen: str) -> None:
    assert Capabilities(name="x", architecture="x86_64", runtimes=runtimes).shell() == chosen


@pytest.mark.parametrize(
    ("runtimes", "words"), [((), "package `bash`"), (("cms_ioi",), "or ask for classic jobs")]
)
def test_engine_without_shell_runtime_names_package_to_install(runtimes: tuple[str, ...], words: str) -> None:
    with pytest.raises(JudgeFailure, match=words):
        Capabilities(name="x", architecture="x86_64", runtimes=runtimes).shell()


@pytest.mark.parametrize("executes_plans", [False, True])
async def test_files_are_sent_as_gzip_unless_engine_executes_plans(executes_plans: bool) -> None:
    """An engine that only has the library of waiting runs the job's script, which unpacks the files."""
    capabilities = msgspec.structs.replace(
        SERVER, waiting=Blob.of("a library"), executes_plans=executes_plans
    )
    problem = Problem(id="sum", tests=(Test(name="1", input=Blob.of(TEXT), answer=Blob.of("2")),))
    program = Program(
        proctor=Blob.of("proctor"),
        submission=PlanSubmission(argv=("submission",)),
        checker=PlanChecker(kind="white-diff"),
        files=(JobFile(name="submission", content=Blob.of("program"), executable=True),),
    )
    batch = Batch(problem=problem, program=program, tests=Schedule(problem).first)
    delivery = HttpDelivery(FakeEngine())
    unpacked = delivery.job(batch, Frame(problem, batch.options).job_tests(batch.tests, "f00"), capabilities)
    shipped = await delivery.packing.shipped(unpacked, "run", capabilities)
    files = {file.name: file for file in shipped.files}
    assert shipped.plan == ("plan.json" if executes_plans else "")
    if executes_plans:
        assert files["t/0.in"].content == Blob.of(TEXT) and files["submission"].executable
    else:
        assert gzip.decompress(files["t/0.in.gz"].content.read()) == TEXT.encode()
