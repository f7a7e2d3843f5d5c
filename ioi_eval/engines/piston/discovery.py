"""Discovery of servers: a fixed list, Slurm's queue, a Kubernetes service, a file of addresses.

Each of them is a `Discovery`. A search that fails raises InputError or EngineUnavailable.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from ioi_eval.engines.threads import run_command
from ioi_eval.model.errors import EngineUnavailable, InputError

PORT = 2000  # Piston's default port
SLURM, KUBERNETES, _FILE = "slurm", "k8s:", "@"
# Pattern for a line that squeue prints in the format "%N %j": nodes and job name.
_WORKER = re.compile(r"([\w.,[\]-]+) piston-worker-([0-9]+)\s*")
_API = "/api/v2"
_ADDRESS_REMEDY = "Write http://HOST:PORT, and commas between several"

# Seconds between two searches for servers. Slurm's controller serves the whole cluster, so it must not be
# asked often.
_SLURM_INTERVAL_S, _KUBERNETES_INTERVAL_S, _FILE_INTERVAL_S = 15.0, 10.0, 2.0
_COMMAND_TIMEOUT_S = 30.0


class Discovery(Protocol):
    """Finds servers. If a search fails, the servers of the previous search stay in use."""

    @property
    def search_interval_s(self) -> float | None:
        """Seconds between two searches. None means that servers are searched once."""
        ...

    async def find(self) -> frozenset[str]:
        """Return the base URLs of all servers: `http://host:2000`."""
        ...


# --- addresses ---------------------------------------------------------------------------------------


def normalize_address(address: str) -> str:
    """Return a server's address in its normal form: `http://HOST:PORT`, without a slash and `/api/v2`.

    The default scheme is http. An address without a scheme needs no port. Raises InputError.
    """
    lacks_scheme = "://" not in address
    try:
        url = urlsplit(f"http://{address.strip()}" if lacks_scheme else address.strip())
        port = PORT if lacks_scheme and url.port is None else url.port
    except ValueError:
        raise _make_address_error(address) from None
    if url.scheme not in ("http", "https") or not _is_host(url.hostname) or url.query or url.fragment:
        raise _make_address_error(address)
    if lacks_scheme and url.hostname in ("http", "https"):  # `http:/host` lacks a slash
        raise _make_address_error(address)
    if port == 0:  # port 0 is only valid for servers that listen, for which it means any free port
        raise _make_address_error(address)
    _require_no_secrets(url)
    host = _format_host(url.hostname or "", address)
    path = url.path.rstrip("/").removesuffix(_API).rstrip("/")
    return f"{url.scheme}://{host}{'' if port is None else f':{port}'}{path}"


def _format_host(host: str, address: str) -> str:
    """Return a host in the form for a URL: an IPv6 address in brackets and in its shortest form."""
    if ":" not in host:
        return host
    try:
        return f"[{ipaddress.IPv6Address(host)}]"
    except ValueError:
        raise _make_address_error(address) from None


def parse_addresses(addresses: str) -> frozenset[str]:
    """Return the addresses of a list that is separated by commas or white space."""
    return frozenset(normalize_address(address) for address in re.split(r"[,\s]+", addresses) if address)


def _is_host(name: str | None) -> bool:
    return name is not None and re.fullmatch(r"[\w.-]+|[0-9a-f:.]+(%\w+)?", name) is not None


def _is_port(number: int) -> bool:
    return 0 < number < 1 << 16


def _require_no_secrets(url: SplitResult) -> None:
    if url.username is not None or url.password is not None:
        host = url.hostname or ""
        remedy = "Results contain addresses: put ADDRESS TOKEN or ADDRESS USER:PASSWORD into IOI_EVAL_TOKEN"
        raise InputError("the address contains a user name or a password", where=host, remedy=remedy)


def _make_address_error(address: str) -> InputError:
    """Return the error for an invalid address. It hides the part before an @, which may be a password."""
    *secret_parts, visible_address = address.strip().rsplit("@", maxsplit=1)
    is_ipv6 = visible_address.count(":") > 1 + ("://" in visible_address)
    remedy = (
        f"{_ADDRESS_REMEDY}. An address of IPv6 goes into brackets: http://[::1]:{PORT}"
        if is_ipv6
        else _ADDRESS_REMEDY
    )
    return InputError(
        f"{'***@' * bool(secret_parts) + visible_address!r} is not the address of a server", remedy=remedy
    )


# --- discoveries -------------------------------------------------------------------------------------


class FixedServers:
    """A fixed list of servers."""

    search_interval_s: float | None = None

    def __init__(self, urls: Iterable[str]) -> None:
        self._urls = frozenset(map(normalize_address, urls))

    def __str__(self) -> str:
        return ",".join(sorted(self._urls))

    async def find(self) -> frozenset[str]:
        return self._urls


class SlurmDiscovery:
    """Servers on the nodes of Slurm's running jobs named `piston-worker-PORT`, of all users or a user."""

    search_interval_s: float | None = _SLURM_INTERVAL_S

    def __init__(self, user: str | None = None) -> None:
        self._user = user

    def __str__(self) -> str:
        return f"{SLURM}:{self._user}" if self._user else SLURM

    async def find(self) -> frozenset[str]:
        user_option = () if self._user is None else (f"--user={self._user}",)
        # Ask for the nodes first: unlike a list of nodes, a job's name may contain spaces.
        queue_lines = await _run_command_lines(
            "squeue", "--noheader", "--states=RUNNING", "--format=%N %j", *user_option
        )
        job_matches = [
            job_match
            for job_match in map(_WORKER.fullmatch, queue_lines)
            if job_match and _is_port(int(job_match[2]))
        ]
        return frozenset(
            [
                f"http://{node.lower()}:{int(job_match[2])}"
                for job_match in job_matches
                for node in await _expand_nodes(job_match[1])
            ]
        )


