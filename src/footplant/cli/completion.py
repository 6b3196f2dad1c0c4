"""`footplant completion`: scripts with which shells complete commands, options, samples and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class Option:
    """An option of a command."""

    names: tuple[str, ...]
    """Its spellings: "-o", "--out"."""
    help: str
    takes_value: bool


def completion(
    context: typer.Context,
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a script that completes commands, options, samples and files in a shell.

    bash: add eval "$(footplant completion bash)" to ~/.bashrc; zsh: the same with zsh, in ~/.zshrc; fish: save it as
    ~/.config/fish/completions/footplant.fish.

    Example: footplant completion bash
    """
    from footplant.errors import FormatError

    if shell not in SHELLS:
        raise FormatError(f"expected a shell among {', '.join(SHELLS)}; got {shell!r}")
    print(completion_script(shell, context.find_root().command))


def completion_script(shell: str, program: Any) -> str:
    """Return the script of a shell for a program: a group of commands, as click has it."""
    from footplant import samples

    commands = _commands(program)
    names = [f"sample:{name}" for name in (*samples.MOTIONS, *samples.CHARACTERS)]
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands, names)


def _commands(program: Any) -> dict[str, tuple[str, list[Option]]]:
    """Return every command with its summary and its options."""
    found = {}
    for name, command in program.commands.items():
        options = [
            Option(
                tuple(parameter.opts) + tuple(parameter.secondary_opts),
                " ".join((parameter.help or "").split()),
                not getattr(parameter, "is_flag", False),
            )
            for parameter in command.params
            if parameter.param_type_name == "option"
        ]
        found[name] = (command.short_help or "", options)
    return found


def _spellings(options: list[Option]) -> str:
    return " ".join(name for option in options for name in option.names) + " --help"


def _bash(commands: dict[str, tuple[str, list[Option]]], names: list[str]) -> str:
    cases = "\n".join(f'    {name}) words="{_spellings(options)}" ;;' for name, (_, options) in commands.items())
    return f"""\
# completion of footplant for bash
_footplant() {{
  local line=${{COMP_LINE:0:COMP_POINT}} command=${{COMP_WORDS[1]}} words="" word
  local cur=${{line##* }}
  if (( COMP_CWORD <= 1 )); then
    COMPREPLY=( $(compgen -W "{" ".join(commands)} --help --version" -- "$cur") )
    return
  fi
  case $command in
{cases}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=( $(compgen -W "$words" -- "$cur") )
    return
  fi
  COMPREPLY=( $(compgen -f -- "$cur") )
  for word in $(compgen -W "{" ".join(names)}" -- "$cur"); do
    # bash completes what follows a colon
    [[ $cur == *:* ]] && COMPREPLY+=( "${{word#*:}}" ) || COMPREPLY+=( "$word" )
  done
}}
complete -o filenames -F _footplant footplant"""


def _zsh(commands: dict[str, tuple[str, list[Option]]], names: list[str]) -> str:
    listed = "\n".join(f"    {_quoted(f'{name}:{summary}')}" for name, (summary, _) in commands.items())
    cases = "\n".join(
        f"    {name}) options=({' '.join(_quoted(f'{n}:{o.help}') for o in options for n in o.names)}) ;;"
        for name, (_, options) in commands.items()
    )
    samples = " ".join(_quoted(name.replace(":", "\\:")) for name in names)
    return f"""\
#compdef footplant
# completion of footplant for zsh
_footplant() {{
  local -a commands options samples
  commands=(
{listed}
  )
  samples=({samples})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
{cases}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe option options
  else
    _files
    _describe sample samples
  fi
}}
compdef _footplant footplant"""


def _fish(commands: dict[str, tuple[str, list[Option]]], names: list[str]) -> str:
    lines = ["# completion of footplant for fish"]
    for name, (summary, options) in commands.items():
        lines.append(f"complete -c footplant -n __fish_use_subcommand -f -a {name} -d {_quoted(summary)}")
        for option in options:
            spelled = " ".join(
                f"-l {word.removeprefix('--')}" if word.startswith("--") else f"-s {word.removeprefix('-')}"
                for word in option.names
            )
            value = " -r" if option.takes_value else ""
            seen = f"'__fish_seen_subcommand_from {name}'"
            lines.append(f"complete -c footplant -n {seen} {spelled}{value} -d {_quoted(option.help)}")
    lines.append(f"complete -c footplant -n 'not __fish_use_subcommand' -a {_quoted(' '.join(names))} -d sample")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Return a text in single quotes, as all three shells read it."""
    return "'" + text.replace("'", "’") + "'"
