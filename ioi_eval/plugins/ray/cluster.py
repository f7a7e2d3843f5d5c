"""Calls of Ray's API. Only this module and the actor use it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from ioi_eval.engines.fleet import NoAnswer
from ioi_eval.model.errors import EngineUnavailable, InputError
from ioi_eval.model.retry import RAY_ADDRESS, RAY_CLIENT
from ioi_eval.model.text import format_install_command
from ioi_eval.model.values import Value
from ioi_eval.plugins.ray.node import Node

RESOURCE = "ioi_eval"
"""Custom resource. If any node declares it, only such nodes are used, with a slot for each unit."""
# Number of calls that an actor accepts at a time, per slot and in addition.
_CALLS_PER_SLOT, _EXTRA_CALLS = 4, 32
# First frame that client and server exchange. The type of the frame is in the fourth byte.
_SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _SETTINGS

_log = logging.getLogger(__name__)


class RunningNode(Value):
    """A node that is running."""

    id: str
    name: str
    free_resources: Mapping[str, float]  # amount of each free resource, by name
    has_slot_resource: bool  # True if the node declares the resource `RESOURCE`

    def count_slots(self, cpus_per_slot: float) -> int:
        cpu_slots = int(self.free_resources.get("CPU", 0) / cpus_per_slot)
        return (
            min(cpu_slots, int(self.free_resources.get(RESOURCE, 0))) if self.has_slot_resource else cpu_slots
        )


def check_address(address: str) -> None:
    """Raise InputError if `address` is not a cluster's address, or Ray is not installed."""
    if address != "ray" and not address.startswith("ray://"):
        raise InputError(
            f"{address} is not the address of a Ray cluster",
            remedy="Write ray or ray://HOST:PORT, or embedded",
        )
    if importlib.util.find_spec("ray") is None:
        remedy = f"{format_install_command('ray')}; or use embedded"
        raise InputError("Ray is not installed", remedy=remedy)


async def wait_for_answer(address: str, seconds: float) -> None:
    """Raise EngineUnavailable if no Ray server answers at the address that Ray would use.

    Ray itself waits for minutes and ignores signals meanwhile, even if the cluster hangs, or if another
    server has the port of a cluster that has stopped.
    """
    cluster_address = _find_cluster_address(address)
    host, _, port = cluster_address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        return  # Ray itself reports a better error for such an address
    last_error: Exception = TimeoutError("no answer")
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                try:
                    await _check_http2(host.strip("[]"), int(port))
                except (OSError, EOFError) as error:
                    last_error = error
                    RAY_ADDRESS.log(_log, error)
                    await asyncio.sleep(RAY_ADDRESS.longest_wait)
                else:
                    return
    raise EngineUnavailable(
        f"no Ray server answered at {cluster_address}, the address of the Ray cluster, for {seconds:g} s"
        f" ({last_error}; retry rule `{RAY_ADDRESS.name}`)."
        " Start Ray (ray start --head), or correct the engine's address or RAY_ADDRESS. If neither is set,"
        " Ray reads the file /tmp/ray/ray_current_cluster. Remove the file if the cluster is gone"
    )


async def _check_http2(host: str, port: int) -> None:
    """Open an HTTP/2 connection, as all servers of Ray accept. Raises OSError or EOFError otherwise.

    If Ray uses TLS, which needs certificates, it is enough that a server accepts the connection.
    """
    from ray._private.ray_constants import env_bool  # Ray itself reads such variables with this function

    reader, writer = await asyncio.open_connection(host, port)
    try:
        if not env_bool("RAY_USE_TLS", False):
            writer.write(_PREFACE)
            frame = await reader.readexactly(len(_SETTINGS))
            if frame[3] != _SETTINGS[3]:
                raise ConnectionError("the server at this address is not a Ray server")
    finally:
        writer.close()


def _find_cluster_address(address: str) -> str:
    """Return the address that Ray would use.

    It is empty if this process has joined a cluster, or if Ray would start a new cluster.
    """
    import ray

    if ray.is_initialized() or address:
        return "" if ray.is_initialized() else address
    # A private function, because the only public function that reads the address, `ray.init`, also joins.
    from ray._private.services import get_ray_address_from_environment

    try:
        return get_ray_address_from_environment(None, None) or ""
    except ConnectionError:  # older versions of Ray raise it if no address is set
        return ""


def connect(address: str) -> bool:
    """Join a cluster. Returns True if this process had not joined a cluster before.

    An empty address means RAY_ADDRESS if it is set, else a new cluster on this machine.
    """
    import ray

    if ray.is_initialized():
        return False
    try:
        _connect_with_retries(address)
    except (ConnectionError, OSError, RuntimeError, ValueError, ImportError) as error:
        place = f"at {address}" if address else "by RAY_ADDRESS or here"
        # The reason is in the last line of the message from the cluster's head.
        reason = (
            _read_last_line(error)
            if isinstance(error, ConnectionAbortedError)
            else (str(error).splitlines() or [""])[0]
        )
        if threading.current_thread() is not threading.main_thread():
            reason += " (in a thread; call ray.init() before)"
        raise EngineUnavailable(
            f"cannot connect to a Ray cluster {place}: {reason}. Start"
            " one (ray start --head), with the versions"
            " of Ray and Python that are used here"
        ) from error
    return True


