"""A worker with TLS: clients that trust its certificate get replies, and all other clients an error."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ioi_eval import EmbeddedEngine, PistonEngine, discovery
from ioi_eval.engines.piston.probe import Prober
from ioi_eval.engines.piston.sending import HttpClient
from ioi_eval.errors import EngineUnavailable, InputError
from ioi_eval.server import Server, ServerOptions

# Prints a line for each server: the status of its reply, or the error.
_ASK = """
import asyncio, sys
from ioi_eval.engines.piston.sending import HttpClient
async def main():
    async with HttpClient() as wire:
        for url in sys.argv[1:]:
            try:
                print((await wire.ask("GET", url, "/healthz", 30.0)).status)
            except Exception as error:
                print(*str(error).split())
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a self-signed certificate for this machine, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-addext", "keyUsage=keyCertSign,digitalSignature",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


def of(*files: Path | str) -> ServerOptions:
    return ServerOptions(port=0, **dict(zip(("tls_cert", "tls_key"), map(Path, files), strict=False)))


async def test_http_https_mix_up_is_reported_with_remedy(
    engine: EmbeddedEngine, files: tuple[Path, Path]
) -> None:
    async with (
        Server(engine, of(*files)) as safe,
        Server(engine, ServerOptions(port=0)) as plain,
        HttpClient() as wire,
    ):
        mistaken = safe.url.replace("https", "http"), plain.url.replace("http", "https")
        hung_up, garbled = [await Prober(wire).probe(url) for url in mistaken]
    assert hung_up.findings[0].remedy.endswith("if it serves https alone, write https://")
    assert garbled.reason.endswith("it serves no https (WRONG_VERSION_NUMBER)")
    assert garbled.findings[0].remedy == "Write http://, or put a proxy before it that serves https"


async def test_untrusted_certificate_is_engine_unavailable(
    engine: EmbeddedEngine, files: tuple[Path, Path]
) -> None:
    async with Server(engine, of(*files)) as server:
        with pytest.raises(EngineUnavailable, match=r"certificate is not trusted here.*SSL_CERT_FILE"):
            await PistonEngine(discovery(server.url)).__aenter__()


@pytest.mark.parametrize(("names", "message"), [("cert", "cert.pem"), ("none", "No such file"), ("key", "")])
async def test_mismatched_tls_files_are_input_error(
    engine: EmbeddedEngine, files: tuple[Path, Path], names: str, message: str
) -> None:
    tls_options = {"cert": of(files[0]), "none": of("/no/such"), "key": of("", files[1])}[names]
    with pytest.raises(InputError, match=f"tls_.*{message}|{message}.*tls_"):
        await Server(engine, tls_options).__aenter__()


def test_tls_key_with_password_is_refused_without_prompt(files: tuple[Path, Path]) -> None:
    locked = files[1].with_name("locked.pem")
    subprocess.run(
        ["openssl", "ec", "-in", files[1], "-aes128", "-passout", "pass:secret", "-out", locked],
        check=True, capture_output=True,
    )  # fmt: skip
    script = "from pathlib import Path; from ioi_eval.server import ServerOptions as S\n"
    script += f"S(tls_cert=Path({str(files[0])!r}), tls_key=Path({str(locked)!r})).make_tls_context()"
    completed = subprocess.run(
        [sys.executable, "-c", script], input="", capture_output=True, text=True, start_new_session=True
    )
    assert completed.stderr.splitlines()[-1].endswith("the key without a password")
    assert "pass phrase" not in completed.stderr + completed.stdout


def signed(authority: tuple[Path, Path], folder: Path, file: str, name: str, days: str) -> Path:
    """Return a certificate for the authority's own key, with another name or other dates.

    Python 3.13 requires all extensions.
    """
    asking, certificate, names = folder / "asking", folder / file, folder / "names"
    names.write_text(f"subjectAltName={name}\nauthorityKeyIdentifier=keyid\n")
    subprocess.run(
        ["openssl", "req", "-new", "-key", authority[1], "-subj", "/CN=worker", "-out", asking],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(
        ["openssl", "x509", "-req", "-in", asking, "-CA", authority[0],
         "-CAkey", authority[1], "-CAcreateserial",
         "-days", days, "-extfile", names, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate


async def test_client_trusting_authority_is_answered_or_told_remedy_of_invalid_certificate(
    engine: EmbeddedEngine, files: tuple[Path, Path], tmp_path: Path
) -> None:
    expired = signed(files, tmp_path, "expired", "IP:127.0.0.1", "-1")
    misnamed = signed(files, tmp_path, "misnamed", "DNS:other.example", "2")
    async with (
        Server(engine, of(*files)) as valid,
        Server(engine, of(expired, files[1])) as late,
        Server(engine, of(misnamed, files[1])) as other,
    ):
        assert valid.url.startswith("https://127.0.0.1:")
        client = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _ASK, valid.url, late.url, other.url,
            env={**os.environ, "SSL_CERT_FILE": str(files[0])}, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        answer, *errors = (await client.communicate())[0].decode().splitlines()
    assert answer == "200"
    for error, remedy in zip(errors, ("valid certificate", "by a name that is in it"), strict=True):
        assert remedy in error
