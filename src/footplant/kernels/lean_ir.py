"""Let numba hand LLVM fewer instructions for the same kernel, in a process that only compiles (`compile_only`).

numba keeps every variable that more than one block uses in memory of its own, and copies an array's description there
to read one element of it: some forty instructions, which LLVM then removes. Here

- an element or a row of an array is addressed from the description as it is (`address_elements`);
- a variable that is assigned once stays a value (`keep_values`);
- what was put together from parts is not taken apart again (`pass_parts`);
- what nothing uses is left out (`drop_unused`).
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, types
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs, must_use_alloca
from numba.core.codegen import CPUCodeLibrary
from numba.core.imputils import impl_ret_borrowed, lower_builtin
from numba.core.ir import Assign
from numba.core.lowering import Lower
from numba.np import arrayobj

WITHOUT_EFFECT = {"extractvalue", "getelementptr", "insertvalue", "load"}
"""Instructions that may be left out where nothing uses their result."""


def prepare() -> None:
    """Change numba in this process."""
    address_elements()
    keep_values()
    pass_parts()
    drop_unused()


def address_elements() -> None:
    """Read, write and slice arrays by integers alone without a copy of their description."""
    for index in (types.Integer, types.BaseTuple):
        lower_builtin(operator.getitem, types.Array, index)(_getitem)
        lower_builtin(operator.setitem, types.Array, index, types.Any)(_setitem)


def _indices(context: Any, builder: Any, array: types.Array, index_type: Any, index: Any) -> tuple | None:
    """Return types and values of an index by integers; None where numba's own way is needed."""
    if isinstance(index_type, types.BaseTuple):
        kinds = tuple(index_type.types)  # type: ignore[attr-defined]
        values = cgutils.unpack_tuple(builder, index, len(kinds))
    else:
        kinds, values = (index_type,), [index]
    plain = all(isinstance(kind, types.Integer) for kind in kinds) and len(kinds) <= array.ndim
    return (kinds, values) if plain and kinds and not context.enable_boundscheck else None


def _field(context: Any, builder: Any, kind: types.Array, array: Any, name: str, *axis: int) -> Any:
    """Return a field of an array's description, or one number of it."""
    return builder.extract_value(array, [context.data_model_manager[kind].get_field_position(name), *axis])


def _address(context: Any, builder: Any, kind: types.Array, array: Any, index_types: Any, indices: Any) -> Any:
    """Return the address of an element, or of the first one of a row."""
    shape, places = {}, []

    def size(axis: int) -> Any:
        if axis not in shape:
            shape[axis] = _field(context, builder, kind, array, "shape", axis)
        return shape[axis]

    for axis, (index_type, index) in enumerate(zip(index_types, indices)):
        if isinstance(index, llvm.Constant) and index_type.signed and index.constant >= 0:
            places.append(context.cast(builder, index, index_type, types.intp))
        else:
            places.append(arrayobj.fix_integer_index(context, builder, index_type, index, size(axis)))
    data = _field(context, builder, kind, array, "data")
    if kind.layout != "C":
        strides = [_field(context, builder, kind, array, "strides", axis) for axis in range(kind.ndim)]
        sizes = [size(axis) for axis in range(kind.ndim)]
        places += [context.get_constant(types.intp, 0)] * (kind.ndim - len(places))
        return cgutils.get_item_pointer2(context, builder, data, sizes, strides, kind.layout, places)
    total = None
    for axis, place in enumerate(places):
        step = None
        for later in range(axis + 1, kind.ndim):
            step = size(later) if step is None else builder.mul(step, size(later))
        offset = place if step is None else builder.mul(place, step)
        total = offset if total is None else builder.add(total, offset)
    return builder.gep(data, [total])


