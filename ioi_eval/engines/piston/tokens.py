"""Tokens of servers: which request brings one. A token that is meant for some servers reaches no others."""

from __future__ import annotations

from ioi_eval.engines.jobs.piston_api import words_of
from ioi_eval.engines.piston.discovery import endpoint_url
from ioi_eval.engines.piston.reports import WORKER
from ioi_eval.model.errors import InputError
from ioi_eval.model.secret import Secret

_FORMS = "Write TOKEN, for workers alone, or ADDRESS TOKEN for each other server: http://judge:2000 TOKEN"


class Tokens:
    """The token for workers of ours, and those for servers that the user named.

    `text`: TOKEN, or ADDRESS TOKEN, or several of these with white space between them.
    """

    def __init__(self, text: str = "") -> None:
        self._of_workers = Secret()
        self._named: dict[str, Secret] = {}
        self._workers: dict[str, bool] = {}  # by address, as they said themselves
        words = text.split()
        while words:
            word = words.pop(0)
            if "://" not in word:
                self._refuse(bool(self._of_workers), "it holds two tokens for workers")
                self._of_workers = Secret(word)
                continue
            self._refuse(not words or "://" in words[0], "an address in it has no token")
            self._named[endpoint_url(word)] = Secret(words.pop(0))

    def _refuse(self, wrong: bool, problem: str) -> None:
        if wrong:
            raise InputError(problem, where="the token for servers", remedy=_FORMS)

    def must_ask(self, url: str) -> bool:
        """Return True if a server must say who it is before it may get a token."""
        return bool(self._of_workers) and url not in self._named and url not in self._workers

    def told(self, url: str, hello: bytes) -> None:
        """Note what a server answered at `/`, where workers want no token."""
        self._workers[url] = WORKER in words_of(hello)

    def forget(self, url: str) -> None:
        """Note that there may be another server at that address now."""
        self._workers.pop(url, None)

    def of(self, url: str) -> Secret:
        """Return the token for a server; empty: it gets none."""
        if url in self._named:
            return self._named[url]
        return self._of_workers if self._workers.get(url) else Secret()

    def out_of(self, text: str) -> str:
        """Return a message without any of them."""
        for token in (self._of_workers, *self._named.values()):
            text = token.out_of(text)
        return text

    def out_of_reply(self, body: bytes) -> bytes:
        """Return what a server sent without any of them."""
        for token in (self._of_workers, *self._named.values()):
            body = token.out_of_reply(body)
        return body
