"""SandboxFusion's routes of a worker with an embedded engine. tests/with_verl tests verl's client."""

from __future__ import annotations

import asyncio
import base64
import os
import time
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from requirements import require_language
from server_helpers import API, Caller, HeldEngine, job, until_worker_has
from support.clocks import FastForwardClock
from support.waiting import until

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.model.secret import Secret
from ioi_eval.server import Server, ServerOptions
from ioi_eval.server.queue import RequestQueue

DOUBLE = "print(2 * int(input()))"
DOUBLE_CPP = '#include <cstdio>\nint main() { int n; scanf("%d", &n); printf("%d\\n", 2 * n); }'


async def run(call: Caller, code: str, **fields: Any) -> dict[str, Any]:
    status, reply = await call.post("/run_code", json={"code": code, "language": "python", **fields})
    assert status == 200, reply
    assert isinstance(reply, dict)
    return reply


async def test_run_code_returns_output_and_exit_code(call: Caller) -> None:
    reply = await run(call, "import sys; print(input() + '!'); print('e', file=sys.stderr)", stdin="hello")
    assert (reply["status"], reply["message"], reply["compile_result"]) == ("Success", "", None)
    run_result = reply["run_result"]
    assert (run_result["status"], run_result["return_code"]) == ("Finished", 0)
    assert (run_result["stdout"], run_result["stderr"]) == ("hello!\n", "e\n")
    assert run_result["execution_time"] >= 0


