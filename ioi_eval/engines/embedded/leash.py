"""The rope on which the programs of a job hang: when it is cut, or its holder dies, they are killed."""

from __future__ import annotations

import os
import threading


class Leash:
    """A pipe of which we hold the writing end and the job's boxes the other. Any thread may cut it."""

    def __init__(self) -> None:
        self.end, self._held = os.pipe()
        self._lock = threading.Lock()

    @property
    def is_cut(self) -> bool:
        return self._held < 0

    def cut(self) -> None:
        """Kills what hangs on it; what would be started on it dies at once."""
        with self._lock:
            held, self._held = self._held, -1
        if held >= 0:
            os.close(held)

    def let_go(self) -> None:
        """In a forked child: our copy of the held end would keep the programs alive when the parent cuts."""
        held, self._held = self._held, -1
        if held >= 0:
            os.close(held)

    def close(self) -> None:
        """Gives the descriptors back. Only for who made it, when nothing hangs on it any more."""
        self.cut()
        os.close(self.end)
