"""All attacks."""

from __future__ import annotations

from attacks_forging import FORGING
from attacks_others import CONFUSING, PYTHONS, TALKING, TIME
from attacks_stealing import STEALING
from attacks_stopping import STOPPING

PROGRAMS = (*STEALING, *FORGING, *STOPPING, *TIME, *PYTHONS, *TALKING, *CONFUSING)
