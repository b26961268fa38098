"""The entry point of ``cyclebound``: its commands put together, and how errors end."""

import os
import sys
import warnings

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.lazy import import_whole
from cyclebound.sim.cli.base import GROUPS, Commands, app, fail


def main() -> None:
    """Entry point: a user's mistake is one line and status 2, Ctrl-C is status 130."""
    # some components are made only to be asked
    warnings.filterwarnings("ignore", message=r"(?s).* created but never used")
    try:
        add_commands(sys.argv[1:])

        status = app(standalone_mode=False)
        sys.stdout.flush()
        if status == 130:  # typer's answer to Ctrl-C
            raise KeyboardInterrupt
    except UserError as error:
        fail(str(error))
    except KeyboardInterrupt:
        fail("interrupted", 130)
    except MemoryError:
        fail("there is not enough memory for this")
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        # typer's own errors, wherever its version keeps their classes
        if not hasattr(error, "format_message"):
            raise
        if not error.format_message():  # no command: the help has been printed
            sys.exit(2)
        words: list[str] = []
        context = getattr(error, "ctx", None)
        while context is not None and context.parent is not None:
            words.insert(0, context.info_name)
            context = context.parent
        command = " ".join(["cyclebound", *words])
        fail(f"{error.format_message()} See `{command} --help`.")
    sys.exit(status if isinstance(status, int) else 0)


def add_commands(words: list[str]) -> None:
    """Import the modules that add commands; of a family's, only if the command line names it.

    Raises `UserError` if a package is broken.
    """
    for own in ("listing", "run", "evidence", "monitor", "fpga", "mutate", "check"):
        import_whole(f"cyclebound.sim.cli.{own}")
    for name, (module, says) in GROUPS.items():
        if name in words:
            import_whole(module)
        elif name not in {group.name for group in app.registered_groups}:
            app.add_typer(Commands(help=says), name=name)
