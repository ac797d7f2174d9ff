"""What the functions of ``functional`` check: what they are given, and what strict mode asks.

Refusals are in PyTorch's words where it has some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.engine import Tensor
from gradcli.ops.errors import AssertionFault, RuntimeFault, UnwrittenFault, bad_shape, bad_type
from gradcli.ops.operator import OPERATORS


def as_tuple(value: Any, what: str, name: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether a value is a tuple, and it as one. Raises TypeFault (E0303) for what is no tensor."""
    several = isinstance(value, tuple)
    values = value if several else (value,)
    for i, v in enumerate(values):
        if not isinstance(v, Tensor):
            place = f"value at index {i} has" if several else f"given {what} has"
            raise bad_type(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                f"{place} type {type(v)}."
            )
    return several, values


def differentiable(outputs: Sequence[Tensor]) -> None:
    """Strict mode: every output depends on something that requires grad, else E0405."""
    for i, out in enumerate(outputs):
        if not out.requires_grad:
            said = f"Output {i} of the user-provided function does not require gradients. The"
            said += " outputs must be computed in a differentiable manner from the input when"
            raise RuntimeFault("E0405", f"{said} running in strict mode.")


def bent(gradients: Sequence[Tensor]) -> None:
    """Strict mode: the gradient by every input depends on the inputs, else E0406."""
    for i, g in enumerate(gradients):
        if not g.requires_grad:
            said = "While computing the hessian, found that the jacobian of the user-provided"
            said += f" function with respect to input {i} is independent of the input. This is not"
            said += " allowed in strict mode. You should ensure that your function is twice"
            said += " differentiable and that the jacobian depends on the inputs (this would be"
            raise RuntimeFault("E0406", f"{said} violated by a linear function for example).")


def filled(
    found: Sequence[Tensor | None], inputs: Sequence[Tensor], strict: bool, what: str
) -> tuple[Tensor, ...]:
    """Zeros where nothing arrived; in strict mode that raises RuntimeFault (E0406)."""
    for i, g in enumerate(found):
        if g is None and strict:
            raise RuntimeFault(
                "E0406",
                f"{what} of the user-provided function is independent of input {i}. This is not "
                "allowed in strict mode.",
            )
    return tuple(
        OPERATORS["zeros_like"](x.detach()) if g is None else g
        for g, x in zip(found, inputs, strict=True)
    )


def strict_graph(found: Sequence[Tensor], strict: bool, create_graph: bool, what: str) -> None:
    """Strict mode with create_graph: what was found can be differentiated again, else E0406."""
    for i, g in enumerate(found):
        if strict and create_graph and not g.requires_grad:
            raise RuntimeFault(
                "E0406",
                f"The {what} of the user-provided function is independent of input {i}. This is "
                "not allowed in strict mode when create_graph=True.",
            )


def direction(v: Any, like: Sequence[Tensor], several: bool, name: str) -> tuple[Tensor, ...]:
    """``v`` as a tuple of tensors with the shapes of ``like``. Raises RuntimeFault (E0301)."""
    _, given = as_tuple(v, "v", name)
    if len(given) != len(like):
        if several:
            raise bad_shape(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}."
            )
        raise bad_shape("The given v should contain a single Tensor.")
    for i, (g, x) in enumerate(zip(given, like, strict=True)):
        if g.shape != x.shape:
            entry = f"Entry {i} in " if len(like) > 1 else ""
            raise bad_shape(f"{entry}v has invalid size: should be {x.shape} but got {g.shape}.")
    return given


def one_number(values: Sequence[Tensor], what: str) -> tuple[Tensor, ...]:
    """The direction where none was given: 1, for one value of one entry, else E0403."""
    if len(values) != 1 or values[0].numel() != 1:
        mend = "pass v: a tensor, or a tuple of tensors, of the shapes it weights"
        raise RuntimeFault("E0403", f"The vector v can only be None if {what}.", help=mend)
    return (OPERATORS["ones_like"](values[0].detach()),)


def known_strategy(strategy: str) -> None:
    """Raise AssertionFault (E0303) for an unknown strategy."""
    if strategy not in ("reverse-mode", "forward-mode"):
        said = 'Expected strategy to be either "forward-mode" or "reverse-mode".'
        mend = 'with more outputs than inputs "forward-mode" tends to be faster'
        raise AssertionFault("E0303", said, help=mend)


def check_forward(name: str, strict: bool, vectorize: bool, create_graph: bool) -> None:
    """Raise RuntimeFault or UnwrittenFault (E0303) for what PyTorch's forward mode has not."""
    if create_graph:
        said = f'autograd.functional.{name}: `create_graph=True` and `strategy="forward-mode"` are'
        said += " not supported together (yet)."
        mend = "func.jacfwd and func.hessian have graphs where their arguments do"
        raise UnwrittenFault("E0303", said, help=mend)
    if strict:
        raise not_strict(name, '`strategy="forward-mode"`', '`strategy="reverse-mode"`')
    if not vectorize:
        raise UnwrittenFault(
            "E0303",
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
            "implemented for `vectorize=True`.",
        )


def not_strict(name: str, other: str, instead: str) -> RuntimeFault:
    """The error of strict mode with an option by which a zero says nothing of dependence."""
    said = f"autograd.functional.{name}: `strict=True` and {other} are not supported together."
    return RuntimeFault("E0303", said, help=f"set either `strict=False` or {instead}")


def scalar(func: Callable, name: str, strict: bool = False, as_given: bool = False) -> Callable:
    """``func``, checked to give one number: it raises RuntimeFault (E0403) where it does not.

    The number comes without dimensions, unless ``as_given``.
    """

    def checked(*args: Any) -> Any:
        result = func(*args)
        several, outputs = as_tuple(result, "outputs of the user-provided function", name)
        if strict:
            differentiable(outputs)
        if several:
            raise RuntimeFault(
                "E0403", f"The function given to {name} should return a single Tensor"
            )
        if any(n != 1 for n in result.shape):
            raise RuntimeFault(
                "E0403",
                f"The Tensor returned by the function given to {name} should contain a single "
                "element",
            )
        return result if as_given else OPERATORS["reshape"](result, ())

    return checked
