"""What ``gradcli.func`` refuses of arguments and results, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.ops.errors import AttributeFault, RuntimeFault, TypeFault, ValueFault, bad_dtype
from gradcli.transforms.tracer import rank_of
from gradcli.transforms.tree import flatten


def drawn(shape: Any) -> str:
    """The structure of a tree with a star for each leaf: ``{'a': *, 'b': (*, *)}``."""
    if shape is None:
        return "*"
    kind, _, keys, shapes = shape
    inner = [drawn(part) for part, _ in shapes]
    if isinstance(keys, list):
        return "{" + ", ".join(f"{k!r}: {v}" for k, v in zip(keys, inner, strict=True)) + "}"
    if kind is tuple:
        return "(" + ", ".join(inner) + "," * (len(inner) == 1) + ")"
    return "[" + ", ".join(inner) + "]"


def differentiable(values: Sequence[Any]) -> None:
    """Raise ValueFault (E0303) for what is no tensor, RuntimeFault (E0404) for whole numbers."""
    for value in values:
        if not rank_of(value):
            said = f"Thing passed to transform API must be Tensor, got {type(value)}"
            raise ValueFault("E0303", said, help="write torch.tensor(3.0) for 3.0")
        if value.dtype.kind < 2:
            told = "only Tensors of floating point dtype can require gradients"
            mend = "write x.double(), or give the numbers a decimal point"
            raise RuntimeFault("E0404", f"{told}, not {value.dtype.name}", help=mend, torch=told)


def tensors(outputs: Sequence[Any], transform: str) -> None:
    """Raise RuntimeFault (E0403) unless a function that was transformed gave tensors."""
    if not outputs or (outputs[0] is None and len(outputs) == 1):
        said = f"{transform}: Expected f to be a function that has non-empty output (got output ="
        mend = "the function has no return" if outputs else "return a tensor"
        raise RuntimeFault("E0403", f"{said} {outputs})", help=mend)
    for out in outputs:
        if not rank_of(out):
            made = f"f({'*primals' if 'primals' in transform else '*args'})"
            raise RuntimeFault(
                "E0403",
                f"{transform}: expected {made} to return only tensors, got unsupported type "
                f"{type(out)}",
            )


def inexact(outputs: Sequence[Any]) -> None:
    """Raise RuntimeFault (E0403) where a result is of whole numbers: it has no derivative."""
    for out in outputs:
        if out.dtype.kind < 2:
            raise RuntimeFault(
                "E0403",
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {out.dtype}",
            )


def real(values: Sequence[Any], expected: str, complex_too: str) -> None:
    """Raise RuntimeFault (E0403) where a Jacobian of complex numbers is asked for.

    ``expected`` begins the message; ``complex_too`` is the transform that takes such numbers.
    """
    for value in values:
        if rank_of(value) and value.dtype.is_complex:
            said = f"{expected} to be real but received complex tensor at flattened input idx: 0"
            mend = f"func.{complex_too} takes complex values, one direction at a time"
            raise RuntimeFault("E0403", said, help=mend)


def only_tensors(aux: Any) -> None:
    """Raise RuntimeFault (E0403) where what a function gives beside its value is no tensor."""
    for leaf in flatten(aux)[0]:
        if not rank_of(leaf):
            said = f"Expected tensors, got unsupported type {type(leaf)}"
            mend = "keep other values in a variable of the caller's"
            raise RuntimeFault("E0403", said, help=mend)


def scalar_tensor(result: Any) -> None:
    """Raise RuntimeFault (E0403) unless what ``grad`` differentiates gave one tensor."""
    if not rank_of(result):
        given = "several values" if isinstance(result, tuple | list | dict) else repr(result)
        said = f"grad needs a function that gives one number as a tensor, this one gave {given}"
        told = "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got"
        mend = "reduce them to one, or give (value, aux) and has_aux=True"
        raise RuntimeFault("E0403", said, help=mend, torch=f"{told} {type(result)}")


def pair(result: Any, transform: str) -> tuple[Any, Any]:
    """``(output, aux)`` of a function with has_aux. Raises RuntimeFault (E0403)."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeFault(
            "E0403",
            f"{transform}: output of function f should be a tuple: (output, aux) if has_aux is "
            "True",
        )
    only_tensors(result[1])
    return result


