"""Groups of options shared by several commands: one parameter in the code, several options on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, TypeVar, dataclass_transform, get_type_hints

import typer

Group = TypeVar("Group")
LeadInOption = Annotated[
    str,
    typer.Option("--lead-in", metavar="WHAT", help="A T-pose before the motion: keep it, on the ground, or drop it."),
]
"""What becomes of a lead-in; commands check it with `lead_in_option`."""


def lead_in_option(wish: str) -> Any:
    """Return the value of `--lead-in` if it is one of those there are."""
    from footplant.errors import FormatError
    from footplant.feet.lead_in import LEAD_IN

    if wish not in LEAD_IN:
        raise FormatError(f"expected --lead-in to be one of {', '.join(LEAD_IN)}; got {wish!r}")
    return wish


@dataclass_transform(frozen_default=True)
def options(group: type[Group]) -> type[Group]:
    """Make a class a frozen group of options, whose fields `spread` turns into command-line options."""
    made = dataclass(frozen=True)(group)
    made.__option_group__ = True  # type: ignore[attr-defined]
    return made


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which every option-group parameter is replaced by the group's own options.

    Typer reads the resulting signature; the command itself receives the assembled groups.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        kind = hints[name]
        if not getattr(kind, "__option_group__", False):
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind))
            continue
        groups[name] = kind
        inner = get_type_hints(kind, include_extras=True)
        for option in fields(kind):
            default = Parameter.empty if option.default is MISSING else option.default
            parameters.append(
                Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=inner[option.name])
            )

    @wraps(command)
    def run(**given: Any) -> None:
        made = {name: kind(**{f.name: given.pop(f.name) for f in fields(kind)}) for name, kind in groups.items()}
        command(**given, **made)

    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
    return run
