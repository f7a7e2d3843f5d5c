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

from ioi_eval.engines.jobs.http_delivery import GzipCache, HttpJobDelivery, encode_content_for_request
from ioi_eval.engines.jobs.piston_api import GzipBlob, decode_request, encode_request
from ioi_eval.engines.jobs.run import PlanTemplate
from ioi_eval.errors import JobRejected, JudgeFailure
from ioi_eval.models import Blob, Capabilities, Job, JobFile, Problem, Test
from ioi_eval.rules.plan import Schedule
from ioi_eval.testing import FakeEngine

SERVER = Capabilities(name="server", architecture="x86_64", runtimes=("sh", "bash", "cms_ioi"))
NOISE = random.Random(7).randbytes(5000)
TEXT = "the same line again\n" * 1000


def test_small_or_incompressible_content_is_sent_uncompressed() -> None:
    for content in (b"", b"abc", b"a" * 2000, bytes(300), NOISE):
        form = encode_content_for_request(Blob.of(content))
        assert (form.is_gzip, form.data) == (False, content)


def test_compressible_content_is_sent_as_gzip() -> None:
    form = encode_content_for_request(Blob.of(TEXT))
    assert form.is_gzip and gzip.decompress(form.data) == TEXT.encode()
    assert form.request_bytes < len(TEXT) // 20


def test_file_edited_after_hashing_is_judge_failure(tmp_path: Path) -> None:
    (tmp_path / "1.out").write_text("3\n")
    content = Blob.of_file(tmp_path / "1.out")
    (tmp_path / "1.out").write_text("4\n")
    with pytest.raises(JudgeFailure, match=r"1\.out was edited"):
        encode_content_for_request(content)
    (tmp_path / "1.out").write_text("3\n")
    assert encode_content_for_request(content).data == b"3\n"


def test_request_bytes_of_content_are_its_encoded_size() -> None:
    assert encode_content_for_request(Blob.of("a\n\x00")).request_bytes == len('"a\\n\\u0000"')
    assert encode_content_for_request(Blob.of(b"\xff" * 300)).request_bytes == 400


async def sent_files(job: Job, *, named: tuple[str, ...] = ()) -> dict[str, JobFile]:
    """Return the files of a job's request, by name."""
    packed_job = await GzipCache().prepare_job_for_sending(job, SERVER)
    decoded = decode_request(encode_request(packed_job, stored_hashes=named), accepts_hashes=True)
    assert decoded.runtime == "bash"
    return {file.name: file for file in decoded.files}


def script_output(script: str, folder: Path) -> str:
    completed = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    return completed.stdout.strip()


async def test_packed_job_script_unpacks_its_files(tmp_path: Path) -> None:
    path = tmp_path / "somewhere"
    path.write_text(TEXT)
    job = Job(
        files=(
            JobFile(name="run", content=Blob.of("./'a program' 't/an input'\n")),
            JobFile(name="t/an input", content=Blob.of_file(path)),
            JobFile(name="data", content=Blob.of("first")),
            JobFile(name="a program", content=Blob.of("#!/bin/sh\nwc -c < $1\n"), executable=True),
        )
    )
    files = await sent_files(job)
    assert [*files] == ["run", "t/an input.gz", "data", "a program"]
    for file in files.values():
        (tmp_path / file.name).parent.mkdir(exist_ok=True)
        (tmp_path / file.name).write_bytes(file.content.read())
    assert script_output((tmp_path / "run").read_text(), tmp_path) == str(len(TEXT))


async def test_content_that_server_keeps_is_not_unpacked_by_the_script() -> None:
    stored_blob, other = Blob.of(TEXT), Blob.of(TEXT * 2)
    files = (JobFile(name="kept", content=stored_blob), JobFile(name="other", content=other))
    run = JobFile(name="run", content=Blob.of("true\n"))
    sent = await sent_files(Job(files=(run, *files)), named=(stored_blob.sha256,))
    assert [*sent] == ["run", "kept", "other.gz"] and sent["kept"].content.data is None
    script = sent["run"].content.read()
    assert b"other.gz" in script and b"kept" not in script


async def test_job_for_local_engine_keeps_uncompressed_files() -> None:
    """The gzip form belongs to requests: other engines read a file as it is."""
    run, file = JobFile(name="run", content=Blob.of("true\n")), JobFile(name="in", content=Blob.of(TEXT))
    packed_job = await GzipCache().prepare_job_for_sending(Job(files=(run, file)), SERVER)
    assert [(file.name, file.content.read()) for file in packed_job.files] == [
        ("run", b"true\n"),
        ("in", TEXT.encode()),
    ]