def cotangents_as(given: Any, shape: Any) -> list[Any]:
    """The cotangents, nested as the outputs are. Raises RuntimeFault (E0405)."""
    leaves, own = flatten(given)
    if own != shape:
        raise RuntimeFault(
            "E0405",
            "Expected pytree structure of cotangents to be the same as pytree structure of outputs "
            f"to the function. cotangents: {drawn(own)}, primal output: {drawn(shape)}",
        )
    for leaf in leaves:
        if leaf is not None and not rank_of(leaf):
            kind = type(leaf).__name__
            raise TypeFault("E0405", f"gradients can be either Tensors or None, but got {kind}")
    return leaves


def primals_and_tangents(primals: Any, tangents: Any) -> tuple[list[Any], list[Any], Any]:
    """The leaves of both, and the structure that they share. Raises RuntimeFault (E0302)."""
    call = "jvp(f, primals, tangents)"
    if primals.__class__ is not tuple:
        raise RuntimeFault(
            "E0302",
            f"{call}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).",
            help="write jvp(f, (x,), (v,))",
        )
    at, shape = flatten(primals)
    along, own = flatten(tangents)
    if own != shape:
        raise RuntimeFault(
            "E0302",
            f"{call}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {drawn(shape)} and tangents with structure {drawn(own)}",
        )
    if not at:
        raise RuntimeFault("E0302", f"{call}: Expected primals to contain at least one Tensor.")
    for name, values in (("primals", at), ("tangents", along)):
        for value in values:
            if not rank_of(value):
                raise RuntimeFault(
                    "E0303", f"{call}: Expected {name} to only contain Tensors, got {type(value)}"
                )
    floating("primal", at)
    floating("tangent", along)
    return at, along, shape


def like(primals: Sequence[Any], tangents: Sequence[Any]) -> None:
    """Raise RuntimeFault (E0301, E0309) for a tangent of another shape or dtype than its primal."""
    for i, (primal, tangent) in enumerate(zip(primals, tangents, strict=True)):
        for code, what in (("E0301", "shape"), ("E0309", "dtype")):
            have, want = getattr(tangent, what), getattr(primal, what)
            if have != want:
                raise RuntimeFault(
                    code,
                    f"tangent:{i} with {what} {have} in flattened pytree doesn't match the {what} "
                    f"{want} of the corresponding primal.",
                )


def no_real_tangent(primal: Any, tangent: Any) -> None:
    """Raise RuntimeFault (E0309) for a complex tangent of a real primal: it would lose a part."""
    if tangent.dtype.is_complex and not primal.dtype.is_complex:
        what = f"a {tangent.dtype} tangent of a {primal.dtype} primal"
        said = f"{what}, which has no imaginary part"
        raise bad_dtype(said, help="give a complex primal, or the tangent's real part")


def floating(name: str, values: Sequence[Any]) -> None:
    """Raise ValueFault (E0404) for a tensor of whole numbers, AttributeFault for what is none."""
    for value in values:
        if not rank_of(value):
            raise AttributeFault("E0303", f"a {name} is a Tensor, not a {type(value)}")
        if value.dtype.kind < 2:
            said = f"Expected {name} to be floating point or complex, but got: {value.dtype}"
            mend = "write x.double(), or give the numbers a decimal point"
            raise ValueFault("E0404", said, help=mend)


def mapped_outputs(
    outputs: Sequence[Any], dims: Sequence[int | None], func: Callable[..., Any]
) -> None:
    """Raise ValueFault (E0303) unless a function under ``vmap`` gave tensors.

    What goes without a dimension may be anything.
    """
    name = getattr(func, "__name__", repr(func))
    for out, dim in zip(outputs, dims, strict=True):
        if not rank_of(out) and dim is not None:
            said = f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(out)}."
            said += " Did you mean to set out_dims= to None for output?"
            raise ValueFault("E0303", said, help="write torch.tensor(3.0) for 3.0")
