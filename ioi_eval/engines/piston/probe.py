"""Finds the tools and limits of servers by small jobs, and by requests that servers refuse with a limit."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from http import HTTPStatus
from time import monotonic
from typing import Annotated, Any

import msgspec

from ioi_eval.engines.contract import (
    BUNDLED_HEADERS,
    BUNDLED_LIBRARY_HEADER,
    LIBRARY_HEADER,
    Change,
    HealthCheck,
)
from ioi_eval.engines.fleet import LateAnswer
from ioi_eval.engines.health_checks import parse_probe_output
from ioi_eval.engines.jobs.headers import BITS_STDCPP, make_header_file_name
from ioi_eval.engines.jobs.piston_api import (
    ForeignReply,
    ServerFailed,
    decode_reply,
    decode_runtimes,
    encode_request,
    find_limit_in_message,
)
from ioi_eval.engines.piston.reports import (
    ASKED_BY,
    BECAME_ANOTHER_SERVER,
    MOVED,
    NEEDS_TLS,
    NO_PISTON,
    RUNS_NOTHING,
    RUNTIMES,
    SHELLS,
    TOO_SLOW,
    EndpointReport,
    make_health_checks,
)
from ioi_eval.engines.piston.sending import (
    API,
    HttpClient,
    Request,
    ServerIdentity,
    make_compressed_request,
    split_off_identity_hash,
)
from ioi_eval.engines.threads import run_in_thread_to_end
from ioi_eval.model.errors import (
    BrokenReply,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    JobRejected,
    JobTooLarge,
)
from ioi_eval.model.job import Ending, Job, JobFile, JobResult, StageStatus, Toolchain
from ioi_eval.model.languages import MODULES, find_language
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.retry import PROBE
from ioi_eval.model.values import Blob

_log = logging.getLogger(__name__)

# --- the script that inspects a server's sandbox, and its output ---------------


_WORKS = "works"
_TRIAL = f"""#include <stdio.h>
static __thread int own = 1;
#ifdef __cplusplus
static int thrown() {{ try {{ throw own; }} catch (int caught) {{ return caught; }} }}
#else
static int thrown(void) {{ return own; }}
#endif
int main(void) {{ return thrown() == 1 ? puts("{_WORKS}") < 0 : 1; }}
"""
# This script prints little, because a Piston with default settings allows 1024 bytes of output. For a missing
# tool it prints nothing.
INSPECTION_SCRIPT = r"""exec 2>/dev/null
echo "machine $(uname -m)"; echo "cores $(nproc)"
echo "file_kib $(ulimit -f)"; echo "processes $(ulimit -u)"; echo "open_files $(ulimit -n)"
tool() {
  printf 'tool %s %s %s %s\n' "$1" "$(command -v "$1")" "$2" "$(printf %s "$3" | sha256sum | head -c 16)"
}
parts() {  # the compiler proper is large, so only its beginning is read, which contains the hash of its build
  sha256sum < "$real"; head -c 4096 "$("$1" -print-prog-name=cc1plus)" | sha256sum
  for name in libc.a libstdc++.a libm.a; do sha256sum < "$("$1" -print-file-name=$name)"; done
}
works() {
  printf %s 'TRIAL' | "$@" -o looking - && [ "$(./looking)" = WORKS ]
}
for name in g++ gcc; do
  command -v $name > /dev/null || continue
  real=$(readlink -f "$(command -v $name)") language=c++
  [ $name = g++ ] || language=c
  static=yes
  works $name -static -x $language || { static=no; works $name -x $language; } || continue
  [ $name = gcc ] || echo "static $static"
  tool $name "$($name -dumpfullversion -dumpversion)" "$($name -v 2>&1) $real $(parts $name)"
done
for name in python3 pypy3; do
  command -v $name > /dev/null || continue
  words=$($name -I -c 'import sys, importlib.util
print("%d.%d.%d" % sys.version_info[:3])
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name)))
print(sys.version)' MODULES) || continue
  tool $name "$(echo "$words" | sed -n 1p)" "$words"
  echo "modules $name $(echo "$words" | sed -n 2p)"
done
for standard in gnu++26 gnu++23 gnu++20 gnu++17 gnu++14; do
  echo 'int main() {}' | g++ -std=$standard -fsyntax-only -x c++ - && echo "standard $standard" && break
