"""All attacks."""

from __future__ import annotations

from attacks_compiling import COMPILING
from attacks_files import FILES
from attacks_forging import FORGING
from attacks_functions import FUNCTIONS
from attacks_java import JAVAS
from attacks_more import MORE
from attacks_others import CONFUSING, PYTHONS, TALKING, TIME
from attacks_scripts import SCRIPTS
from attacks_stealing import STEALING
from attacks_stopping import STOPPING
from attacks_tasks import PAIRS

# By programs on a Batch task; by the others' names: on all tasks with two processes, on a Function task, and so on.
PROGRAMS = (*STEALING, *FORGING, *STOPPING, *TIME, *PYTHONS, *TALKING, *CONFUSING, *MORE, *JAVAS)
ATTACKS = (*PROGRAMS, *PAIRS, *FUNCTIONS, *FILES, *COMPILING, *SCRIPTS)

__all__ = ["ATTACKS", "COMPILING", "FILES", "FUNCTIONS", "PAIRS", "PROGRAMS", "SCRIPTS"]
