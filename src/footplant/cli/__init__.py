"""The command line: each command is one library function; commands add only option parsing and printing."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `footplant ARGUMENTS` and return the exit code: 0 success, 1 a bug, 2 bad usage or input, 130 Ctrl-C.

    Expected errors (a `FootplantError`, a misspelt option) are printed as one line on stderr.
    """
    from footplant.cli.app import app
    from footplant.cli.kernels import leave_kernels
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
        # the reader of our output (head, less) has closed the pipe (typer then exits); redirect stdout so that Python
        # does not report it again when it flushes at exit
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
        # typer raises its own usage errors; their class depends on its version, their methods do not
        if type(error).__name__ == "Abort":
            print("footplant: stopped", file=sys.stderr)
            return INTERRUPTED
        describe = getattr(error, "format_message", None)
        if describe is None:
            raise
        message = (
            describe().replace("Input should be a ", "expected a ").replace("Input should be", "expected a number")
        )
        return _fail(f"{message}{_advice(error)} {_help_hint(error)}")
    finally:
        leave_kernels()


def _advice(error: Exception) -> str:
    """Return advice: which option is missing, or where a misplaced argument belongs."""
    kind, context = type(error).__name__, getattr(error, "ctx", None)
    parameters = [] if context is None else context.command.params
    if kind == "MissingParameter":
        missing = getattr(error, "param", None)
        return f" {missing.help}" if missing is not None and getattr(missing, "help", None) else ""
    if "extra argument" in str(error):
        for option, what in (("--to", "a character"), ("-o", "the file to write")):
            if any(option in parameter.opts for parameter in parameters):
                return f"; {what} is given as {option}"
    return ""


def _help_hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"(see: {context.command_path if context else 'footplant'} --help)"


def _fail(message: str) -> int:
    """Print the message on one line of stderr and return the exit code."""
    print(f"footplant: error: {' '.join(message.split())}", file=sys.stderr)
    return 2
