"""Fixtures of the unit tests. This file also makes the modules of this folder importable."""

from support.unit_fixtures import empty_certificate_folder, no_certificates, no_retry_waits, recorded_run

__all__ = ["empty_certificate_folder", "no_certificates", "no_retry_waits", "recorded_run"]