def test_gzip_file_whose_sent_name_is_taken_is_rejected() -> None:
    packed = GzipBlob(**msgspec.structs.asdict(Blob.of(TEXT)), gzip=gzip.compress(TEXT.encode()))
    contents = {"run": Blob.of("true"), "in": packed, "in.gz": Blob.of("another file")}
    job = Job(files=tuple(JobFile(name=name, content=content) for name, content in contents.items()))
    with pytest.raises(JobRejected, match=r"'in\.gz' occurs twice"):
        encode_request(job)


async def test_folders_with_only_subfolders_get_marker_file() -> None:
    deep = [JobFile(name=name, content=Blob.of("deep")) for name in ("a/b/c/d.txt", "e/f.txt", "e/g/h.txt")]
    files = await sent_files(Job(files=(JobFile(name="run", content=Blob.of("")), *deep)))
    assert [*files] == ["run", *(file.name for file in deep), "a/.ioi-eval", "a/b/.ioi-eval"]


async def test_same_content_is_compressed_once(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_text(TEXT)
    cache, blob = GzipCache(), Blob.of_file(path)
    contents = await asyncio.gather(*(cache.compress_content(blob) for _ in range(5)))
    path.unlink()
    contents.append(await cache.compress_content(blob))
    assert len({id(content.gzip) for content in contents if isinstance(content, GzipBlob)}) == 1


async def test_packed_contents_cache_is_bounded(tmp_path: Path) -> None:
    cache, path = GzipCache(max_cached_bytes=8000), tmp_path / "first"
    path.write_bytes(NOISE[:3000])
    first, *other_blobs = [Blob.of_file(path), *(Blob.of(NOISE[: 3001 + index]) for index in range(3))]
    for blob in (first, *other_blobs):
        await cache.compress_content(blob)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        await cache.compress_content(first)


async def test_content_received_as_gzip_is_forwarded_unchanged() -> None:
    cache, came = GzipCache(), gzip.compress(TEXT.encode(), 1)
    cache.cache_gzip_form(Blob.of(TEXT), came)
    content = Blob(sha256=Blob.of(TEXT).sha256, size=len(TEXT), path="/nowhere")
    packed = await cache.compress_content(content)
    assert isinstance(packed, GzipBlob) and packed.gzip == came
    assert (
        await cache.count_request_bytes(content)
        == (len(came) + 2) // 3 * 4 + await cache.count_request_bytes(Blob.of("")) - 2
    )


async def test_gzip_larger_than_content_is_not_reused() -> None:
    cache = GzipCache()
    for content in (b"abc", NOISE):
        cache.cache_gzip_form(Blob.of(content), gzip.compress(content))
        assert not isinstance(await cache.compress_content(Blob.of(content)), GzipBlob)


@pytest.mark.parametrize(
    ("runtimes", "chosen"),
    [(("bash",), "bash"), (("bash", "ioi_eval"), "ioi_eval"), (("cms", "ioi_eval"), "ioi_eval")],
)
def test_shell_job_uses_ioi_eval_runtime_if_server_has_it(runtimes: tuple[str, ...], chosen: str) -> None:
    assert Capabilities(name="x", architecture="x86_64", runtimes=runtimes).find_shell_runtime() == chosen


@pytest.mark.parametrize(
    ("runtimes", "message"), [((), "package `bash`"), (("cms_ioi",), "or ask for classic jobs")]
)
def test_engine_without_shell_runtime_names_package_to_install(
    runtimes: tuple[str, ...], message: str
) -> None:
    with pytest.raises(JudgeFailure, match=message):
        Capabilities(name="x", architecture="x86_64", runtimes=runtimes).find_shell_runtime()


@pytest.mark.parametrize("executes_plans", [False, True])
async def test_files_are_sent_as_gzip_unless_engine_executes_plans(executes_plans: bool) -> None:
    """The job's script unpacks the files. An engine that executes plans itself does not run the script."""
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
    delivery = HttpJobDelivery(FakeEngine())
    unpacked = delivery.make_job(
        batch, PlanTemplate(problem, batch.options).select_job_tests(batch.tests, "f00"), capabilities
    )
    packed_job = await delivery.contents.prepare_job_for_sending(unpacked, capabilities)
    files = {file.name: file for file in packed_job.files}
    assert packed_job.plan == ("plan.json" if executes_plans else "") and files["submission"].executable
    content = files["t/0.in"].content
    assert content.read() == TEXT.encode() and isinstance(content, GzipBlob) is not executes_plans
