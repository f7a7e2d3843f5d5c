"""All attacks."""

from __future__ import annotations

from attacks_compiling import COMPILING
from attacks_contest import ASKING, FLOODS, LINKS, NAMES, REQUESTS, SHOWN
from attacks_counts import COUNTING_PAIRS, COUNTS
from attacks_faults import FAULTS
from attacks_files import FILES
from attacks_forging import FORGING
from attacks_forked import FORKED
from attacks_functions import FUNCTIONS
from attacks_java import JAVAS
from attacks_kernel import KERNEL, KERNEL_PAIRS
from attacks_leftover_state import NEXT
from attacks_machine import MACHINE, MACHINE_PAIRS
from attacks_memory import MEMORY
from attacks_scripts import SCRIPTS
from attacks_stealing import STEALING
from attacks_stopping import STOPPING
from attacks_tasks import TALKS
from attacks_time_and_output import CONFUSING, PYTHONS, TALKING, TIME
from attacks_uncounted import MORE
from attacks_worker import WORKER

# Attacks by programs on a Batch task. The other names: on all tasks with two processes, on a Function task,
# and so on.
PROGRAMS = (
    *(*STEALING, *FORGING, *STOPPING, *TIME, *PYTHONS, *TALKING, *CONFUSING),
    *(*MORE, *COUNTS, *MACHINE, *MEMORY, *KERNEL, *FAULTS, *NEXT, *JAVAS, *FORKED),
)
PAIRS = (*TALKS, *COUNTING_PAIRS, *MACHINE_PAIRS, *KERNEL_PAIRS)
ATTACKS = (*PROGRAMS, *PAIRS, *FUNCTIONS, *FILES, *COMPILING, *SCRIPTS, *WORKER)

# Attacks by a contest's participants, tried in test_contest_secrets.py and test_hostile_contest_clients.py. No layer
# stops these.
CONTEST = {
    "programs that ask": ASKING,
    "requests to the server": REQUESTS,
    "floods": FLOODS,
    "names": NAMES,
    "programs that pages show": SHOWN,
    "links in a statement": (LINKS,),
}

__all__ = [
    "ATTACKS",
    "COMPILING",
    "CONTEST",
    "FILES",
    "FUNCTIONS",
    "PAIRS",
    "PROGRAMS",
    "SCRIPTS",
    "WORKER",
]