async def _expand_nodes(nodes: str) -> list[str]:
    """Return the nodes of a list in Slurm's form, such as node[1-3]."""
    is_single = not re.search(r"[\[,]", nodes)
    return [nodes] if is_single else await _run_command_lines("scontrol", "show", "hostnames", nodes)


class KubernetesDiscovery:
    """The addresses of a headless Kubernetes service, as the cluster's name server reports them."""

    search_interval_s: float | None = _KUBERNETES_INTERVAL_S

    def __init__(self, service: str, port: int = PORT) -> None:
        self._service, self._port = service, port

    def __str__(self) -> str:
        return f"{KUBERNETES}{self._service}:{self._port}"

    async def find(self) -> frozenset[str]:
        loop = asyncio.get_running_loop()
        try:
            address_infos = await loop.getaddrinfo(self._service, self._port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:  # UnicodeError means that the host name is invalid
            raise EngineUnavailable(
                f"cannot look up the service {self._service!r}: {error}. The name is SERVICE, or"
                " SERVICE.NAMESPACE from another namespace; the service must be headless and is known only"
                " inside the cluster"
            ) from None
        hosts = {(family, str(address[0])) for family, _, _, _, address in address_infos}
        # A pod may have IPv4 and IPv6 addresses, but must count only once.
        ipv4_hosts = {host for family, host in hosts if family == socket.AF_INET}
        return frozenset(
            _make_numeric_url(host, self._port) for host in ipv4_hosts or {host for _, host in hosts}
        )


def _make_numeric_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class ServerListDiscovery:
    """A file of addresses, in lines or separated by commas. Comments start with `#`."""

    search_interval_s: float | None = _FILE_INTERVAL_S

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return f"{_FILE}{self._path}"

    async def find(self) -> frozenset[str]:
        try:
            queue_lines = (await asyncio.to_thread(self._path.read_text)).splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(
                f"the file of servers cannot be read: {reason}", where=f"{_FILE}{self._path}"
            ) from None
        return frozenset().union(
            *(self._parse_line(line_number, line) for line_number, line in enumerate(queue_lines, 1))
        )

    def _parse_line(self, line_number: int, line: str) -> frozenset[str]:
        try:
            return parse_addresses(line.partition("#")[0])
        except InputError as error:
            raise InputError(
                error.problem, where=str(self._path), row=line_number, remedy=error.remedy
            ) from None


# --- the user's value for the engine ---------------------------------------------------------------


def discovery(value: str) -> Discovery:
    """Return the discovery for a value: `slurm[:USER]`, `k8s:SERVICE[:PORT]`, `@FILE`, or addresses.

    Raises InputError for an invalid value, and for bare names without a scheme that are not names of hosts.
    """
    value = value.strip()
    scheme, _, argument = value.partition(":")
    if scheme == SLURM and not argument.isdigit():
        return SlurmDiscovery(argument or None)
    if value.startswith(KUBERNETES):
        return _parse_service(argument)
    if value.startswith(_FILE):
        return ServerListDiscovery(Path(value.removeprefix(_FILE)).expanduser())
    urls = parse_addresses(value)
    if not urls:
        raise InputError("the value contains no address of a server", remedy=_ADDRESS_REMEDY)
    host_names = re.split(r"[,\s]+", value)
    if all(
        re.fullmatch(r"[A-Za-z_][\w-]*", name) and not _is_resolvable_host(name)
        for name in host_names
        if name
    ):
        raise InputError(f"the host {value!r} does not exist", remedy=_ADDRESS_REMEDY)
    return FixedServers(urls)


def _is_resolvable_host(name: str) -> bool:
    try:
        return bool(socket.getaddrinfo(name, None))
    except (OSError, UnicodeError):
        return False


def _parse_service(value: str) -> KubernetesDiscovery:
    service_match = re.fullmatch(r"([\w.-]+)(?::([0-9]+))?", value)
    port = int(service_match[2] or PORT) if service_match else 0
    if not service_match or not _is_port(port):
        remedy = "Write k8s:SERVICE or k8s:SERVICE:PORT"
        raise InputError(f"{KUBERNETES}{value} does not name a service", remedy=remedy)
    return KubernetesDiscovery(service_match[1], port)


# --- commands ----------------------------------------------------------------------------------------


async def _run_command_lines(*command: str) -> list[str]:
    """Return the lines that a command prints. Raises EngineUnavailable if it fails, hangs or is missing."""
    try:
        completed_process = await run_command(command, seconds=_COMMAND_TIMEOUT_S)
    except TimeoutError:
        raise EngineUnavailable(f"{command[0]} did not answer within {_COMMAND_TIMEOUT_S:g} s") from None
    except OSError as error:
        remedy = "Run this where Slurm's commands are, or name the workers by their addresses"
        raise EngineUnavailable(f"{command[0]} cannot be started: {error.strerror}. {remedy}") from None
    if completed_process.returncode:
        error_lines = completed_process.stderr.decode(errors="replace").strip().splitlines() or [
            "it printed nothing"
        ]
        raise EngineUnavailable(
            f"{' '.join(command[:3])} exited with code {completed_process.returncode}: {error_lines[-1]}"
        )
    return completed_process.stdout.decode(errors="replace").splitlines()
