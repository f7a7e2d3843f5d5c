"""`python -m ioi_eval.cli`: the same as `ioi-eval`."""

from ioi_eval.cli import main

main()