def _connect_with_retries(address: str) -> None:
    """Connect, and try again if the head could not start the process that serves this client.

    Ray forks that process from a process with threads, so it sometimes dies at once. On a busy head it may be
    late.
    """
    import ray

    for attempt in range(1, RAY_CLIENT.max_attempts + 1):
        try:
            ray.init(address=address or None, log_to_driver=False, configure_logging=False)
        except ConnectionAbortedError:
            if RAY_CLIENT.is_last(attempt):
                raise
            pause_s = RAY_CLIENT.delay_s_after(attempt)
            _log.warning(
                "the Ray cluster at %s refused the connection; trying again in %g s", address, pause_s
            )
            time.sleep(pause_s)
        except BaseException as error:
            # Ray raises an error of this type if its node on this machine started too slowly.
            if type(error) is Exception and not RAY_CLIENT.is_last(attempt):
                ray.shutdown()
                _log.warning("the Ray cluster on this machine started too slowly; trying again")
                continue
            if type(error) is Exception:
                raise RuntimeError(str(error)) from error
            raise
        else:
            return


def disconnect() -> None:
    import ray

    ray.shutdown()


def list_nodes() -> list[RunningNode]:
    """Return the running nodes, or only those that declare the resource `RESOURCE` if a node does."""
    import ray
    from ray.util import client

    read_free_resources = _read_free_resources
    # This process is connected as a client and not part of the cluster, so it cannot read the state.
    if client.ray.is_connected():
        read_free_resources = _read_free_resources_in_task
    free_resources = read_free_resources()
    nodes = [
        RunningNode(
            id=node["NodeID"],
            name=f"{node['NodeManagerHostname']}:{node['NodeManagerPort']}",
            free_resources=free_resources[node["NodeID"]],
            has_slot_resource=RESOURCE in node["Resources"],
        )
        for node in ray.nodes()
        if node["Alive"] and node["NodeID"] in free_resources
    ]
    dedicated_nodes = [node for node in nodes if node.has_slot_resource]
    return dedicated_nodes or nodes


def _read_free_resources() -> dict[str, dict[str, float]]:
    # Ray has no public function that returns resources by node.
    from ray._private.state import (
        available_resources_per_node,
    )

    resources: dict[str, dict[str, float]] = available_resources_per_node()
    return resources


def _read_free_resources_in_task() -> dict[str, dict[str, float]]:
    import ray

    resources: dict[str, dict[str, float]] = ray.get(ray.remote(num_cpus=0)(_read_free_resources).remote())
    return resources


def find_actor(actor_name: str) -> Any | None:
    """Return the actor with this name, which a process of the same Ray job started, or None."""
    import ray

    try:
        return ray.get_actor(actor_name)
    except ValueError:
        return None


def start_actor(node: RunningNode, actor_name: str, slots: int, cpus_per_slot: float, *arguments: Any) -> Any:
    """Start an actor on a node, or return the actor of this name that another process has just started.

    Args:
        node: The only node on which the actor may run.
        actor_name: The name by which other processes find the actor.
        slots: The number of jobs that the actor executes at the same time.
        cpus_per_slot: The number of CPUs that Ray reserves for each slot.
        *arguments: The arguments of `Node`.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    actor_options = ray.remote(Node).options(
        name=actor_name,
        get_if_exists=True,
        num_cpus=slots * cpus_per_slot,
        num_gpus=0,
        resources={RESOURCE: slots} if node.has_slot_resource else {},
        scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
        max_concurrency=_CALLS_PER_SLOT * slots + _EXTRA_CALLS,
        max_restarts=0,
        max_task_retries=0,
    )
    return actor_options.remote(*arguments)


class NodeLost(NoAnswer):
    """The actor of a node, or the node itself, was lost."""


class RayCall:
    """A call to an actor. `answer` raises NodeLost, or EngineUnavailable if only the call failed."""

    def __init__(self, actor: Any, method: str, *arguments: Any) -> None:
        self._reference = getattr(actor, method).remote(*arguments)

    async def answer(self) -> Any:
        import ray

        try:
            return await self._reference
        except ray.exceptions.RayTaskError as error:
            raise EngineUnavailable(f"a node of the Ray cluster failed: {_read_last_line(error)}") from error
        except (ray.exceptions.RayError, ConnectionError) as error:
            raise NodeLost(_read_last_line(error)) from error

    def cancel(self) -> None:
        import ray

        ray.cancel(self._reference)


def _read_last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]


def store_object(data: bytes) -> Any:
    import ray

    return ray.put(data)


def kill_actor(actor: Any) -> None:
    import ray

    ray.kill(actor)
