"""``class Name(Function):`` of a program: a record of its methods, with the ctx that they take."""

from __future__ import annotations

from typing import Any

from gradcli.language.names.attributes import CALL, OWN, READ

_CONTEXT = (
    "save_for_backward", "save_for_forward", "mark_dirty", "mark_non_differentiable",
    "set_materialize_grads",
)  # fmt: skip


def function_record(words: tuple[str, ...], *methods: Any) -> Any:
    """What a custom Function of a program is; its attributes join the tables when one is made.

    ``words`` are its name and the names of its methods.
    """
    # Loaded only by a program that has such a class.
    from gradcli.engine.custom_function.context import Context
    from gradcli.engine.custom_function.function import Function, FunctionRecord
    from gradcli.engine.custom_function.function import function_record as record

    if FunctionRecord not in CALL:
        CALL[Context] = {word: getattr(Context, word) for word in _CONTEXT}
        READ[Context] = ("saved_tensors", "needs_input_grad")
        OWN.add(Context)
        CALL[FunctionRecord] = {"apply": FunctionRecord.apply}  # last: other threads ask for it
    name, *called = words
    given = dict(zip(called, methods, strict=True))
    if "vmap" in given:
        from gradcli.transforms.batched import VmapInfo

        READ[VmapInfo] = VmapInfo._fields
    return record(name, given.pop("forward"), given.pop("backward", Function.backward), **given)


def once(backward: Any) -> Any:
    """A backward under ``@once_differentiable``."""
    from gradcli.engine.custom_function.function import once_differentiable

    return once_differentiable(backward)
