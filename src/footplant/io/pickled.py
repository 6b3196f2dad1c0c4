"""Read pickles that hold numbers: NumPy arrays and plain containers, and nothing else.

A pickle is a program for a small stack machine, which may import and call anything. This is another machine for the
same programs: it imports nothing and calls nothing. Names of functions stay names, and the few that describe arrays
(`_reconstruct`, `dtype`, `scalar`, joblib's `NumpyArrayWrapper` …) are carried out here. Any other name is refused,
with its name in the error. Sizes are compared with the bytes that are left before memory is allocated; depth, number of
steps and of items are bounded; a container that contains itself is refused.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError

MAX_STEPS = 4_000_000
"""Instructions of a pickle: a second of work; files that store numbers as arrays have some hundreds."""
MAX_DEPTH = 32
"""Nesting of containers."""
MAX_STACK = 20_000
"""Values that wait on the stack. Lists and dicts are filled a thousand items at a time."""
MAX_TEXT = 1 << 20
"""Bytes of a string; longer ones hold no names."""
MAX_UNPACKED = 20
"""Unpacked bytes of a compressed pickle, as a multiple of the file's size …"""
UNPACKED_FLOOR = 32 << 20
"""… but never below this many bytes: zeros that unpack to more are refused within 50 ms."""
_TYPE = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1")
_NUMPY = ("numpy.core.multiarray", "numpy._core.multiarray")
_MARK = object()


@dataclass(frozen=True)
class _Name:
    """A function or class that a pickle names; it is never looked up."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(eq=False)
class _Dtype:
    """A NumPy type that is being described."""

    text: str
    order: str = "|"

    @property
    def objects(self) -> bool:
        return self.text.startswith("O")

    def dtype(self) -> np.dtype:
        return np.dtype(self.text if self.text == "b1" else (self.order if self.order in "<>" else "=") + self.text)


@dataclass(eq=False)
class _Array:
    """A NumPy array that is being described; `value` once its numbers are known."""

    value: Any = None


@dataclass(eq=False)
class _Wrapper:
    """Joblib's array: its numbers follow in the file, outside the pickle."""

    state: dict = field(default_factory=dict)


@dataclass(eq=False)
class _Scalar:
    value: Any


@dataclass(eq=False)
class _Record:
    """An object of a known class that only holds arrays; its state becomes a dict."""

    state: dict = field(default_factory=dict)


class _Refusal(Exception):
    """Why a pickle is not read."""


def read_pickle(data: bytes, path: str | Path | None = None, *, compressed: bool = True) -> Any:
    """Return the value of a pickle: dicts, lists, tuples, strings, numbers, None and arrays of numbers.

    Joblib's files are read too, also compressed by zlib or gzip. Raises `FormatError` for anything else.
    """
    try:
        if compressed and data[:1] in (b"\x78", b"\x1f"):
            data = _unpack(data)
        machine = _Machine(data)
        return _plain(machine.run())
    except _Refusal as refusal:
        raise FormatError(str(refusal), path=path) from None
    except (IndexError, KeyError, struct.error, UnicodeDecodeError, ValueError, TypeError, OverflowError) as error:
        raise FormatError(f"expected a pickle, got a damaged one ({error})"[:300], path=path) from None


def looks_like_pickle(start: bytes) -> bool:
    """Return whether a file may be a pickle of protocol 2 and above, or one that joblib has compressed."""
    return (start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")) or start[:1] in (
        b"\x78",
        b"\x1f",
    )


def _unpack(data: bytes) -> bytes:
    limit = max(UNPACKED_FLOOR, MAX_UNPACKED * len(data))
    engine = zlib.decompressobj(31 if data[:1] == b"\x1f" else 15)
    try:
        out = engine.decompress(data, limit)
    except zlib.error as error:
        raise _Refusal(f"expected a compressed pickle, got damaged data ({error})") from None
    if engine.unconsumed_tail:
        raise _Refusal(f"expected at most {limit} bytes from a file of this size, got more")
    return out


