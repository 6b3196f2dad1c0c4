"""The operator stack: a clip and the operators applied to it, each of which can be changed, switched off or moved.

The history of a session is a list of edits. Folding them gives a stack; evaluating the stack gives the state. Operators
are data, so undo, the journal and projects need nothing but the edits.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from footplant.editor.actions import LAZY, Edit, EditContext, apply, describe, solved
from footplant.editor.objects import PIECES, read_objects
from footplant.editor.state import EditorState
from footplant.errors import ConstraintError, FootplantError

CHANGES = ("set", "on", "off", "delete", "duplicate", "move")
SINGLE = ("terrain", "path", "retarget", "place")
"""Operators of which a stack has one: another one of the kind changes it, instead of being applied on top."""
MANUAL = ("drag", "turn")
SUMMED = ("shift", "onset", "release", "lift", "turn")
"""Numbers of a footstep's change that add up when it is changed twice."""
LEVEL = "slope:0"
"""The ground under the pieces of a scene until another one is chosen."""
MOST = 2000
"""Largest number of operators."""


@dataclass(frozen=True)
class Operator:
    """One entry of the stack."""

    id: int
    edit: Mapping[str, Any]
    """What it does: an edit of `actions`."""
    on: bool = True

    @property
    def kind(self) -> str:
        """Return what kind of edit it is."""
        return str(self.edit.get("kind", ""))


@dataclass(frozen=True)
class Stack:
    """Operators in the order in which they are applied, and the objects of the scene."""

    operators: tuple[Operator, ...] = ()
    objects: tuple[dict[str, Any], ...] = ()
    next_id: int = 1

    def index(self, number: int) -> int:
        """Return the place of an operator."""
        for place, operator in enumerate(self.operators):
            if operator.id == number:
                return place
        raise ConstraintError(f"expected the number of an operator of the stack, got {number}")


def folded(stack: Stack, edit: Edit) -> tuple[Stack, int | None]:
    """Return the stack after an edit, and the operator that it added or changed, if any."""
    kind = edit.get("kind")
    if kind == "objects":
        return _arranged(stack, read_objects(edit["objects"]))
    if kind == "stack":
        return _changed(stack, edit)
    if len(stack.operators) >= MOST:
        raise ConstraintError(f"expected at most {MOST} operators, got more")
    known = _to_change(stack, edit)
    if known is not None:
        operators = list(stack.operators)
        old = operators[known]
        operators[known] = replace(old, edit=_merged(old.edit, edit), on=True)
        return replace(stack, operators=tuple(operators)), old.id
    made = Operator(stack.next_id, dict(edit))
    place = _place_of_new(stack, str(kind))
    operators = (*stack.operators[:place], made, *stack.operators[place:])
    return replace(stack, operators=operators, next_id=stack.next_id + 1), made.id


def _arranged(stack: Stack, objects: tuple[dict[str, Any], ...]) -> tuple[Stack, int | None]:
    """Return the stack with other objects. Pieces of the ground are walked over: a stack without a terrain gets one."""
    made = replace(stack, objects=objects)
    pieces = [thing for thing in objects if thing["kind"] in PIECES]
    known = next((operator for operator in stack.operators if operator.kind == "terrain"), None)
    if pieces and known is None:
        return folded(made, {"kind": "terrain", "ground": LEVEL})
    changed = pieces != [thing for thing in stack.objects if thing["kind"] in PIECES]
    return made, known.id if known is not None and known.on and changed else None


def _to_change(stack: Stack, edit: Edit) -> int | None:
    """Return the place of the operator that an edit changes instead of adding another one."""
    kind, operators = edit.get("kind"), stack.operators
    if kind in SINGLE:
        return next((n for n, operator in enumerate(operators) if operator.kind == kind), None)
    last = len(operators) - 1
    if last < 0 or not operators[last].on:
        return None
    if kind == "method" and operators[last].kind == "method":
        return last
    if kind == "step" and "do" not in edit and operators[last].kind == "step" and "do" not in operators[last].edit:
        return last if operators[last].edit.get("id") == edit.get("id") else None
    if kind in MANUAL:
        what = ("frame", "point", "joint", "kind")
        same = [operators[last].edit.get(key) == edit.get(key) for key in what]
        return last if all(same) else None
    return None


def _merged(old: Mapping[str, Any], new: Edit) -> dict[str, Any]:
    """Return an operator's edit after a second one: changes of a footstep add up, anything else is replaced."""
    if new.get("kind") != "step":
        return dict(new)
    made = dict(old)
    for key, value in new.items():
        if key in SUMMED and key in old:
            made[key] = old[key] + value
        elif key == "move" and key in old:
            made[key] = [one + other for one, other in zip(old[key], value)]
        elif key not in ("id", "at"):
            made[key] = value
    return made


def _place_of_new(stack: Stack, kind: str) -> int:
    """Return where a new operator goes: at the end; path and place before the terrain, which would have to follow."""
    if kind in ("path", "place"):
        return next((n for n, op in enumerate(stack.operators) if op.kind == "terrain"), len(stack.operators))
    return len(stack.operators)