@pytest.mark.parametrize(
    ("code", "fields", "code_of_run"),
    [
        ("import sys; sys.exit(3)", {}, 3),
        ("print(", {}, 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", {}, -11),
        ("x = bytearray(300 << 20)", {"memory_limit_MB": 100}, None),
    ],
)
async def test_run_code_of_failing_program_has_status_failed(
    call: Caller, code: str, fields: dict[str, Any], code_of_run: int | None
) -> None:
    reply = await run(call, code, **fields)
    assert (reply["status"], reply["run_result"]["status"]) == ("Failed", "Finished")
    assert reply["run_result"]["return_code"] not in (0, None)
    assert code_of_run in (None, reply["run_result"]["return_code"])


async def test_run_code_over_its_timeout_has_status_time_limit_exceeded(call: Caller) -> None:
    for code in ("while True: pass", "import time; time.sleep(1000)"):
        reply = await run(call, code, run_timeout=0.3)
        assert (reply["status"], reply["run_result"]["status"]) == ("Failed", "TimeLimitExceeded")
        assert reply["run_result"]["return_code"] is None


async def test_run_code_of_cpp_program_returns_compile_result(call: Caller) -> None:
    reply = await run(call, DOUBLE_CPP, language="cpp", stdin="21", compile_timeout=60, fetch_files=["none"])
    assert (reply["status"], reply["files"]) == ("Success", {})
    assert (reply["compile_result"]["return_code"], reply["run_result"]["stdout"]) == (0, "42\n")
    reply = await run(call, "int main() {", language="cpp", compile_timeout=60)
    assert (reply["status"], reply["run_result"]) == ("Failed", None)
    assert reply["compile_result"]["return_code"] == 1 and "expected" in reply["compile_result"]["stderr"]


OTHERS = {
    "java": "public class Main { public static void main(String[] a) {"
    " System.out.println(2 * new java.util.Scanner(System.in).nextInt()); } }",
    "go": 'package main\nimport "fmt"\nfunc main() { var n int; fmt.Scan(&n); fmt.Println(2 * n) }',
    "rust": "fn main() { let mut s = String::new(); std::io::stdin().read_line(&mut s).unwrap();"
    ' println!("{}", 2 * s.trim().parse::<i32>().unwrap()); }',
    "nodejs": 'console.log(2 * Number(require("fs").readFileSync(0, "utf8")))',
    "pascal": "var n: longint;\nbegin\nReadLn(n); WriteLn(2 * n);\nend.",
    "haskell": "main = getLine >>= print . (* 2) . read",
    "csharp": "using System; class P { static void Main() {"
    " Console.WriteLine(2 * int.Parse(Console.ReadLine())); } }",
    "kotlin": "fun main() { println(2 * readLine()!!.toInt()) }",
}


@pytest.mark.nightly
@pytest.mark.parametrize("language", OTHERS)
async def test_run_code_runs_program_in_other_language(call: Caller, language: str) -> None:
    require_language(language)
    limits = {"compile_timeout": 60, "run_timeout": 30, "memory_limit_MB": 512}
    reply = await run(call, OTHERS[language], language=language, stdin="21", **limits)
    assert (reply["status"], reply["run_result"]["stdout"]) == ("Success", "42\n"), reply


async def test_run_code_sends_input_files_and_fetches_output_files(call: Caller) -> None:
    input_files = {
        "data/a.txt": base64.b64encode(b"\xff").decode(),
        "lib.py": base64.b64encode(b"n = 7").decode(),
    }
    code = "import lib; d = open('data/a.txt', 'rb').read(); open('out.bin', 'wb').write(d * lib.n)"
    reply = await run(
        call, code, files={**input_files, "left.out": None}, fetch_files=["out.bin", "left.out"]
    )
    assert (reply["status"], reply["files"]) == (
        "Success",
        {"out.bin": base64.b64encode(b"\xff" * 7).decode()},
    )
    reply = await run(call, "echo $1; cat", language="bash", stdin="as it is, without a line break")
    assert reply["run_result"]["stdout"] == "\nas it is, without a line break"


async def test_fetching_a_too_large_file_is_status_failed(call: Caller) -> None:
    """It must not be an error of the sandbox, which a program could provoke."""
    code = "open('out.bin', 'wb').truncate(65 << 20)"
    reply = await run(call, code, fetch_files=["out.bin"])
    assert (reply["status"], reply["files"], reply["run_result"]["return_code"]) == ("Failed", {}, 0)
    assert "more than" in reply["message"]


async def test_source_that_compiles_to_no_program_is_status_failed(call: Caller) -> None:
    require_language("pascal")
    unit = "unit main;\ninterface\nimplementation\nend.\n"
    reply = await run(call, unit, language="pascal", compile_timeout=60)
    assert (reply["status"], reply["run_result"]) == ("Failed", None)


async def test_run_code_program_has_no_access_to_files_or_network(call: Caller) -> None:
    """Nor to files that an earlier program left."""
    reply = await run(call, "open('left', 'w').write('x'); print(open('left').read())")
    assert reply["status"] == "Success"
    code = """
import os, socket
print(os.path.exists("left"), os.path.exists("/root"), os.path.exists("/etc/shadow"))
try: socket.socket()
except OSError as error: print(type(error).__name__)
"""
    reply = await run(call, code)
    assert reply["run_result"]["stdout"] == "False False False\nPermissionError\n"


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"language": "python"}, 422, "code"),
        ({"code": 1, "language": "python"}, 422, "code"),
        ({"code": "", "language": "python", "run_timeout": 0}, 422, "run_timeout"),
        ({"code": "", "language": "python", "run_timeout": 1e6}, 422, "above 0 and below 1000000"),
        ({"code": "", "language": "python", "files": {"a": "?"}}, 422, "base64"),
        ({"code": "", "language": "python", "run_timeout": 61}, 400, "60000"),
    ],
)
async def test_invalid_run_code_request_is_refused_with_message(
    call: Caller, fields: dict[str, Any], status: int, message: str
) -> None:
    got, reply = await call.post("/run_code", json=fields)
    assert got == status and message in str(reply)


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"language": "lean"}, "the languages are python"), ({"files": {"../a": ""}}, "'../a'")],
)
async def test_unsupported_language_or_file_name_is_status_sandbox_error(
    call: Caller, fields: dict[str, Any], message: str
) -> None:
    reply = await run(call, "print()", **fields)
    assert reply["status"] == "SandboxError" and message in reply["message"]