class _Machine:
    """The stack machine."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.depths: dict[int, tuple[int, Any]] = {}
        """Containers that contain others, by identity → depth, and the container, which keeps its identity alive."""

    def take(self, count: int) -> bytes:
        """Return the next bytes; their number is checked first."""
        if not 0 <= count <= len(self.data) - self.at:
            raise _Refusal(
                f"expected {count} more bytes at byte {self.at}, got {len(self.data) - self.at} and the end of the file"
            )
        self.at += count
        return self.data[self.at - count : self.at]

    def line(self) -> str:
        """Return the rest of a line."""
        end = self.data.find(b"\n", self.at, self.at + MAX_TEXT)
        if end < 0:
            raise _Refusal(f"expected a line of text at byte {self.at}, got none")
        text = self.data[self.at : end].decode("latin-1")
        self.at = end + 1
        return text

    def text(self, size: int) -> str:
        if size > MAX_TEXT:
            raise _Refusal(f"expected names of at most {MAX_TEXT} bytes, got a string of {size}")
        return self.take(size).decode("utf-8", "surrogatepass")

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise _Refusal(f"expected a value at byte {self.at}, got a mark")
        return value

    def marked(self) -> list[Any]:
        """Return the values above the last mark and remove both."""
        for place in range(len(self.stack) - 1, -1, -1):
            if self.stack[place] is _MARK:
                values = self.stack[place + 1 :]
                del self.stack[place:]
                return values
        raise _Refusal(f"expected a mark before byte {self.at}, got none")

    def deepen(self, container: Any, values: Iterable[Any]) -> None:
        """Note how deep a container is that gets values; refuse deep ones before they cost time."""
        depths, deepest = self.depths, 0
        for value in values:
            if isinstance(value, list | dict | tuple):
                deepest = max(deepest, 1 + depths.get(id(value), (0, None))[0])
        if deepest > depths.get(id(container), (0, None))[0]:
            if deepest >= MAX_DEPTH:
                raise _Refusal(f"expected containers at most {MAX_DEPTH} deep, got more")
            depths[id(container)] = deepest, container

    def run(self) -> Any:
        """Carry out the pickle and return its value."""
        operations, data, stack = _OPERATIONS, self.data, self.stack
        for _ in range(MAX_STEPS):
            if self.at >= len(data):
                raise _Refusal("expected the end of a pickle, got the end of the file")
            code = data[self.at]
            self.at += 1
            if code == 0x2E:
                if not stack:
                    raise _Refusal("expected a value at the end of a pickle, got none")
                return self.pop()
            operation = operations.get(code)
            if operation is None:
                raise _Refusal(f"expected an instruction of a pickle at byte {self.at - 1}, got {chr(code)!r}")
            operation(self)
            if len(stack) > MAX_STACK:
                raise _Refusal(
                    f"expected containers at most {MAX_DEPTH} deep and numbers in arrays, got {MAX_STACK} values"
                )
        raise _Refusal(f"expected at most {MAX_STEPS} instructions, got more; numbers belong into arrays")

    # names and calls

    def name(self, module: str, name: str) -> None:
        """Push a name; refuse those that do not describe arrays or containers."""
        if (module, name) not in _KNOWN:
            raise _Refusal(
                f"expected arrays of numbers and plain containers, got the object {module[:80]}.{name[:80]}, which is "
                "not read: a pickle can run any program"
            )
        self.stack.append(_Name(module, name))

    def call(self, function: Any, arguments: Any) -> Any:
        """Return what a call of a known name would return."""
        if not isinstance(function, _Name) or not isinstance(arguments, tuple):
            raise _Refusal(f"expected a call of a known name at byte {self.at}, got {_kind(function)}")
        return _KNOWN[function.module, function.name](self, *arguments)

    def build(self, target: Any, state: Any) -> Any:
        """Return a value completed by its state."""
        if isinstance(target, _Dtype) and isinstance(state, tuple) and len(state) >= 2 and isinstance(state[1], str):
            target.order = state[1]
        elif isinstance(target, _Array) and isinstance(state, tuple) and len(state) >= 4:
            _, shape, dtype, fortran, *content = state
            target.value = _array(dtype, shape, bool(fortran), content[0] if content else b"")
        elif isinstance(target, _Wrapper) and isinstance(state, dict):
            target.state = state
            return self.wrapped(state)
        elif isinstance(target, _Record) and isinstance(state, dict):
            target.state = state
        else:
            raise _Refusal(f"expected the state of an array at byte {self.at}, got that of {_kind(target)}")
        return target

    def wrapped(self, state: dict) -> Any:
        """Return joblib's array, whose bytes follow here: a byte that counts padding, the padding, the numbers."""
        dtype, shape = state.get("dtype"), state.get("shape")
        if not isinstance(dtype, _Dtype):
            raise _Refusal("expected the type of a joblib array, got none")
        if dtype.objects:
            inner = _Machine(self.data)
            inner.at = self.at
            value = inner.run()
            self.at = inner.at
            return value
        if state.get("numpy_array_alignment_bytes") is not None:
            self.take(self.number(1))
        count = _size(dtype, shape)
        return _array(dtype, shape, state.get("order") == "F", self.take(count))