def _changed(stack: Stack, edit: Edit) -> tuple[Stack, int | None]:
    """Return the stack after one of its operators is changed, switched, removed, duplicated or moved."""
    what, number = edit.get("do"), edit.get("id")
    if what not in CHANGES or not isinstance(number, int):
        raise ConstraintError(f"expected a change of the stack among {', '.join(CHANGES)}; got {what!r}")
    operators, place = list(stack.operators), stack.index(number)
    chosen, changed, following = operators[place], number, stack.next_id
    if what == "delete":
        del operators[place]
        changed = None
    elif what in ("on", "off"):
        operators[place] = replace(chosen, on=what == "on")
    elif what == "set":
        values = edit.get("values")
        if not isinstance(values, dict) or "kind" in values:
            raise ConstraintError(f"expected values of an operator, got {values!r}")
        operators[place] = replace(chosen, edit={**chosen.edit, **values})
    elif what == "duplicate":
        operators.insert(place + 1, replace(chosen, id=stack.next_id))
        changed, following = stack.next_id, stack.next_id + 1
    else:
        to = edit.get("to")
        if not isinstance(to, int) or not 0 <= to < len(operators):
            raise ConstraintError(f"expected a place in 0..{len(operators) - 1} of the stack, got {to!r}")
        operators.insert(to, operators.pop(place))
    return replace(stack, operators=tuple(operators), next_id=following), changed


@dataclass(eq=False)
class Evaluation:
    """States of stacks that were evaluated, so that a change solves what comes after it only."""

    origin: EditorState
    """The state without operators."""
    memory: int
    """Bytes of motions that are kept."""
    states: dict[str, tuple[EditorState, dict[int, str]]] = field(default_factory=dict)
    """Key of a list of operators → its state, and what went wrong with which operator; latest used last."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    """A cancelled evaluation may still run beside the next one."""

    def of(self, stack: Stack, context: EditContext, required: int | None = None) -> tuple[EditorState, dict[int, str]]:
        """Return the solved state of a stack, and the operators that could not be applied, with the reason.

        required: an operator whose failure is an error; others are left out and reported.
        """
        running = [operator for operator in stack.operators if operator.on]
        keys = _keys(running, stack.objects)
        begin, (state, failed) = 0, (self.origin, {})
        for count in range(len(running), 0, -1):
            if keys[count - 1] in self.states:
                begin, (state, failed) = count, self._use(keys[count - 1])
                break
        if required in failed:
            raise ConstraintError(failed[required])
        failed = dict(failed)
        state = replace(state, objects=stack.objects)
        for number in range(begin, len(running)):
            operator = running[number]
            if context.progress is not None and begin + 1 < len(running):
                title = describe(operator.edit, state)
                context.progress(f"{title} ({number + 1} of {len(running)})", number / len(running))
            try:
                state = apply(operator.edit, state, context)
                following = running[number + 1].kind if number + 1 < len(running) else ""
                if following not in LAZY:
                    # changes of marks in a row are solved once
                    state = solved(state, context.progress)
            except FootplantError as error:
                if operator.id == required:
                    raise
                failed[operator.id] = str(error)
            if not state.stale:
                self._keep(keys[number], state, failed)
        if state.stale:
            state = solved(state, context.progress)
        return state, failed

    def _use(self, key: str) -> tuple[EditorState, dict[int, str]]:
        with self.lock:
            found = self.states.pop(key)
            self.states[key] = found
            return found

    def _keep(self, key: str, state: EditorState, failed: dict[int, str]) -> None:
        with self.lock:
            self.states[key] = state, dict(failed)
            room = self.memory
            for old in reversed(list(self.states)):
                motion = self.states[old][0].motion
                room -= motion.rotations.nbytes + motion.root.nbytes
                if room < 0 and old != key:
                    del self.states[old]

    def remember(self, stack: Stack, state: EditorState) -> None:
        """Keep additional results of a stack (a prepared manipulation) with the same motion."""
        keys = _keys([operator for operator in stack.operators if operator.on], stack.objects)
        if not keys:
            self.origin = replace(state, objects=self.origin.objects)
        elif keys[-1] in self.states:
            self.states[keys[-1]] = state, self.states[keys[-1]][1]


def _keys(operators: list[Operator], objects: tuple[dict[str, Any], ...]) -> list[str]:
    """Return a key for each beginning of a list of operators: what its state depends on."""
    doors = json.dumps([thing for thing in objects if thing["kind"] in ("doorway", *PIECES)])
    digest, keys = hashlib.blake2b(digest_size=16), []
    for operator in operators:
        what = json.dumps([operator.id, dict(operator.edit)], sort_keys=True)
        digest.update((what + (doors if operator.kind == "terrain" else "")).encode())
        keys.append(digest.hexdigest())
    return keys


def entries(stack: Stack, failed: Mapping[int, str], state: EditorState) -> list[dict[str, Any]]:
    """Return the stack for the page, JSON-ready: what each operator is called, its values, and whether it failed."""
    found = []
    for operator in stack.operators:
        found.append({
            "id": operator.id, "kind": operator.kind, "title": operator_title(operator, state), "on": operator.on,
            "failed": failed.get(operator.id, "") if operator.on else "",
            "values": {key: value for key, value in operator.edit.items() if key not in ("kind", "at")},
        })  # fmt: skip
    return found


def operator_title(operator: Operator, state: EditorState) -> str:
    """Return the name of an operator in the stack."""
    edit = operator.edit
    if operator.kind in ("step", "mark", "remove") and "at" in edit:
        at = edit["at"]
        what = f"{at['foot']} step" if "foot" in at else str(at.get("point", "")).partition(" ")[2].strip('"')
        words = {"delete": "Delete", "split": "Split", "join": "Join"}
        does = words.get(str(edit.get("do", "")), "Delete" if operator.kind == "remove" else "Change")
        return f"{does} {what.replace('_', ' ')} {at['start']}–{at['end'] - 1}"
    return describe(edit, state)
