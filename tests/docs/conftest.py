"""Fixtures of tests that compare the pages, tables and help of the whole project, plugins included."""

from support.unit_fixtures import empty_certificate_folder, no_certificates, no_retry_waits, recorded_run

__all__ = ["empty_certificate_folder", "no_certificates", "no_retry_waits", "recorded_run"]
