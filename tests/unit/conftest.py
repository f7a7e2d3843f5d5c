"""Fixtures of the unit tests. With this file the modules of this folder can be imported."""

from support.unit_fixtures import (
    empty_certificate_folder,
    no_certificates,
    no_retry_waits,
    problems,
    recorded_run,
)

__all__ = ["empty_certificate_folder", "no_certificates", "no_retry_waits", "problems", "recorded_run"]
