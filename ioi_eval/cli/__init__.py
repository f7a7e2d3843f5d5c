"""The command line: one file per command. The only layer that prints, draws and reads the environment."""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated, NoReturn

import stamina.instrumentation
import typer

from ioi_eval.cli import console
from ioi_eval.cli.calibrate import calibrate
from ioi_eval.cli.doctor import doctor
from ioi_eval.cli.examples import examples
from ioi_eval.cli.init import init
from ioi_eval.cli.package import package
from ioi_eval.cli.problems import problems
from ioi_eval.cli.report import report
from ioi_eval.cli.run import run
from ioi_eval.cli.score import score
from ioi_eval.cli.validate import validate
from ioi_eval.cli.worker import worker
from ioi_eval.model.errors import IoiEvalError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": console.WIDTH},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        console.show(f"ioi-eval {version('ioi-eval')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Scores programs that models wrote for olympiad problems: exact, fast, no Docker, no root.

    \b
    Examples:
      ioi-eval doctor                                        what works on this machine
      ioi-eval examples mine                                 example problems and a dump to try
      ioi-eval score mine/generations.jsonl --problems mine/problems
      ioi-eval validate mine/problems                        do the solutions get what they should?
      ioi-eval run --help                                    no dump yet: ask a model or an agent
      ioi-eval score --help                                  all about scoring
    """


for _command in (score, run, validate, calibrate, report, problems, worker, package, doctor, init, examples):
    app.command()(_command)


def keep_retries_quiet() -> None:
    """A retry is no news: only its end is. Logged, it would be drawn into the progress bar."""
    stamina.instrumentation.set_on_retry_hooks(())
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")  # read when the hub's client is loaded


# A path below a folder that nobody lets us enter, or longer than paths are: already asking for it fails.
_UNREACHABLE = frozenset({errno.EACCES, errno.EPERM, errno.ENAMETOOLONG})


def main() -> NoReturn:
    """The entry point: errors that we raise on purpose become one line, all others are bugs and show.

    So do paths that may not even be asked for, wherever one is first.
    """
    keep_retries_quiet()
    console.tell_what_is_logged()
    try:
        app(prog_name="ioi-eval")
    except IoiEvalError as error:
        console.complain(str(error))
    except OSError as error:
        if error.errno not in _UNREACHABLE or error.filename is None:
            raise
        console.complain(f"{error.filename}: cannot be reached ({error.strerror}). Name another place")
    sys.exit(console.BAD_INPUT)