def _size(dtype: _Dtype, shape: Any) -> int:
    """Return the bytes of an array, from its shape."""
    if not isinstance(shape, tuple) or len(shape) > 8 or not all(isinstance(n, int) and 0 <= n < 2**40 for n in shape):
        raise _Refusal(f"expected the shape of an array, got {shape!r}"[:200])
    text = dtype.text
    if text not in _TYPE and not (text[:1] in "US" and text[1:].isdigit() and len(text) < 7):
        raise _Refusal(f"expected an array of numbers, got the type {text!r}"[:200])
    return math.prod(shape) * dtype.dtype().itemsize


def _array(dtype: Any, shape: Any, fortran: bool, content: Any) -> Any:
    """Return an array from its bytes; from a list of objects, that list."""
    if not isinstance(dtype, _Dtype):
        raise _Refusal(f"expected the type of an array, got {_kind(dtype)}")
    if dtype.objects:
        if not isinstance(content, list):
            raise _Refusal("expected the objects of an array in a list, got something else")
        return content[0] if shape == () and len(content) == 1 else content
    if isinstance(content, str):
        content = content.encode("latin-1")
    size = _size(dtype, shape)
    if not isinstance(content, bytes | bytearray) or len(content) != size:
        found = f"{len(content)} bytes" if isinstance(content, bytes | bytearray) else _kind(content)
        raise _Refusal(f"expected {size} bytes for an array {shape} of {dtype.text}, got {found}")
    return np.frombuffer(bytes(content), dtype.dtype()).reshape(shape, order="F" if fortran else "C")


def _kind(value: Any) -> str:
    return str(value) if isinstance(value, _Name) else type(value).__name__.lstrip("_").lower()


def _make_dtype(machine: _Machine, text: Any = None, *_: Any) -> _Dtype:
    if isinstance(text, _Name):
        text = {"float": "f8", "int": "i8", "bool": "b1", "ndarray": "O8"}.get(text.name, "")
    if not isinstance(text, str):
        raise _Refusal("expected the type of an array, got none")
    order = text[0] if text[:1] in "<>|=" else "|"
    return _Dtype(text.lstrip("<>|="), order)


def _scalar(machine: _Machine, dtype: Any, content: Any = None) -> Any:
    if isinstance(dtype, _Dtype) and dtype.objects:
        return content
    return _Scalar(_array(dtype, (), False, content))


def _from_buffer(machine: _Machine, content: Any, dtype: Any, shape: Any, order: Any = "C") -> Any:
    return _Array(_array(dtype, shape, order == "F", content))


