"""Programs in other languages than those of the attack rounds cannot leave the sandbox either."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from attack import SECRET
from requirements import require_language

from ioi_eval import EmbeddedEngine, Scorer, Store
from ioi_eval.models import Blob, Limits, Problem, Submission, Test
from ioi_eval.models import Verdict as V

PROBLEM = Problem(
    id="sum",
    limits=Limits(cpu_time=4.0, wall_time=60.0, memory=256 << 20),
    tests=(Test(name="1", input=Blob.of("1\n"), answer=Blob.of("closed\n")),),
)

# Each program reads files, starts a program and connects to an open port, with the functions of its standard library.
PROGRAMS = {
    "javascript": """const fs = require("fs"), child = require("child_process"), net = require("net");
let outcome = "closed";
for (const path of [PATHS]) { try { if (fs.readFileSync(path).length > 0) outcome = path; } catch (e) {} }
try { if (child.spawnSync("/bin/sh", ["-c", "exit 7"]).status === 7) outcome = "child"; } catch (e) {}
try {
    const socket = net.connect(PORT, "127.0.0.1");
    socket.on("connect", () => { console.log("connected"); process.exit(); });
    socket.on("error", () => { console.log(outcome); process.exit(); });
} catch (e) { console.log(outcome); }
""",
    "pascal": """{$mode objfpc}{$H+}
uses sysutils, classes, ssockets;
const paths: array[0..4] of string = (PATHS);
var outcome, path: string; s: TFileStream; b: byte; c: TInetSocket;
begin
  outcome := 'closed';
  for path in paths do
    try s := TFileStream.Create(path, fmOpenRead or fmShareDenyNone); if s.Read(b, 1) = 1 then outcome := path; except end;
  try if ExecuteProcess('/bin/sh', ['-c', 'exit 7']) = 7 then outcome := 'child'; except end;
  try c := TInetSocket.Create('127.0.0.1', PORT); outcome := 'connected'; except end;
  WriteLn(outcome);
end.
""",
    "go": """package main
import ("fmt"; "net"; "os"; "os/exec")
func main() {
    outcome := "closed"
    for _, path := range []string{PATHS} {
        if text, err := os.ReadFile(path); err == nil && len(text) > 0 { outcome = path }
    }
    if exec.Command("/bin/true").Run() == nil { outcome = "child" }
    if _, err := net.Dial("tcp", "127.0.0.1:PORT"); err == nil { outcome = "connected" }
    fmt.Println(outcome)
}
""",
    "rust": """use std::{fs, net::TcpStream, process::Command};
fn main() {
    let mut outcome = "closed";
    for path in [PATHS] { if fs::read(path).map_or(false, |text| text.len() > 0) { outcome = path; } }
    if Command::new("/bin/true").status().map_or(false, |status| status.success()) { outcome = "child"; }
    if TcpStream::connect("127.0.0.1:PORT").is_ok() { outcome = "connected"; }
    println!("{}", outcome);
}
""",
}


@pytest.fixture
async def scorer(store: Store) -> AsyncIterator[Scorer]:
    async with Scorer(EmbeddedEngine(store=store, slots=1), store=store) as opened:
        yield opened


@pytest.fixture
async def port() -> AsyncIterator[int]:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.nightly(unless="javascript")
@pytest.mark.parametrize("name", PROGRAMS)
async def test_program_of_other_runtime_has_no_access(
    scorer: Scorer, port: int, name: str, tmp_path: Path
) -> None:
    require_language(name)
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    paths = [secret, "/etc/passwd", f"/proc/{os.getpid()}/environ", "/proc/1/environ", "/proc/net/tcp"]
    quote = "'" if name == "pascal" else '"'
    listed = ", ".join(f"{quote}{path}{quote}" for path in paths)
    code = PROGRAMS[name].replace("PATHS", listed).replace("PORT", str(port))
    submission = Submission(key="1", problem_id="sum", code=code, language=name)
    result = await scorer.score(PROBLEM, submission)
    assert [test.status for test in result.tests] == [V.AC], result


@pytest.mark.parametrize(
    "body",
    [
        'callCommand "chmod 000 ."',
        pytest.param('callCommand "kill -9 -1"', marks=pytest.mark.nightly),
        pytest.param(
            'callCommand "(while :; do echo 90 > .ioi-eval-code; done) &"', marks=pytest.mark.nightly
        ),
    ],
)
async def test_haskell_template_that_kills_its_build_is_a_compile_error(scorer: Scorer, body: str) -> None:
    require_language("haskell")
    code = f"""{{-# LANGUAGE TemplateHaskell #-}}
import Language.Haskell.TH
import System.Process
main = print $(runIO ({body}) >> litE (integerL 3))
"""
    submission = Submission(key="1", problem_id="sum", code=code, language="haskell")
    result = await scorer.score(PROBLEM, submission)
    assert [test.status for test in result.tests] == [V.CE], result