done
for folder in "$HEADERS"/*/; do
  [ -e "${folder}BIG" ] && cmp -s "$HEADERS/LIBRARY" HERE || continue
  folder=${folder%/}
  echo '#include <bits/stdc++.h>' | g++ FLAGS -std="${folder##*/}" -isystem "$folder" -H -S -o /dev/null \
    -x c++ - 2>&1 | grep -q "^! $folder" && echo "header ${folder##*/}"
done
if command -v rustc > /dev/null; then
  words=$(rustc -vV) && real=$(command -v gcc) &&
    tool rustc "$(echo "$words" | sed -n 's/^release: //p')" "$words $real $(parts gcc)"
fi
if command -v go > /dev/null; then
  words=$(go version) && tool go "$(echo "$words" | sed 's/^go version go\([^ ]*\).*/\1/')" "$words"
fi
if command -v java > /dev/null && command -v javac > /dev/null; then
  words=$(java -version 2>&1) &&
    tool java "$(echo "$words" | sed -n 's/.*version "\([^"]*\)".*/\1/p')" "$words"
fi
if command -v kotlinc > /dev/null; then  # starting it is slower than the rest of this script
  jar=$(dirname "$(dirname "$(readlink -f "$(command -v kotlinc)")")")/lib/kotlin-compiler.jar
  version=$(python3 -I -c 'import sys, zipfile
print(zipfile.ZipFile(sys.argv[1]).read("META-INF/MANIFEST.MF").decode())' "$jar" |
    sed -n 's/^Implementation-Version: \([^[:space:]]*\).*/\1/p')
  if [ -n "$version" ]; then  # the end of a jar lists all its files with checksums
    words=$(stat -L -c %s "$jar"; tail -c 4194304 "$jar" | sha256sum)
  else
    words=$(kotlinc -version 2>&1) && version=$(echo "$words" | sed -n 's/.*kotlinc-jvm \([^ ]*\).*/\1/p')
  fi
  tool kotlinc "$version" "$words"
fi
for query in "fpc -iV" "ghc --version" "node --version" "mcs --version" "mono --version"; do
  name=${query%% *}
  command -v $name > /dev/null || continue
  words=$($query 2>&1) && tool $name "$(echo "$words" | grep -o '[0-9][0-9.]*' | head -n 1)" "$words"
done
echo end
"""
for _placeholder, _replacement in {
    "TRIAL": _TRIAL,
    "WORKS": _WORKS,
    "MODULES": " ".join(MODULES),
    "$HEADERS/LIBRARY": f"$HEADERS/{BUNDLED_LIBRARY_HEADER}",
    "HERE": LIBRARY_HEADER,
    "$HEADERS": f"${BUNDLED_HEADERS}",
    "BIG": make_header_file_name(BITS_STDCPP),
    "FLAGS": " ".join(flag for flag in find_language("c++").flags if not flag.startswith("-std")),
}.items():
    INSPECTION_SCRIPT = INSPECTION_SCRIPT.replace(_placeholder, _replacement)

FIRST_OUTPUT_BYTES = 1000  # bytes
OUTPUT_STEPS = 13  # number of steps, each of which doubles the output, to 4 MB in total


def make_growing_output_script(steps: int) -> str:
    """Return a script that prints more and more, so that its output shows the server's limit."""
    return f"""exec 2>/dev/null
size={FIRST_OUTPUT_BYTES}
for step in $(seq {steps}); do
  head -c $size /dev/zero | tr '\\0' x
  [ $step = 1 ] || size=$((size * 2))
  sleep 0.02
done
"""


def count_growing_output_bytes(steps: int) -> int:
    """Return the number of bytes that `make_growing_output_script` prints."""
    return FIRST_OUTPUT_BYTES << (steps - 1)


def parse_inspection(output: str) -> Mapping[str, Any]:
    """Return fields of `EndpointReport` from the script's output. Broken and unknown lines are ignored."""
    line_words = [words.split(" ") for words in output.split("\n")[:-1]]
    value_by_name = {words[0]: words[1] for words in line_words if len(words) == 2}
    tool_lines = (words for words in line_words if words[0] == "tool" and len(words) == 5 and all(words))
    modules_by_command = {
        words[1]: tuple(filter(None, words[2:]))
        for words in line_words
        if words[0] == "modules" and words[2:]
    }
    header_standards = tuple(
        sorted(words[1] for words in line_words if words[0] == "header" and len(words) == 2)
    )
    max_file_kib = _parse_number(value_by_name.get("file_kib"))
    return {
        "architecture": value_by_name.get("machine", ""),
        "cores": _parse_number(value_by_name.get("cores")),
        "max_file": max_file_kib and max_file_kib * 1024,
        "max_processes": _parse_number(value_by_name.get("processes")),
        "max_open_files": _parse_number(value_by_name.get("open_files")),
        "cpp_standard": value_by_name.get("standard", ""),
        "headers": header_standards,
        "static": value_by_name["static"] == "yes" if "static" in value_by_name else None,
        "toolchains": {
            command: Toolchain(
                command=command,
                path=path,
                version=version,
                identity=f"{command} {version} {path} {digest}",
                modules=modules_by_command.get(command),
            )
            for _, command, path, version, digest in tool_lines
        },
    }


def _parse_number(digits: str | None) -> int | None:
    return int(digits) if digits is not None and digits.isdigit() else None


# --- asking a server ---------------------------------------------------------------------------------


_MAX_ANSWER_S = 60.0
_MAX_OPTIONAL_ANSWER_S = 10.0  # maximum seconds for the answer to a request that some servers do not support
_LIST = f"{API}/runtimes"
# Time in ms and size in bytes that exceed the limits of any server without overflowing its timers.
_LONG, _LARGE = 10**9, 10**15
BODY_SIZES = (1 << 17, 1 << 20, 8 << 20, 32 << 20)
_STOCK_BODY_BYTES = 100 << 10
_LIMIT_IN_STACK = re.compile(r"the limit is (\d+) bytes")
# Maximum number of servers that are asked for much output. With a thousand servers, the output would be
# gigabytes.
_MAX_THOROUGH_PROBES = 8
_FEWER_OUTPUT_STEPS = 7
_MAX_ERROR_CHARS = 200  # maximum characters of output in a message about a script that did not run


async def identify_server(client: HttpClient, url: str, max_s: float) -> EndpointReport:
    """Return a short report: whether a server answers, its runtimes, and a worker's identity."""
    try:
        answer = await client.ask("GET", url, _LIST, max_s)
        if answer.status == HTTPStatus.BAD_REQUEST and url.startswith("http:") and b"HTTPS" in answer.body:
            return EndpointReport(url=url, reachable=False, reason=f"{url} {NEEDS_TLS}")
        if 300 <= answer.status < 400 and answer.moved:
            redirect_url = answer.moved.removesuffix(_LIST)
            return EndpointReport(url=url, reachable=False, reason=f"{url} {MOVED} {redirect_url!a}")
        runtimes = decode_runtimes(answer.status, answer.body)
    except ForeignReply as error:
        return EndpointReport(url=url, reachable=False, reason=f"{url} {NO_PISTON} ({error})")
    except EngineError as error:
        return _make_unreachable_report(EndpointReport(url=url), error)
    runtime_names = tuple(dict.fromkeys(name for runtime in runtimes for name in runtime.names))
    return EndpointReport(url=url, runtimes=runtime_names, identity=ServerIdentity(worker=answer.worker))


def _make_unreachable_report(report: EndpointReport, error: EngineError) -> EndpointReport:
    reason = str(error) if report.url in str(error) else f"{report.url}: {error}"
    change = Change.FULL if isinstance(error, EngineOverloaded) else Change.LOST
    temporary_change = change if isinstance(error, EngineOverloaded | ServerFailed | BrokenReply) else None
    return msgspec.structs.replace(report, reachable=False, reason=reason, temporary_state=temporary_change)


class _ServerInfo(msgspec.Struct):
    """A server's information about itself."""

    message: str = ""  # name of the server, reported at `/`
    # Number of a worker's slots, reported at `/healthz`.
    slots: Annotated[int, msgspec.Meta(gt=0)] | None = None
    # Bytes of contents that the server can store, reported at `/healthz`.
    contents: Annotated[int, msgspec.Meta(ge=0)] = 0
    keeps_programs: bool = False
    exclusive: bool = False  # True if the server runs exclusive jobs, reported at `/healthz`


_SERVER_INFO = msgspec.json.Decoder(_ServerInfo)


class Prober:
    """Probes the servers of an engine."""

    def __init__(self, client: HttpClient, *, clock: Callable[[], float] = monotonic) -> None:
        self._http, self._clock = client, clock
        self._padded_requests: dict[int, Request] = {}
        # A lock so that large request bodies, which are the same for all servers, are compressed once.
        self._packing_lock = asyncio.Lock()
        self._thorough_urls = set[str]()  # addresses of servers that are asked for much output in each probe

    async def probe(self, url: str, runtimes: Collection[str] = ()) -> EndpointReport:
        """Return a full report. It raises no error: a server that cannot be probed counts as unreachable.

        `runtimes` are the runtimes that jobs may use. If it is empty, they may use any runtime.
        """
        report = await identify_server(self._http, url, _MAX_ANSWER_S)
        usable_runtimes = [
            name for name in RUNTIMES if name in report.runtimes and name in (runtimes or RUNTIMES)
        ]
        try:
            if report.reachable:
                report = await self._probe_fully(report, usable_runtimes[0] if usable_runtimes else "")
        except EngineError as error:
            report = _make_unreachable_report(report, error)
        return msgspec.structs.replace(report, findings=make_health_checks(report))

    async def add_confinement_checks(self, report: EndpointReport, packed_proctor: bytes) -> EndpointReport:
        """Return the report with health checks by a proctor on the server. `packed_proctor` is in gzip."""
        if not report.reachable or report.is_worker or report.runtime not in SHELLS:
            return report
        try:
            job = _make_script_job(
                report.runtime, "gzip -d proctor.gz && chmod +x proctor && ./proctor probe\n"
            )
            proctor_file = JobFile(name="proctor.gz", content=Blob.of(packed_proctor), text=False)
            job = msgspec.structs.replace(job, files=(*job.files, proctor_file))
            run_ending = await self._run_script_to_end(report.url, job, report.max_run_time)
            checks = parse_probe_output(
                run_ending.stdout.encode(), run_ending.stderr.strip(), run_ending.code
            )
        except EngineError as error:
            checks = [HealthCheck(name="confinement", ok=None, detail=f"no proctor could be tried: {error}")]
        return msgspec.structs.replace(report, findings=(*report.findings, *checks))

    async def _probe_fully(self, report: EndpointReport, runtime: str) -> EndpointReport:
        health_info = await self._fetch_server_info(report.url, "/healthz")
        report_fields: dict[str, Any] = {
            "runtime": runtime,
            "server": (await self._fetch_server_info(report.url, "/")).message[:100],
            "slots": health_info.slots,
            "contents": health_info.contents,
            "keeps_programs": health_info.keeps_programs,
            "exclusive": health_info.exclusive,
            "max_body": await self._find_body_limit(report.url),
            "max_gateway_body": await self._find_gateway_body_limit(report.url),
        }
        if runtime:
            for field, name in ASKED_BY.items():
                excessive_limit = _LARGE if name.endswith("memory_limit") else _LONG
                report_fields[field] = await self._find_limit(report.url, runtime, name, excessive_limit)
        if runtime in SHELLS:
            if len(self._thorough_urls) < _MAX_THOROUGH_PROBES:
                self._thorough_urls.add(report.url)
            output_steps = OUTPUT_STEPS if report.url in self._thorough_urls else _FEWER_OUTPUT_STEPS
            max_run_ms = report_fields["max_run_time"]
            report_fields["identity"] = await self._read_identity(report, runtime, max_run_ms)
            inspection_ending = await self._run_script_to_end(
                report.url, _make_script_job(runtime, INSPECTION_SCRIPT), max_run_ms
            )
            if not inspection_ending.stdout:
                reason = (
                    inspection_ending.stderr.strip()[:_MAX_ERROR_CHARS]
                    or inspection_ending.message
                    or f"it exited with code {inspection_ending.code}"
                )
                raise EngineUnavailable(f"{report.url} {RUNS_NOTHING}: {reason}")
            report_fields.update(
                {
                    **parse_inspection(inspection_ending.stdout),
                    "isolates": inspection_ending.wall_time is not None,
                }
            )
            printed_bytes = len(
                (
                    await self._run_script_to_end(
                        report.url,
                        _make_script_job(runtime, make_growing_output_script(output_steps)),
                        max_run_ms,
                    )
                ).stdout
            )
            report_fields["max_output"] = (
                None if printed_bytes >= count_growing_output_bytes(output_steps) else printed_bytes
            )
            if await self._read_identity(report, runtime, max_run_ms) != report_fields["identity"]:
                raise EngineUnavailable(f"{report.url} {BECAME_ANOTHER_SERVER} while it was probed")
        return msgspec.structs.replace(report, **report_fields)

    async def _read_identity(
        self, report: EndpointReport, runtime: str, max_run_ms: int | None
    ) -> ServerIdentity:
        script_ending = await self._run_script_to_end(
            report.url,
            _make_script_job(runtime, report.identity.identity_script),
            max_run_ms,
            report.identity.worker,
        )
        return msgspec.structs.replace(
            report.identity, tools=split_off_identity_hash(script_ending.stdout)[0]
        )

    async def _fetch_server_info(self, url: str, path: str) -> _ServerInfo:
        answer = await self._http.ask("GET", url, path, _MAX_ANSWER_S)
        try:
            return _SERVER_INFO.decode(require_shallow(answer.body))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return _ServerInfo()

    async def _find_limit(self, url: str, runtime: str, limit_name: str, excessive_limit: int) -> int | None:
        """Return the limit that a refusal names, or `None` if the server accepts the request."""
        try:
            await self._send_job(url, _make_script_job(runtime, "true", **{limit_name: excessive_limit}))
        except JobTooLarge as error:
            limit = find_limit_in_message(str(error))
            return limit[1] if limit else None
        except JobRejected:
            return None
        return None

    async def _find_body_limit(self, url: str) -> int | None:
        """Return the server's limit for request bodies, found by requests that the server refuses."""
        accepted_bytes = _STOCK_BODY_BYTES
        for body_bytes in BODY_SIZES:
            # The compressed body is small, but the server's limit counts the uncompressed size.
            async with self._packing_lock:
                if body_bytes not in self._padded_requests:
                    padded_body = b'{"pad":"%b"}' % (b"x" * (body_bytes - 10))
                    self._padded_requests[body_bytes] = await run_in_thread_to_end(
                        partial(make_compressed_request, padded_body)
                    )
            answer = await self._http.ask(
                "POST", url, f"{API}/execute", _MAX_ANSWER_S, self._padded_requests[body_bytes]
            )
            try:
                decode_reply(answer.status, answer.body, endpoint=url)
            except JobTooLarge as error:
                limit_match = _LIMIT_IN_STACK.search(str(error))
                return int(limit_match[1]) if limit_match else accepted_bytes
            except JobRejected:
                accepted_bytes = body_bytes
        return None

    async def _find_gateway_body_limit(self, url: str) -> int | None:
        """Return a gateway's limit for request bodies, by sending only headers."""
        for body_bytes in reversed(BODY_SIZES):
            if await self._http.accepts_body(url, body_bytes, _MAX_OPTIONAL_ANSWER_S) is not False:
                return None if body_bytes == BODY_SIZES[-1] else body_bytes
        return _STOCK_BODY_BYTES

    async def _run_script_to_end(
        self, url: str, job: Job, server_max_ms: int | None, worker: str = ""
    ) -> Ending:
        """Return the ending of a script that had enough time.

        `server_max_ms` is the server's limit, and `worker` the identity of a worker.
        """
        timeout_ms = 0
        for attempt in range(1, PROBE.max_attempts + 1):
            max_s = _MAX_ANSWER_S * 2 ** (attempt - 1)
            timeout_ms = round(max_s * 1000 / 2)
            timeout_ms = min(timeout_ms, server_max_ms or timeout_ms)
            started_s = self._clock()
            reason = f"{url} stopped a script after {timeout_ms / 1000:g} s"
            try:
                timed_job = msgspec.structs.replace(job, run_timeout=timeout_ms)
                script_ending = (await self._send_job(url, timed_job, max_s, worker)).run
                if not _was_stopped_by_limit(script_ending, timeout_ms, self._clock() - started_s):
                    return script_ending
            except LateAnswer as error:
                reason = str(error)
            PROBE.log(_log, reason, attempt)
        exhaustion = PROBE.describe_exhaustion(PROBE.max_attempts)
        raise EngineUnavailable(
            f"{url} {TOO_SLOW}: the probe's script did not finish in {timeout_ms / 1000:g} s {exhaustion}"
        )

    async def _send_job(
        self, url: str, job: Job, max_s: float = _MAX_ANSWER_S, worker: str = ""
    ) -> JobResult:
        return await self._http.execute(url, Request(body=encode_request(job)), max_s, worker)


def _was_stopped_by_limit(script_ending: Ending, timeout_ms: int, elapsed_s: float) -> bool:
    """Return True if a time limit may have stopped the job. Older servers do not report it."""
    if script_ending.status is not None:
        return script_ending.status is StageStatus.TO
    return script_ending.code != 0 and elapsed_s * 1000 >= timeout_ms


def _make_script_job(runtime: str, script: str, **limits: int) -> Job:
    return Job(files=(JobFile(name="run", content=Blob.of(script)),), runtime=runtime, **limits)  # type: ignore[arg-type]