def _encode(machine: _Machine, text: Any, encoding: Any = "utf-8") -> bytes:
    """Return `_codecs.encode(text, "latin1")`, by which Python 2's protocol writes bytes."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise _Refusal("expected bytes as Latin-1, got something else")
    return text.encode("latin-1")


def _mapping(machine: _Machine, *arguments: Any) -> dict:
    """Return an OrderedDict or a defaultdict as a dict."""
    found: dict = {}
    for argument in arguments:
        if isinstance(argument, list | tuple):
            for pair in argument:
                if not isinstance(pair, list | tuple) or len(pair) != 2:
                    raise _Refusal("expected pairs of a dict, got something else")
                _set(found, pair[0], pair[1])
    return found


def _sequence(machine: _Machine, values: Any = ()) -> list:
    if not isinstance(values, list | tuple):
        raise _Refusal(f"expected a list, got {_kind(values)}")
    return list(values)


def _bytes(machine: _Machine, values: Any = b"", *_: Any) -> bytes:
    if not isinstance(values, bytes | bytearray):
        raise _Refusal(f"expected bytes, got {_kind(values)}")
    return bytes(values)


def _unnamed(machine: _Machine, *_: Any) -> Any:
    raise _Refusal("expected arrays of numbers, got a call of a type")


_KNOWN: dict[tuple[str, str], Callable[..., Any]] = {
    **{(module, "_reconstruct"): lambda machine, *_: _Array() for module in _NUMPY},
    **{(module, "scalar"): _scalar for module in _NUMPY},
    **{(module, "_frombuffer"): _from_buffer for module in ("numpy.core.numeric", "numpy._core.numeric")},
    ("numpy", "ndarray"): _unnamed,
    ("numpy", "dtype"): _make_dtype,
    **{("numpy.dtypes", f"{kind}DType"): _unnamed for kind in ("Float64", "Float32", "Int64", "Int32", "Bool")},
    ("joblib.numpy_pickle", "NumpyArrayWrapper"): lambda machine, *_: _Wrapper(),
    # SMPL's model files hold their arrays in these
    **{(module, "csc_matrix"): lambda machine, *_: _Record() for module in ("scipy.sparse.csc", "scipy.sparse._csc")},
    ("chumpy.ch", "Ch"): lambda machine, *_: _Record(),
    ("chumpy.reordering", "Select"): lambda machine, *_: _Record(),
    ("collections", "OrderedDict"): _mapping,
    ("collections", "defaultdict"): _mapping,
    ("_codecs", "encode"): _encode,
    **{(module, "list"): _sequence for module in ("builtins", "__builtin__")},
    **{(module, "set"): _sequence for module in ("builtins", "__builtin__")},
    **{(module, "tuple"): lambda machine, values=(): tuple(_sequence(machine, values))
       for module in ("builtins", "__builtin__")},
    **{(module, "dict"): _mapping for module in ("builtins", "__builtin__")},
    **{(module, kind): _bytes for module in ("builtins", "__builtin__") for kind in ("bytes", "bytearray")},
    **{(module, kind): _unnamed for module in ("builtins", "__builtin__") for kind in ("float", "int", "bool")},
}  # fmt: skip
"""Names that describe arrays and containers → what is done instead of calling them."""


def _set(mapping: Any, key: Any, value: Any) -> None:
    """Set an item of a dict; keys are strings and numbers."""
    if isinstance(key, _Scalar):
        key = key.value.item()
    if isinstance(key, bytes) and len(key) <= MAX_TEXT:
        key = key.decode("latin-1")
    if not isinstance(mapping, dict) or not isinstance(key, str | int | float | bool | None):
        raise _Refusal(f"expected names as keys of a dict, got {_kind(key)}")
    mapping[key] = value


def _op_setitems(machine: _Machine) -> None:
    values = machine.marked()
    for key, value in zip(values[::2], values[1::2], strict=True):
        _set(machine.stack[-1], key, value)
    machine.deepen(machine.stack[-1], values)


def _op_setitem(machine: _Machine) -> None:
    value, key = machine.pop(), machine.pop()
    _set(machine.stack[-1], key, value)
    machine.deepen(machine.stack[-1], (value,))


def _extend(machine: _Machine, values: list) -> None:
    if not isinstance(machine.stack[-1], list):
        raise _Refusal(f"expected a list at byte {machine.at}, got {_kind(machine.stack[-1])}")
    machine.stack[-1].extend(values)
    machine.deepen(machine.stack[-1], values)


def _op_dict(machine: _Machine) -> None:
    values = machine.marked()
    machine.stack.append({})
    for key, value in zip(values[::2], values[1::2], strict=True):
        _set(machine.stack[-1], key, value)
    machine.deepen(machine.stack[-1], values)


def _op_reduce(machine: _Machine) -> None:
    arguments, function = machine.pop(), machine.pop()
    machine.stack.append(machine.call(function, arguments))


def _op_newobj_ex(machine: _Machine) -> None:
    machine.pop()
    _op_reduce(machine)


def _op_build(machine: _Machine) -> None:
    state, target = machine.pop(), machine.pop()
    machine.stack.append(machine.build(target, state))


def _op_inst(machine: _Machine) -> None:
    machine.name(machine.line(), machine.line())
    function = machine.stack.pop()
    machine.stack.append(machine.call(function, tuple(machine.marked())))


def _op_obj(machine: _Machine) -> None:
    function, *arguments = machine.marked()
    machine.stack.append(machine.call(function, tuple(arguments)))


def _op_stack_global(machine: _Machine) -> None:
    name, module = machine.pop(), machine.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise _Refusal("expected the name of an object, got something else")
    machine.name(module, name)


def _op_tuple(machine: _Machine, count: int) -> None:
    values = tuple(machine.pop() for _ in range(count))[::-1]
    machine.stack.append(values)
    machine.deepen(values, values)


def _gather(machine: _Machine, kind: type) -> None:
    """Push the values above the mark as one container."""
    values = kind(machine.marked())
    machine.stack.append(values)
    machine.deepen(values, values)


def _drop(machine: _Machine) -> None:
    machine.stack.pop()


def _drop_marked(machine: _Machine) -> None:
    machine.marked()


def _skip(count: int) -> Callable[[_Machine], None]:
    def skip(machine: _Machine) -> None:
        machine.take(count)

    return skip


def _push(read: Callable[[_Machine], Any]) -> Callable[[_Machine], None]:
    """Return an instruction that pushes a value."""
    return lambda machine: machine.stack.append(read(machine))


def _put(read: Callable[[_Machine], int]) -> Callable[[_Machine], None]:
    """Return an instruction that stores the top of the stack."""

    def store(machine: _Machine) -> None:
        machine.memo[read(machine)] = machine.stack[-1]

    return store


def _long(machine: _Machine, size: int) -> int:
    if size > 8:
        raise _Refusal(f"expected whole numbers of at most 8 bytes, got {size}")
    return int.from_bytes(machine.take(size), "little", signed=True)


def _text_number(machine: _Machine) -> Any:
    text = machine.line().rstrip("L")
    if len(text) > 40:
        raise _Refusal("expected a number, got a longer text")
    return {"00": False, "01": True}.get(text) if text in ("00", "01") else int(text)


def _text_string(machine: _Machine) -> str:
    text = machine.line().strip()
    if len(text) < 2 or text[0] not in "'\"" or text[-1] != text[0]:
        raise _Refusal("expected a quoted string, got something else")
    if "\\" in text:
        return text[1:-1].encode("latin-1").decode("unicode_escape")
    return text[1:-1]


def _escaped(text: str) -> str:
    """Return text of protocol 0, in which other letters than Latin-1 are escaped."""
    return text.encode("latin-1").decode("raw-unicode-escape")


def _text_float(machine: _Machine) -> float:
    text = machine.line()
    if len(text) > 40:
        raise _Refusal("expected a number, got a longer text")
    return float(text)


_OPERATIONS: dict[int, Callable[[_Machine], None]] = {
    ord("("): lambda m: m.stack.append(_MARK),
    ord("0"): _drop, ord("1"): _drop_marked,
    ord("2"): lambda m: m.stack.append(m.stack[-1]),
    ord("F"): _push(_text_float), ord("G"): _push(lambda m: struct.unpack(">d", m.take(8))[0]),
    ord("I"): _push(_text_number), ord("L"): _push(_text_number),
    ord("J"): _push(lambda m: int.from_bytes(m.take(4), "little", signed=True)),
    ord("K"): _push(lambda m: m.number(1)), ord("M"): _push(lambda m: m.number(2)),
    0x8A: _push(lambda m: _long(m, m.number(1))), 0x8B: _push(lambda m: _long(m, m.number(4))),
    ord("N"): _push(lambda m: None), 0x88: _push(lambda m: True), 0x89: _push(lambda m: False),
    ord("S"): _push(_text_string), ord("V"): _push(lambda m: _escaped(m.line())),
    ord("T"): _push(lambda m: m.take(m.number(4))), ord("U"): _push(lambda m: _legacy(m.take(m.number(1)))),
    ord("X"): _push(lambda m: m.text(m.number(4))), 0x8C: _push(lambda m: m.text(m.number(1))),
    0x8D: _push(lambda m: m.text(m.number(8))),
    ord("B"): _push(lambda m: m.take(m.number(4))), ord("C"): _push(lambda m: m.take(m.number(1))),
    0x8E: _push(lambda m: m.take(m.number(8))), 0x96: _push(lambda m: m.take(m.number(8))),
    ord("]"): _push(lambda m: []), ord("}"): _push(lambda m: {}), ord(")"): _push(lambda m: ()),
    0x8F: _push(lambda m: []),
    ord("l"): lambda m: _gather(m, list), ord("t"): lambda m: _gather(m, tuple), ord("d"): _op_dict,
    0x85: lambda m: _op_tuple(m, 1), 0x86: lambda m: _op_tuple(m, 2), 0x87: lambda m: _op_tuple(m, 3),
    ord("a"): lambda m: _extend(m, [m.pop()]), ord("e"): lambda m: _extend(m, m.marked()),
    0x90: lambda m: _extend(m, m.marked()), 0x91: lambda m: _gather(m, list),
    ord("s"): _op_setitem, ord("u"): _op_setitems,
    ord("p"): _put(lambda m: int(m.line())), ord("q"): _put(lambda m: m.number(1)),
    ord("r"): _put(lambda m: m.number(4)),
    0x94: _put(lambda m: len(m.memo)),
    ord("g"): _push(lambda m: m.memo[int(m.line())]), ord("h"): _push(lambda m: m.memo[m.number(1)]),
    ord("j"): _push(lambda m: m.memo[m.number(4)]),
    ord("c"): lambda m: m.name(m.line(), m.line()), 0x93: _op_stack_global,
    ord("R"): _op_reduce, 0x81: _op_reduce, 0x92: _op_newobj_ex, ord("b"): _op_build, ord("i"): _op_inst,
    ord("o"): _op_obj,
    0x80: _skip(1), 0x95: _skip(8),
}  # fmt: skip
"""Instruction → what it does. Persistent ids, extension codes and out-of-band buffers are not among them."""


def _legacy(data: bytes) -> bytes | str:
    """Return a string of Python 2: text if it is ASCII, else bytes."""
    return data.decode() if data.isascii() else data


def _plain(value: Any) -> Any:
    """Return a value without our placeholders; refuse deep and cyclic ones."""
    return _Plain().of(value, 0)


class _Plain:
    """Replaces placeholders within containers, each container once."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.done: dict[int, Any] = {}
        self.items = 0

    def of(self, value: Any, depth: int) -> Any:
        while isinstance(value, _Array | _Scalar | _Record):
            value = value.state if isinstance(value, _Record) else value.value
            depth += 1
            if depth > MAX_DEPTH:
                break
        if value is None or isinstance(value, str | bytes | int | float | bool | np.generic):
            return value
        if isinstance(value, np.ndarray):
            return value if value.ndim else value[()]
        if not isinstance(value, dict | list | tuple):
            raise _Refusal(f"expected arrays of numbers and plain containers, got {_kind(value)}")
        key = id(value)
        if key in self.done:
            return self.done[key]
        if key in self.open:
            raise _Refusal("expected plain containers, got one that contains itself")
        if depth >= MAX_DEPTH:
            raise _Refusal(f"expected containers at most {MAX_DEPTH} deep, got more")
        self.open.add(key)
        items = {k: self.of(v, depth + 1) for k, v in value.items()} if isinstance(value, dict) else [
            self.of(v, depth + 1) for v in value
        ]  # fmt: skip
        self.open.discard(key)
        self.done[key] = tuple(items) if isinstance(value, tuple) else items
        return self.done[key]


def read_file(path: str | Path) -> Any:
    """Return the value of a pickle file: see `read_pickle`."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    return read_pickle(data, path)


def as_array(value: Any) -> NDArray | None:
    """Return an array of numbers from an array or from nested lists of numbers; None if it is something else."""
    if isinstance(value, np.ndarray):
        return value if value.dtype.kind in "fiub" else None
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return np.asarray(value)
    if not isinstance(value, list | tuple) or not value:
        return None
    parts = [as_array(item) for item in value]
    if any(part is None for part in parts) or len({part.shape for part in parts if part is not None}) != 1:
        return None
    return np.stack(parts)  # type: ignore[arg-type]


__all__ = ["as_array", "looks_like_pickle", "read_file", "read_pickle"]