async def test_request_without_free_slot_waits_and_then_gets_504(
    call: Caller, options: ServerOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SandboxFusion's clients retry only after 504, up to three times."""
    jobs = [asyncio.create_task(call.run("sleep 1000")) for _ in range(1 + options.queue)]
    await until_worker_has(call, running=1, waiting=options.queue)
    enter_within, arrivals = RequestQueue.enter_within, list[float]()

    def record_arrival(queue: RequestQueue, seconds: float, *token: str) -> Any:
        arrivals.append(seconds)
        return enter_within(queue, seconds, *token)

    monkeypatch.setattr(RequestQueue, "enter_within", record_arrival)
    clock = FastForwardClock()
    for number in (1, 2):
        late = asyncio.create_task(post(call, "print(1)"))
        await until(lambda number=number: len(arrivals) == number)
        await clock.advance(5.0)
        assert not late.done()
        await clock.advance(3.1)
        status, reply = await late
        assert status == 504 and "slots are busy" in reply["message"]
    late = asyncio.create_task(post(call, "print(1)"))
    await until(lambda: len(arrivals) == 3)
    for posted in jobs:
        posted.cancel()
    status, reply = await late
    assert (status, reply["run_result"]["stdout"]) == (200, "1\n")
    await asyncio.gather(*jobs, return_exceptions=True)


WAITS = {"compile_timeout": 2, "run_timeout": 2}  # plus 8 s


async def post(call: Caller, code: str, **fields: Any) -> tuple[int, Any]:
    return await call.post("/run_code", json={"code": code, "language": "python", **WAITS, **fields})


async def test_request_retried_after_504_keeps_its_queue_position(engine: EmbeddedEngine) -> None:
    """Without a reply the client would disconnect and not retry; after 504 it retries three times."""
    async with Server(engine, ServerOptions(port=0)) as server, aiohttp.ClientSession(server.url) as session:
        call, clock = Caller(session), FastForwardClock()
        running = asyncio.create_task(call.run("sleep 1000"))
        await until(lambda: server.running_count == 1)
        for visits in (1, 2):
            late = asyncio.create_task(post(call, "print(1)"))
            await until_worker_has(call, running=1, waiting=visits)
            await clock.advance(9.0)
            assert not late.done()
            await clock.advance(3.1)
            status, reply = await late
            assert status == 504 and "this request keeps its place" in reply["message"]
        behind = asyncio.create_task(run(call, "import time; time.sleep(1000)"))
        await until_worker_has(call, running=1, waiting=2)
        late = asyncio.create_task(post(call, "print(1)"))
        await until_worker_has(call, running=1, waiting=3)
        running.cancel()
        status, reply = await late
        assert (status, reply["run_result"]["stdout"]) == (200, "1\n") and not behind.done()
        behind.cancel()
        await asyncio.wait([running, behind])


async def test_request_is_dropped_if_its_client_does_not_return(server: Server, call: Caller) -> None:
    clock = FastForwardClock()
    late = asyncio.create_task(post(call, "import time; time.sleep(1000)", run_timeout=60))
    await until(lambda: server.running_count == 1)
    await clock.advance(70.1)
    assert (await late)[0] == 504 and server.running_count == 1
    await clock.advance(10.0)
    await until_worker_has(call, running=0, waiting=0)


@pytest.mark.parametrize("fields", [{}, {"language": "cpp", "code": DOUBLE_CPP, "compile_timeout": 60}])
async def test_result_of_job_started_late_is_returned_on_retry(
    engine: EmbeddedEngine, fields: dict[str, Any]
) -> None:
    """The build or run continues while the client is away."""
    held_engine = HeldEngine(engine)
    async with (
        Server(held_engine, ServerOptions(port=0)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call, clock = Caller(session), FastForwardClock()
        request_fields = {"code": DOUBLE, "stdin": "21", **fields}
        late = asyncio.create_task(post(call, **request_fields))
        await until(lambda: held_engine.begun == 1)
        await clock.advance(72.0)
        assert (await late)[0] == 504
        held_engine.let_go.set()
        status, reply = await post(call, **request_fields)
        assert (status, reply["run_result"]["stdout"]) == (200, "42\n")
        assert held_engine.ran == ([("submission",), ()] if fields else [()])


async def test_stored_reply_is_returned_only_to_the_same_token(
    engine: EmbeddedEngine, tmp_path: Path
) -> None:
    (tmp_path / "tokens").write_text("red a\nblue b\n")
    held_engine, clock, options = (
        HeldEngine(engine, slots=2),
        FastForwardClock(),
        ServerOptions(port=0, queue=9),
    )
    options = msgspec.structs.replace(options, token_file=tmp_path / "tokens")
    async with Server(held_engine, options) as server, aiohttp.ClientSession(server.url) as session:
        call, request_fields = Caller(session), {"json": {"code": "print(1)", "language": "python", **WAITS}}
        red, blue = ({"headers": {"Authorization": f"Bearer {token}"}, **request_fields} for token in "ab")
        late = asyncio.create_task(call.post("/run_code", **red))
        await until(lambda: held_engine.begun == 1)
        await clock.advance(12.1)
        assert (await late)[0] == 504
        other = asyncio.create_task(call.post("/run_code", **blue))
        await until(lambda: held_engine.begun == 2)
        held_engine.let_go.set()
        assert [(await other)[0], (await call.post("/run_code", **red))[0]] == [200, 200]
        assert held_engine.begun == 2


async def test_build_continues_after_its_client_disconnects(engine: EmbeddedEngine, store: Store) -> None:
    """A client with a timeout of 1 s gets the result of a 2 s build.

    Meanwhile the build uses the slot of its request.
    """
    held_engine = HeldEngine(engine)
    request_fields = {"code": DOUBLE_CPP.replace("2 *", "3 *"), "language": "cpp", "compile_timeout": 60}
    request_fields["files"] = {
        "another": base64.b64encode(os.urandom(8)).decode()
    }  # which no test has built before
    options = ServerOptions(port=0)
    async with (
        Server(held_engine, options, store=store) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call = Caller(session)
        for visits in (1, 2):
            gone = asyncio.create_task(post(call, **request_fields, stdin="7"))
            await until_worker_has(call, running=1, waiting=visits - 1)
            await until(lambda: held_engine.begun == 1)
            gone.cancel()
            await until_worker_has(call, running=1, waiting=0)
        held_engine.let_go.set()
        await until(lambda: (server.running_count, held_engine.ran) == (0, [("submission",)]))
        for stdin, printed in (("7", "21\n"), ("5", "15\n")):
            reply = await run(call, **request_fields, stdin=stdin)
            assert (reply["compile_result"]["return_code"], reply["run_result"]["stdout"]) == (0, printed)
        assert held_engine.ran == [("submission",), (), ()]


async def test_build_of_disconnected_client_ends_with_the_server(engine: EmbeddedEngine) -> None:
    held_engine = HeldEngine(engine)
    async with (
        Server(held_engine, ServerOptions(port=0)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        gone = asyncio.create_task(post(Caller(session), DOUBLE_CPP, language="cpp", compile_timeout=60))
        await until(lambda: held_engine.begun == 1)
        gone.cancel()
        await asyncio.wait([gone])
        assert (held_engine.ended, server.running_count) == (0, 1)
    assert held_engine.ended == 1


async def test_build_ends_if_no_client_returns(engine: EmbeddedEngine) -> None:
    """Otherwise a client that always disconnects could use all slots for minutes."""
    held_engine = HeldEngine(engine)
    async with (
        Server(held_engine, ServerOptions(port=0)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call, clock = Caller(session), FastForwardClock()
        request_fields = {"code": DOUBLE_CPP, "language": "cpp", "compile_timeout": 60, "stdin": "21"}
        for visits in (1, 2):  # the second visit is in time
            gone = asyncio.create_task(post(call, **request_fields))
            await until_worker_has(call, running=1, waiting=visits - 1)
            await until(lambda: held_engine.begun == 1)
            await asyncio.sleep(0)
            gone.cancel()
            await until_worker_has(call, running=1, waiting=0)
            await clock.advance(6.0)
            assert (held_engine.ended, server.running_count) == (0, 1)
        await clock.advance(6.0)
        await until_worker_has(call, running=0, waiting=0)
        await until(lambda: held_engine.ended == 1)
        held_engine.let_go.set()
        assert (await run(call, **request_fields))["run_result"]["stdout"] == "42\n"


async def test_queue_time_of_compiled_program_is_counted_once(engine: EmbeddedEngine) -> None:
    """Only the first of its two jobs, the build, counts."""
    held_engine = HeldEngine(engine)
    async with (
        Server(held_engine, ServerOptions(port=0)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        call = Caller(session)
        first = asyncio.create_task(post(call, "print(1)"))
        await until(lambda: held_engine.begun == 1)
        second = asyncio.create_task(run(call, DOUBLE_CPP, language="cpp", stdin="1", compile_timeout=60))
        await until_worker_has(call, running=1, waiting=1)
        began = time.monotonic()
        await asyncio.sleep(0.05)
        waited = time.monotonic() - began
        held_engine.let_go.set()
        await asyncio.gather(first, second)
        counts = await call.counts()
        assert counts["ioi_eval_wait_seconds_sum"] >= waited
        assert counts["ioi_eval_wait_seconds_count"] == len(held_engine.ran)


async def test_request_waiting_for_a_shared_build_uses_no_slot(engine: EmbeddedEngine) -> None:
    """The second of two slots is free for other requests."""
    held_engine = HeldEngine(engine, slots=2)
    async with (
        Server(held_engine, ServerOptions(port=0)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        request_fields = {"code": DOUBLE_CPP, "language": "cpp", "compile_timeout": 60}
        two = [asyncio.create_task(run(Caller(session), **request_fields, stdin=stdin)) for stdin in "12"]
        await until_worker_has(Caller(session), running=1, waiting=1)
        await until(lambda: held_engine.begun == 1)
        held_engine.let_go.set()
        assert [reply["run_result"]["stdout"] for reply in await asyncio.gather(*two)] == ["2\n", "4\n"]
        assert held_engine.ran == [("submission",), (), ()]


@pytest.mark.parametrize(
    "endless",
    ["import time; time.sleep(1000)", pytest.param("while True: pass", marks=pytest.mark.nightly)],
    ids=["sleeps", "spins"],
)
async def test_endless_loop_after_long_queueing_is_time_limit_exceeded(
    server: Server, call: Caller, endless: str
) -> None:
    running = asyncio.create_task(call.run("sleep 1000"))
    await until(lambda: server.running_count == 1)
    waiting = asyncio.create_task(post(call, endless, run_timeout=0.3))
    await until_worker_has(call, running=1, waiting=1)
    await FastForwardClock().advance(7.0)
    running.cancel()
    status, reply = await waiting
    while status == 504:  # it started too late for this try
        status, reply = await post(call, endless, run_timeout=0.3)
    assert reply["run_result"]["status"] == "TimeLimitExceeded"


async def test_huge_memory_limit_is_accepted(call: Caller) -> None:
    assert (await run(call, "print(1)", memory_limit_MB=1 << 50))["run_result"]["stdout"] == "1\n"


async def test_timeout_and_memory_limit_may_be_strings(call: Caller) -> None:
    reply = await run(call, "import time; time.sleep(1000)", run_timeout="0.3", memory_limit_MB="64")
    assert reply["run_result"]["status"] == "TimeLimitExceeded"


async def test_output_before_the_timeout_is_returned(call: Caller) -> None:
    code = "import sys, time\nprint('half', flush=True)\nprint('e', file=sys.stderr)\ntime.sleep(1000)"
    run_result = (await run(call, code, run_timeout=0.5))["run_result"]
    assert (run_result["status"], run_result["stdout"], run_result["stderr"]) == (
        "TimeLimitExceeded",
        "half\n",
        "e\n",
    )


def basic(pair: bytes) -> str:
    return f"Basic {base64.b64encode(pair).decode()}"


async def test_token_is_accepted_as_basic_auth_password(
    engine: EmbeddedEngine, options: ServerOptions
) -> None:
    guarded = ServerOptions(port=0, token=Secret("word"))
    request_fields = {"json": {"code": "print(1)", "language": "python"}}
    async with Server(engine, guarded) as server, aiohttp.ClientSession(server.url) as session:
        call = Caller(session)
        for headers, status in (
            ({}, 401),
            ({"Authorization": "Bearer word"}, 200),
            ({"Authorization": basic(b"any:word")}, 200),
            ({"Authorization": basic(b"word:other")}, 401),
            ({"Authorization": "Basic ???"}, 401),
        ):
            assert (await call.post("/run_code", headers=headers, **request_fields))[0] == status
            assert (await call.post(f"{API}/execute", headers=headers, json=job("true")))[0] == status


# --- /submit -----------------------------------------------------------------------------------------


def submission(completion: str, *pairs: tuple[str, str], **config: Any) -> dict[str, Any]:
    tests = [{"input": {"stdin": stdin}, "output": {"stdout": expected}} for stdin, expected in pairs]
    row = {"id": 7, "content": "Double it.", "test": tests}
    return {
        "dataset": "mine",
        "id": 7,
        "completion": completion,
        "config": {"language": "python", "provided_data": row, "dataset_type": "CommonOJDataset", **config},
    }


async def submit(call: Caller, *pairs: Any, **config: Any) -> tuple[bool, list[bool]]:
    status, reply = await call.post("/submit", json=submission(*pairs, **config))
    assert status == 200, reply
    assert reply["id"] == 7
    return reply["accepted"], [test["passed"] for test in reply["tests"]]


async def test_submit_judges_by_the_tests_of_the_request(call: Caller) -> None:
    fenced = f"So:\n```python\n{DOUBLE}\n```\n"
    assert await submit(call, fenced, ("2", "4\n"), ("5", "10")) == (True, [True, True])
    assert await submit(call, fenced, ("2", "5"), ("5", "10")) == (False, [False])
    everything = {"extra": {"run_all_cases": True}}
    assert await submit(call, fenced, ("2", "5"), ("5", "10"), **everything) == (False, [False, True])
    assert await submit(call, "I cannot.", ("2", "")) == (False, [])
    cpp = f"```cpp\n{DOUBLE_CPP}\n```"
    compiled = {"language": "cpp", "compile_timeout": 60}
    assert await submit(call, cpp, ("2", "4"), ("5", "10"), **compiled) == (True, [True, True])
    broken = "```cpp\nint main() {\n```"
    assert await submit(call, broken, ("2", "4"), ("5", "10"), **compiled) == (False, [False])


async def test_submit_compares_outputs_like_sandbox_fusion(call: Caller) -> None:
    echo = "```python\nimport sys\nprint(sys.stdin.read(), end='')\n```"
    for printed, expected, right in [
        ("YES\n no \n\n", "yes\nNo", True),
        ("1.000001\nx", "1\nx", True),
        ("1.001", "1", False),
        ("1\n2", "1", False),
        ("a b", "a  b", False),
        ("nan", "1", False),
    ]:
        assert (await submit(call, echo, (printed, expected)))[0] is right, printed


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"provided_data": None}, "provided_data must contain the dataset's row"),
        ({"provided_data": [{"id": 1}, {"id": 2}]}, "provided_data must contain the dataset's row"),
        ({"provided_data": {"test": "["}}, "provided_data.test"),
        ({"provided_data": {"test": []}}, "no tests"),
        ({"language": None}, "config.language"),
        ({"language": "lean"}, "the languages are python"),
        ({"dataset_type": "HumanEvalDataset"}, "CommonOJDataset"),
    ],
)
async def test_invalid_submit_request_is_422_with_reason(
    call: Caller, config: dict[str, Any], message: str
) -> None:
    status, reply = await call.post("/submit", json=submission(DOUBLE, ("1", "2"), **config))
    assert status == 422 and message in reply["detail"]