def _getitem(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, index_type = signature.args
    array, index = arguments
    found = _indices(context, builder, kind, index_type, index)
    if found is None:
        own = arrayobj.getitem_array_tuple if isinstance(index_type, types.BaseTuple) else arrayobj.getitem_arraynd_intp
        return own(context, builder, signature, arguments)
    address = _address(context, builder, kind, array, *found)
    result = signature.return_type
    if not isinstance(result, types.Array):
        return arrayobj.load_item(context, builder, kind, address)
    first = len(found[0])
    model = context.data_model_manager[result]
    shape = [_field(context, builder, kind, array, "shape", axis) for axis in range(first, kind.ndim)]
    strides = [_field(context, builder, kind, array, "strides", axis) for axis in range(first, kind.ndim)]
    count = shape[0]
    for size in shape[1:]:
        count = builder.mul(count, size)
    fields = {
        "meminfo": _field(context, builder, kind, array, "meminfo"),
        "parent": _field(context, builder, kind, array, "parent"),
        "nitems": count,
        "itemsize": _field(context, builder, kind, array, "itemsize"),
        "data": address,
        "shape": cgutils.pack_array(builder, shape),
        "strides": cgutils.pack_array(builder, strides),
    }
    view = llvm.Constant(model.get_value_type(), llvm.Undefined)
    for name, value in fields.items():
        view = builder.insert_value(view, value, model.get_field_position(name))
    return impl_ret_borrowed(context, builder, result, view)


def _setitem(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, index_type, value_type = signature.args
    array, index, value = arguments
    found = _indices(context, builder, kind, index_type, index)
    if found is None or len(found[0]) < kind.ndim:
        return arrayobj.setitem_array(context, builder, signature, arguments)
    address = _address(context, builder, kind, array, *found)
    arrayobj.store_item(context, builder, kind, context.cast(builder, value, value_type, kind.dtype), address)
    return context.get_dummy_value()


def keep_values() -> None:
    """Keep variables as values that are assigned once, before every use, where no references are counted."""
    find = Lower._find_singly_assigned_variable

    def find_more(self: Lower) -> None:
        find(self)
        if self.context.enable_nrt or self.func_ir.func_id.is_generator:
            return
        blocks = self.func_ir.blocks
        uses, dominators = compute_use_defs(blocks).usemap, compute_cfg_from_blocks(blocks).dominators()
        assigned: dict[str, list[int]] = {}
        for label, block in blocks.items():
            for statement in block.find_insts(Assign):
                assigned.setdefault(statement.target.name, []).append(label)
        used: dict[str, list[int]] = {}
        for label, names in uses.items():
            for name in names:
                used.setdefault(name, []).append(label)
        memory = must_use_alloca(blocks)
        for name, labels in assigned.items():
            if len(labels) == 1 and name not in memory:
                [home] = labels
                # blocks are lowered in the order of their labels
                if all(label > home and home in dominators[label] for label in used.get(name, ())):
                    self._singly_assigned_vars.add(name)

    Lower._find_singly_assigned_variable = find_more  # type: ignore[method-assign]


def pass_parts() -> None:
    """Take the part of a structure that was just put together from where it came."""
    extract = llvm.IRBuilder.extract_value

    def extract_value(self: llvm.IRBuilder, agg: Any, idx: Any, name: str = "") -> Any:
        wanted = list(idx) if isinstance(idx, tuple | list) else [idx]
        while isinstance(agg, llvm.instructions.InsertValue):
            place = list(agg.indices)
            if place == wanted[: len(place)]:
                agg, wanted = agg.value, wanted[len(place) :]
                if not wanted:
                    return agg
            elif place[: len(wanted)] == wanted:
                break
            else:
                agg = agg.aggregate
        return extract(self, agg, wanted, name)

    llvm.IRBuilder.extract_value = extract_value  # type: ignore[method-assign]


def drop_unused() -> None:
    """Leave out instructions whose result nothing uses."""
    add = CPUCodeLibrary.add_ir_module

    def add_used(self: CPUCodeLibrary, ir_module: llvm.Module) -> None:
        for function in ir_module.functions:
            _drop_unused(function)
        add(self, ir_module)

    CPUCodeLibrary.add_ir_module = add_used  # type: ignore[method-assign]


def _operands(instruction: llvm.Instruction) -> list:
    return [*instruction.operands, *(value for value, _ in getattr(instruction, "incomings", ()))]


def _drop_unused(function: llvm.Function) -> None:
    uses: dict[int, int] = {}
    idle = []
    for block in function.blocks:
        for instruction in block.instructions:
            for operand in _operands(instruction):
                uses[id(operand)] = uses.get(id(operand), 0) + 1
    for block in function.blocks:
        idle += [each for each in block.instructions if each.opname in WITHOUT_EFFECT and id(each) not in uses]
    dropped = set()
    while idle:
        instruction = idle.pop()
        dropped.add(id(instruction))
        for operand in _operands(instruction):
            uses[id(operand)] -= 1
            if uses[id(operand)] == 0 and getattr(operand, "opname", "") in WITHOUT_EFFECT:
                idle.append(operand)
    for block in function.blocks:
        block.instructions[:] = [each for each in block.instructions if id(each) not in dropped]
