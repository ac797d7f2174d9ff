"""Custom functions: a forward and a backward of the user's own, as one node of the graph.

    class Cube(Function):                          cube = function_record("Cube", forward, backward)
        @staticmethod                              y = cube.apply(x)
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3
        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

How such a function is run and recorded is in ``function_node``.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from gradcli.engine.custom_function.context import OF_NODE, Context
from gradcli.engine.custom_function.node import FunctionNode, call, shown_class
from gradcli.engine.grad_mode import mode, transformed, unrecorded
from gradcli.engine.record.composite import bottom, in_graph
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.ops.errors import RuntimeFault, UnwrittenFault


class Function:
    """A differentiable operation with a derivative of its own.

    Subclass it with static ``forward(ctx, *args)`` and ``backward(ctx, *gradients)``, or with
    ``forward(*args)``, ``setup_context(ctx, inputs, output)`` and ``backward``; call ``apply``.
    Backward returns one gradient for each argument of forward, None where there is none; with
    ``boxed_grads_call = True`` it is given its gradients in one list, to empty as it goes. Raises
    RuntimeFault: E0411 (gradients that do not fit), E0412 (tensors marked or saved against the
    rules).

    Example:
        >>> import gradcli
        >>> class Cube(gradcli.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         (x,) = ctx.saved_tensors
        ...         return 3 * x**2 * g
        >>> x = gradcli.tensor(2.0, requires_grad=True)
        >>> y = Cube.apply(x)
        >>> y.backward()
        >>> y, x.grad
        (tensor(8., grad_fn=<CubeBackward>), tensor(12.))
    """

    setup_context: Any = None
    jvp: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        """``vjp`` is PyTorch's other name of ``backward``."""
        super().__init_subclass__(**options)
        kind: Any = cls
        kind._backward_cls = shown_class(f"{cls.__name__}Backward")
        vjp = getattr(cls, "vjp", None)
        if vjp is not None:
            unwritten = Function.backward, getattr(super(cls, cls), "vjp", None), vjp
            one = cls.backward in unwritten
            kind.backward = staticmethod(vjp if one else _two_backwards)

    vmap: Any = None
    generate_vmap_rule = False
    boxed_grads_call = False
    clear_saved_tensors_on_access = False

    def __init__(self) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning, stacklevel=2,
        )  # fmt: skip

    def __call__(self, *_args: Any, **_options: Any) -> Any:
        said = "Legacy autograd function with non-static forward method is deprecated."
        raise RuntimeFault("E0412", said, help=f"write {type(self).__name__}.apply(x)")

    def __getattr__(self, name: str) -> Any:
        if name == "metadata":
            said = "You attempted to access the anomaly metadata of a custom autograd function but"
            said += " the underlying PyNode has already been deallocated."
            mend = f"write y = {type(self).__name__}.apply(x), and ask y.grad_fn while y is kept"
            raise RuntimeFault("E0412", said, help=mend)
        if name in _OF_NODES:
            raise RuntimeFault(
                "E0412",
                f"Attribute '{name}' is invalid for this instance of _C._FunctionBase: it is that "
                "of a node, which apply() makes",
                help=f"write y = {type(self).__name__}.apply(x), and ask y.grad_fn",
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @staticmethod
    def forward(*args: Any) -> Any:
        """What the function computes; to be written by the subclass."""
        said = "You must implement the forward function for custom autograd.Function."
        raise UnwrittenFault("E0412", said, help="write @staticmethod def forward(ctx, x): ...")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradients of the arguments; to be written by the subclass."""
        said = "You must implement either the backward or vjp method for your custom"
        said += " autograd.Function to use it with backward mode AD."
        raise UnwrittenFault("E0412", said, help="write @staticmethod def backward(ctx, g): ...")

    @classmethod
    def apply(cls, *args: Any, **options: Any) -> Any:
        """The function of ``args``, recorded where one of them requires a gradient.

        Arguments may have the names that forward gives them. Raises TypeFault (E0302).
        """
        return call(cls, args, options)


class InplaceFunction(Function):
    """PyTorch's name for a function that may write to its inputs: any may."""


_OF_NODES = OF_NODE | {"_register_hook_dict", "_set_sequence_nr"}


def _two_backwards(ctx: Any, *gradients: Any) -> Any:
    said = "Implementing both 'backward' and 'vjp' for a custom Function is not allowed."
    raise RuntimeFault("E0412", said, help="they are two names of one method")


class FunctionRecord:
    """A custom function made of plain functions, without a Python class: ``function_record``.

    Its ``apply`` is ``Function.apply``; ``forward(ctx, *args)``, ``backward(ctx, *gradients)`` and
    further ``setup_context``, ``jvp`` and ``vmap`` are as there, and ``ctx`` takes any attribute.
    """

    __slots__ = (
        "__name__", "backward", "forward", "generate_vmap_rule", "jvp", "setup_context", "vmap",
    )  # fmt: skip

    def __init__(
        self, name: str, forward: Callable[..., Any], backward: Callable[..., Any],
        setup_context: Callable[..., Any] | None = None, jvp: Callable[..., Any] | None = None,
        vmap: Callable[..., Any] | None = None, generate_vmap_rule: bool = False,
    ) -> None:  # fmt: skip
        self.__name__ = name
        self.forward = forward
        self.backward = backward
        self.setup_context = setup_context
        self.jvp = jvp
        self.vmap = vmap
        self.generate_vmap_rule = generate_vmap_rule

    def apply(self, *args: Any) -> Any:
        """The function of ``args``, recorded where one of them requires a gradient."""
        return call(self, args)

    def __call__(self, *_args: Any, **_options: Any) -> Any:
        said = f"{self.__name__} should not be instantiated: its methods are static"
        raise RuntimeFault("E0412", said, help=f"write {self.__name__}.apply(x)")

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"


function_record = FunctionRecord


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward that cannot itself be differentiated: a second derivative is an error.

    Below ``@staticmethod``, as in PyTorch. The error (E0413) comes when a gradient is asked for,
    not before. What nothing was added to or computed from, ``grad`` hands out as a constant.
    """

    @functools.wraps(backward)
    def wrapped(ctx: Any, *gradients: Any) -> Any:
        boxed = len(gradients) == 1 and isinstance(gradients[0], list)
        given = gradients[0] if boxed else gradients
        edges = [bottom(g).edge for g in given if g is not None and in_graph(g)]
        kind = FunctionNode if edges or transformed.by else _Alone
        node = getattr(ctx, "_gradcli_node", lambda: None)()
        edges += () if node is None else node.edges
        result = unrecorded(backward, ctx, *gradients)
        if not mode.grad:
            return result

        def ended(r: Any) -> Any:
            if getattr(r, "batch", False):
                return r.over(ended)
            if r is not None and not isinstance(r, Plain):  # a tangent, which would need another
                _refuse_twice(ctx)
            recorded = kind is _Alone and in_graph(r)  # by a backward that turned gradients on
            return r if r is None or recorded else _refusing(r, edges, _ONCE, kind)

        return tuple(map(ended, result)) if isinstance(result, tuple) else ended(result)

    return wrapped


def _refusing(
    value: Tensor, edges: Sequence[Any], definition: _Refusing,
    kind: type[FunctionNode] = FunctionNode,
) -> Tensor:  # fmt: skip
    """``value`` behind a node that refuses to be differentiated by what has these ``edges``."""
    node = kind(definition, Context(), tuple(edges), (True,) * len(edges))
    node.shape, node.dtype = value.array.shape, value.dtype
    node.outputs = [(node.shape, node.dtype)]
    return wrap(value.array, value.dtype, node)


def _refuse_twice(ctx: Any, *gradients: Any) -> Any:
    said = "trying to differentiate twice a function that was marked with @once_differentiable"
    mend = "write its backward with tensor operations and take the mark away"
    raise RuntimeFault("E0413", said, help=mend)


class _Refusing:
    """What stands for a derivative that is refused; ``node_name`` is its node's name."""

    def __init__(self, node_name: str, backward: Callable[..., Any]) -> None:
        self.__name__ = self.node_name = node_name
        self.backward = backward


_ONCE = _Refusing("Error", _refuse_twice)


class _Alone(FunctionNode):
    """The node of a gradient that by itself is a constant to the user, as PyTorch has it."""

    __slots__ = ()
    constant = True


def without_derivative(
    value: Tensor, sources: tuple[Any, ...], name: str, node_name: str, said: str | None = None
) -> Tensor:
    """``value``, which PyTorch's function ``name`` made of ``sources``: its gradient is refused.

    The error (UnwrittenFault, E0405; RuntimeFault where it has its own words) comes when a gradient
    is asked for; at once for a tangent.
    """

    def refuse(*_: Any) -> Any:
        if said is not None:
            raise RuntimeFault("E0405", said)
        raise UnwrittenFault("E0405", f"the derivative for '{name}' is not implemented.")

    if any(getattr(v, "tangent", None) is not None for v in sources):
        refuse()
    edges = [v.edge for v in sources if getattr(v, "edge", None) is not None]
    if not mode.grad or not edges:
        return value
    return _refusing(value, edges, _Refusing(node_name, refuse))
