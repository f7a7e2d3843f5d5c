"""The classic contract: one test per job, for clusters and sandboxes that know nothing else.

`classic_job` and `run_classic` make and judge such jobs. The rest is for clients and servers of today's
pipelines: requests and replies as Piston's JSON has them, the scripts of the contract, and what a reply
means. Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioi_eval.model.lazy import make_lazy_accessors

if TYPE_CHECKING:
    from ioi_eval.engines.contract import OWN as OWN_RUNTIME
    from ioi_eval.engines.jobs.piston_api import decode_reply, decode_request, encode_result
    from ioi_eval.engines.jobs.run import execute, needs_scripts_in_job
    from ioi_eval.judge.classic import classic_job
    from ioi_eval.rules.verdicts import (
        check_graders,
        classic_outcome,
        classic_result,
        may_be_judges_fault,
    )
    from ioi_eval.runs.scorer import run_classic
    from ioi_eval.store.resources import classic_scripts
else:
    __getattr__, __dir__ = make_lazy_accessors(
        __name__,
        {
            "engines.contract": "OWN_RUNTIME=OWN",
            "engines.jobs.run": "execute needs_scripts_in_job",
            "engines.jobs.piston_api": "decode_reply decode_request encode_result",
            "judge.classic": "classic_job",
            "rules.verdicts": "check_graders classic_outcome classic_result may_be_judges_fault",
            "runs.scorer": "run_classic",
            "store.resources": "classic_scripts",
        },
    )

__all__ = [
    "OWN_RUNTIME",
    "check_graders",
    "classic_job",
    "classic_outcome",
    "classic_result",
    "classic_scripts",
    "decode_reply",
    "decode_request",
    "encode_result",
    "execute",
    "may_be_judges_fault",
    "needs_scripts_in_job",
    "run_classic",
]
