"""The command line. A verb is one library function; what a command adds is reading options and printing results."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `footplant ARGUMENTS` and return the exit code: 0 done, 1 a bug, 2 bad usage or bad input, 130 Ctrl-C.

    Whatever goes wrong on purpose (a `FootplantError`, a misspelt option) is one line on stderr.
    """
    from footplant.cli.app import app
    from footplant.errors import FootplantError

    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(arguments or ["--help"], prog_name="footplant", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:
            print("footplant: stopped", file=sys.stderr)
        return code if isinstance(code, int) else 0
    except FootplantError as error:
        return _fail(str(error))
    except (BrokenPipeError, SystemExit):
        # the reader of our output (head, less) has gone (typer then exits): nothing is left to say, and Python must not
        # say it when it flushes at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
        return 0
    except (KeyboardInterrupt, EOFError):
        print("footplant: stopped", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        return _fail(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
    except MemoryError:
        return _fail("out of memory; try a shorter clip or a smaller file")
    except Exception as error:
        # typer raises its own usage errors; which class they have depends on its version, what they know does not
        if type(error).__name__ == "Abort":
            print("footplant: stopped", file=sys.stderr)
            return INTERRUPTED
        describe = getattr(error, "format_message", None)
        if describe is None:
            raise
        return _fail(f"{describe()} {_help_hint(error)}")


def _help_hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"(see: {context.command_path if context else 'footplant'} --help)"


def _fail(message: str) -> int:
    """Print one line, whatever is inside the message."""
    print(f"footplant: error: {' '.join(message.split())}", file=sys.stderr)
    return 2
