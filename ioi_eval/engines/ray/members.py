"""The nodes that take part: found, started, joined by an actor each, and let go when they leave."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from ioi_eval.engines.contract import Change, Profile
from ioi_eval.engines.pool import Endpoint, Pool, State, differing, offers_of
from ioi_eval.engines.ray import cluster
from ioi_eval.engines.ray.cluster import Call, NodeLost, Seen
from ioi_eval.engines.ray.parcels import VERSION, About, NodeError
from ioi_eval.model.errors import EngineError, EngineUnavailable, IoiEvalError
from ioi_eval.model.values import Value

_FIRST_REST, _LONGEST_REST = 1.0, 60.0  # seconds until a node that failed is tried again


class NodePatience(Value):
    """Seconds. The defaults are for clusters; tests have less time."""

    answer: float = 15.0  # until something answers at the cluster's address
    look: float = 2.0  # between two looks at the cluster
    opening: float = 300.0  # until the first node is there
    others: float = 30.0  # after that, until those that were seen with it are
    drought: float = 300.0  # without any node, before a job is given up
    closing: float = 10.0


class Wanted(Value):
    """The use of nodes that the user wants."""

    slots: int | None = None  # on all nodes together
    cpus_per_slot: float = 1.0
    same_compiler: bool = False
    allow_unconfined: bool = False


class RayNode(Endpoint):
    """A node with its actor."""

    def __init__(self, seen: Seen, actor: Any, about: About, own: bool) -> None:
        super().__init__(seen.name, about.slots)
        self.id, self.actor, self.profile, self.own = seen.id, actor, about.profile, own


class NodeMembers:
    """Keeps the pool in step with the cluster. Closing ends the actors that it started."""

    def __init__(self, pool: Pool[RayNode], wanted: Wanted, patience: NodePatience) -> None:
        self._pool, self._wanted, self._patience = pool, wanted, patience
        self._token = secrets.token_hex(8)
        self._nodes: dict[str, RayNode] = {}
        self._joining: dict[str, tuple[int, asyncio.Task[None]]] = {}  # by node: slots, and who sees to it
        self._faults: dict[str, int] = {}
        self.left_out: dict[str, str] = {}  # name -> why
        self.first: Profile | None = None
        self._watching: asyncio.Task[None] | None = None
        self._begun = False  # from then on it tells who comes

    @property
    def nodes(self) -> Mapping[str, RayNode]:
        return self._nodes

    async def begin(self) -> None:
        """Raises EngineUnavailable where no node can be used."""
        waited, since_first = 0.0, 0.0
        self._watching = asyncio.create_task(self._watch())
        while not (self._nodes and (not self._joining or since_first > self._patience.others)):
            if self._watching.done():
                await self._watching
            if waited > self._patience.opening and not self._nodes:
                reasons = "; ".join(f"{name}: {why}" for name, why in sorted(self.left_out.items()))
                raise EngineUnavailable(
                    f"no node of the Ray cluster could be used for {self._patience.opening:g} s:"
                    f" {reasons or 'none has a free CPU. Stop what has reserved them, or use fewer'}"
                )
            await asyncio.sleep(0.05)
            waited += 0.05
            since_first += 0.05 if self._nodes else 0.0
        self._begun = True

    async def close(self) -> None:
        tasks = [task for _, task in self._joining.values()]
        if self._watching is not None:
            tasks.append(self._watching)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        own = [node for node in self._nodes.values() if node.own]
        if own:
            closing = [asyncio.create_task(_closed(node)) for node in own]
            _, late = await asyncio.wait(closing, timeout=self._patience.closing)
            for each in late:
                each.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        for node in own:
            await asyncio.to_thread(cluster.kill, node.actor)
        self._nodes.clear()

    def lose(self, node: RayNode, why: EngineError) -> None:
        """Drop a node: its jobs go elsewhere. If only the actor is gone, it is started again."""
        if self._nodes.get(node.id) is not node:
            return
        del self._nodes[node.id]
        node.errors += 1
        node.why = str(why)
        self._pool.update(node, State.GONE)
        self.left_out[node.url] = str(why)
        self._pool.changed(node.url, Change.LOST, str(why))

    # --- looking -------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(EngineError):
                self._compare(await asyncio.to_thread(cluster.survey))
            await asyncio.sleep(self._patience.look)

    def _compare(self, seen: list[Seen]) -> None:
        alive = {node.id for node in seen}
        for node in [node for node in self._nodes.values() if node.id not in alive]:
            self.lose(node, NodeLost("it left the cluster"))
        for new in seen:
            if new.id not in self._nodes and new.id not in self._joining:
                slots = self._room_for(new)
                self._joining[new.id] = slots, asyncio.create_task(self._join(new, slots))

    def _room_for(self, node: Seen) -> int:
        room = node.slots(self._wanted.cpus_per_slot)
        if self._wanted.slots is None:
            return room
        taken = sum(each.slots for each in self._nodes.values())
        taken += sum(slots for slots, _ in self._joining.values())
        return max(0, min(room, self._wanted.slots - taken))

    # --- joining -------------------------------------------------------------------------------------

    async def _join(self, seen: Seen, slots: int) -> None:
        try:
            node = await self._started(seen, slots)
        except (IoiEvalError, OSError) as error:
            if self._begun and self.left_out.get(seen.name) != str(error):
                self._pool.changed(seen.name, Change.LEFT_OUT, str(error))
            self.left_out[seen.name] = str(error)
            faults = self._faults[seen.id] = self._faults.get(seen.id, 0) + 1
            await asyncio.sleep(min(_LONGEST_REST, _FIRST_REST * 2**faults))
        else:
            if node is not None:
                was_here = seen.name in self._pool.known
                self.left_out.pop(seen.name, None)
                self._nodes[seen.id] = node
                self._pool.update(node, State.HEALTHY)
                if self._begun:
                    self._pool.changed(seen.name, Change.BACK if was_here else Change.JOINED)
        finally:
            self._joining.pop(seen.id, None)

    async def _started(self, seen: Seen, slots: int) -> RayNode | None:
        """None where the node has no room for us now."""
        how = self._wanted
        name = f"ioi_eval {VERSION} {seen.id} {how.cpus_per_slot:g} {how.allow_unconfined:d}"
        actor = await asyncio.to_thread(cluster.existing, name)
        if actor is None:
            if not slots:
                return None
            given = (self._token, slots, how.allow_unconfined)
            actor = await asyncio.to_thread(cluster.start, seen, name, slots, how.cpus_per_slot, *given)
        about: About | NodeError = await Call(actor, "about").answer()
        if isinstance(about, NodeError):
            raise about.error
        self._check(about)
        self.first = self.first or about.profile
        return RayNode(seen, actor, about, own=about.made_by == self._token)

    def _check(self, about: About) -> None:
        """Raise EngineUnavailable for a node that may not judge with the others."""
        if about.version != VERSION:
            raise EngineUnavailable(
                f"it has ioi_eval {about.version}, this is {VERSION}: install the same version"
            )
        if self.first is None:
            return
        if about.profile.architecture != self.first.architecture:
            raise EngineUnavailable(
                f"its architecture is {about.profile.architecture}, not {self.first.architecture}"
            )
        others = differing([self.first.toolchains, about.profile.toolchains])
        if self._wanted.same_compiler and others:
            raise EngineUnavailable(f"it has another {', '.join(others)}")


async def _closed(node: RayNode) -> None:
    with contextlib.suppress(EngineError):
        await Call(node.actor, "close").answer()


def merged(nodes: Mapping[str, RayNode], first: Profile) -> Profile:
    """Return the first node's profile with the tools of all nodes: a job goes to a node that has them."""
    offers = offers_of([first.toolchains, *(node.profile.toolchains for node in nodes.values())])
    toolchains = {command: tools[0] for command, tools in offers.items()}
    return msgspec.structs.replace(first, name="ray", toolchains=toolchains, offers=offers)
