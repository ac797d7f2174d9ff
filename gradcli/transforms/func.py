"""Transforms that take a function and give a function: ``gradcli.func``, with torch.func's calls.

Arguments and results may be nested tuples, lists and dicts of tensors. Every transform here may
stand inside every other: grad in vmap, jvp in grad, jacfwd of jacrev.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from gradcli.engine import Tensor
from gradcli.engine.backward.api import no_graph
from gradcli.engine.grad_mode import (
    Transform,
    enable_grad,
    mode,
    outside_inference,
    transformed,
    transforming,
)
from gradcli.engine.graph.level_detach import LevelDetach
from gradcli.engine.graph.node import more
from gradcli.engine.graph.own_passes import leads_inside
from gradcli.engine.graph.torch_names import shown_edges
from gradcli.engine.record.composite import bottom, version_of
from gradcli.engine.record.saved_tensor_hooks import disable_saved_tensors_hooks
from gradcli.ops.errors import RuntimeFault, ValueFault
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS
from gradcli.transforms.forward import jvp, tangents_of
from gradcli.transforms.func_checks import (
    cotangents_as,
    differentiable,
    floating,
    inexact,
    pair,
    real,
    scalar_tensor,
    tensors,
)
from gradcli.transforms.reverse import (
    batches_seen,
    end_at,
    finished,
    jacobians_of,
    leaf_of,
    own_tensor,
    pull_back,
    reaches_further,
    rebuilt,
    rows_at_once,
    scalar_only,
    unit_directions,
    watched,
    without_leaves,
)
from gradcli.transforms.tracer import (
    follow,
    follow_tangents,
    lasting,
    memory_of,
    operands_of,
    rank_of,
    tensors_of,
)
from gradcli.transforms.tree import flatten, over, unflatten
from gradcli.transforms.vmap import over_rows

Argnums = int | tuple[int, ...]


def _chosen(argnums: Argnums, count: int) -> tuple[int, ...]:
    """The arguments to differentiate by, of so many. Raises RuntimeFault (E0302)."""
    chosen = []
    if not isinstance(argnums, int | tuple):
        raise RuntimeFault("E0302", f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    for number in argnums if isinstance(argnums, tuple) else (argnums,):
        if not isinstance(number, int):
            raise RuntimeFault("E0302", f"argnum must be int, got: {type(number)}")
        if not -count <= number < count:
            raise RuntimeFault("E0302", f"Got argnum={number}, but only {count} positional inputs")
        chosen.append(number % count)
    if not chosen:
        raise RuntimeFault("E0302", "argnums must be non-empty")
    if len(set(chosen)) < len(chosen):
        raise RuntimeFault("E0302", f"argnums elements must be unique, got {argnums}")
    return tuple(chosen)


class _Run:
    """One evaluation of a function, ready to be pulled back by some of its arguments.

    ``link`` leaves the arguments in the caller's graph, where they are in one.
    """

    def __init__(
        self, function: Callable, args: Sequence[Any], argnums: Argnums, has_aux: bool,
        link: bool | None = None, transform: str = "vjp(f, *primals)", kwargs: dict | None = None,
    ):  # fmt: skip
        which = _chosen(argnums, len(args))
        outer = mode.grad if link is None else link
        found, self.shape = flatten(tuple(args[i] for i in which))
        differentiable(found)
        arguments: list[Any] = []
        self.by = Transform(function, arguments, records=True)
        with transforming(self.by), disable_saved_tensors_hooks(_NO_HOOKS), enable_grad():
            every = flatten([list(args), kwargs])[0]
            around = batches_seen(function, every)
            self.leaves = [leaf_of(v, outer, around) for v in found]
            mapped = {v.__gradcli_rank__ for value in found for v in operands_of(value)}
            self.by.lifted = {vmap.level for vmap in around} - mapped
            # What the function gives back unchanged is the caller's own.
            self.given = {id(leaf): (leaf, v) for leaf, v in zip(self.leaves, found, strict=True)}

            memories = Counter(id(memory_of(v)) for v in every if rank_of(v))
            twins: dict[int, Any] = {}

            def own(v: Any) -> Any:
                argument = own_tensor(v, memories, twins)
                self.given[id(argument)] = argument, v
                return argument

            full, named = over(own, [list(args), kwargs or {}])
            self.versions = {key: version_of(v) for key, (_, v) in self.given.items()}
            for i, chosen in zip(which, unflatten(self.leaves, self.shape), strict=True):
                full[i] = chosen
            arguments += (v for v in flatten([full, named])[0] if rank_of(v))
            self.ends = [bottom(leaf).edge for leaf in self.leaves]
            self.by.ends = set(self.ends)
            result = over(lasting, function(*full, **named))
            edges = [bottom(leaf).edge for leaf in self.leaves]
            cut = [  # by detach_()
                i for i, edge in enumerate(edges)
                if edge is None or (edge.__class__ is LevelDetach and edge.edges[1] is None)
            ]  # fmt: skip
            # A write to ``x.data`` puts x elsewhere in the graphs of transforms around.
            ends = [end_at(leaf, e) for leaf, e in zip(self.leaves, self.ends, strict=True)]
            # After detach_() and a recorded write it is what it has become.
            moved = (
                edge is not None
                and not (edge.leaf or edge in self.ends or isinstance(edge, LevelDetach))
                for edge in edges
            )
            self.leaves = [
                leaf if now else end
                for leaf, end, now in zip(self.leaves, ends, moved, strict=True)
            ]
        self.aux = None
        if has_aux:
            result, self.aux = pair(result, transform)
        if transform == _GRAD:
            scalar_tensor(result)
        self.outputs, self.out_shape = flatten(result)
        tensors(self.outputs, transform)
        if transform != _GRAD:
            inexact(self.outputs)
        if cut and any(
            leads_inside(self.by, t.edge, self.by.ends)
            for out in self.outputs for t in tensors_of(out) if t.edge is not None
        ):  # fmt: skip
            raise no_graph(cut[0])
        self.made = self.by.so_far()
        self.create = outer and reaches_further(self.outputs, self.leaves, self.made)
        self.single = isinstance(argnums, int)
        for leaf in ends:
            finished(leaf)

    def pull(self, cotangents: Sequence[Any]) -> Any:
        """Gradients, inside the transform; the user's hooks and backwards are shown recorded ones,
        as in PyTorch."""
        shown = (mode.watching or mode.foreign) and watched(self.outputs)
        with transforming(self.by):
            return pull_back(self.outputs, self.leaves, cotangents, self.create or shown)

    def pull_later(self, cotangents: Sequence[Any], recorded: bool) -> list:
        """The same, where it is ``recorded`` in a graph of the cotangents too that are in one."""
        tracked = any(t.edge is not None for c in cotangents for t in tensors_of(c))
        create = recorded and (self.create or tracked)
        with outside_inference():
            return pull_back(self.outputs, self.leaves, cotangents, create)

    def arranged(self, gradients: list) -> Any:
        """Gradients nested as the arguments are."""
        tree = unflatten(self.settled(gradients), self.shape)
        return tree[0] if self.single else tree

    def settled(self, tree: Any) -> Any:
        """Results of the function as the caller gets them: each in the graph that it is in."""
        outer = mode.grad

        def result(v: Any) -> Any:
            leaf, given = self.given.get(id(v), (v, v))
            if leaf is not given and bottom(leaf).edge in (None, *self.ends):
                return given
            return without_leaves(v, self.made, self.leaves, outer)

        return over(result, tree)

    def value(self) -> Any:
        return self.settled(unflatten(self.outputs, self.out_shape))

    def hand_back(self) -> None:
        """Have the caller's arguments that were written to follow in the graphs and tangents of
        transforms around, once all is pulled back."""
        for argument, given in self.given.values():
            if argument is given:
                continue
            edge = bottom(argument).edge
            if isinstance(edge, LevelDetach) and edge.edges[0] in self.ends:
                continue  # detach_() is of the argument alone
            if edge not in self.ends:
                follow(given, without_leaves(argument, self.made, self.leaves, mode.grad))
            elif version_of(given) != self.versions[id(argument)]:
                # Under no_grad, which tangents do not know.
                follow_tangents(given, argument)


_GRAD = "grad_and_value(f)(*args)"
_NO_HOOKS = "func.grad, vjp, jacrev and hessian don't yet support saved tensor hooks"


def grad_and_value(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """The function that gives the gradient of a scalar-valued ``func``, and its value.

    With ``has_aux`` the function gives ``(value, aux)`` and the result is
    ``(gradient, (value, aux))``. Raises RuntimeFault (E0403) where the value is no scalar.
    """

    @functools.wraps(func, updated=())
    def both(*args: Any, **kwargs: Any) -> tuple:
        run = _Run(func, args, argnums, has_aux, transform=_GRAD, kwargs=kwargs)
        scalar_only(run.outputs[0])
        gradient = run.arranged(run.pull([None]))
        run.hand_back()
        return gradient, (run.value(), run.settled(run.aux)) if has_aux else run.value()

    return both


def grad(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """The function that gives the gradient of a scalar-valued ``func`` by argument ``argnums``.

    Nests: ``grad(grad(f))`` is the second derivative. Raises RuntimeFault (E0403) where the value
    is no scalar.

    Example:
        >>> import gradcli
        >>> gradcli.func.grad(gradcli.func.grad(lambda x: x**3))(gradcli.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """The value of ``function(*primals)``, and its vector-Jacobian product as a function.

    That function takes a cotangent for each result and gives a tuple: a gradient for each primal.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([1.0, 2.0])
        >>> value, pull = gradcli.func.vjp(lambda x: x * x, x)
        >>> pull(gradcli.tensor([1.0, 10.0]))
        (tensor([ 2., 40.]),)
    """
    if not primals:
        func()
        raise RuntimeFault("E0302", "vjp needs at least one primal")
    run = _Run(func, primals, tuple(range(len(primals))), has_aux, link=True)
    run.hand_back()
    value, aux = run.value(), run.settled(run.aux)
    # Where they are now: the caller may write to the value, which moves that in the graph.
    run.outputs = [rebuilt(out, lambda t: t._alias(t.edge)) for out in run.outputs]
    shown = [t for out in flatten(value)[0] for t in tensors_of(out)]
    since = run.made.start
    held = _apart([t for t in shown if t.edge is not None and t.edge.seq >= since], since)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: Any = None) -> tuple:
        for node, saved in held:
            node.saved = saved
        recorded = mode.grad if create_graph is None else create_graph
        return run.arranged(run.pull_later(cotangents_as(cotangents, run.out_shape), recorded))

    return (value, pull, aux) if has_aux else (value, pull)


def _apart(values: Sequence[Tensor], since: int) -> list[tuple[Any, Any]]:
    """Give values of ``vjp`` nodes of their own, so that the caller's hooks are none of the pull's.

    Returns the nodes behind them that were made ``since``, with what they saved: passes of the
    caller's free those.
    """
    inside, seen = [t.edge for t in values], {None}
    for node in inside:  # which grows
        new = {e for e in node.edges if e not in seen and e.seq >= since}
        seen |= new
        inside += new
    for value in values:
        edge = value.edge.origin
        own = OPERATORS["reshape"](value, value.shape).edge
        named = edge.name().rpartition("::")[2]
        more(own).params.update(called=named, called_on=shown_edges(edge))
        if edge.saved:
            more(edge).out_edge = ref(own)
        value.edge = own
    return [(node, node.saved) for node in inside if node.saved]


def jacrev(
    func: Callable, argnums: Argnums = 0, *, has_aux: bool = False,
    chunk_size: int | None = None, _preallocate_and_copy: bool = False,
) -> Callable:  # fmt: skip
    """The function that gives the Jacobian by reverse mode: a row for each entry of the result.

    A Jacobian has the result's shape and then the argument's. One pass takes ``chunk_size`` rows,
    by default as many as need little memory; ``_preallocate_and_copy`` is what is done always.
    Raises ValueFault (E0303) for a size below 1, RuntimeFault (E0403) for complex numbers.

    Example:
        >>> import gradcli
        >>> gradcli.func.jacrev(lambda x: x * x)(gradcli.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    if chunk_size is not None and chunk_size < 1:
        raise ValueFault("E0303", "jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func, updated=())
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        inputs = flatten([args[i] for i in _chosen(argnums, len(args))])[0]
        real(inputs, "jacrev: Expected all inputs", "vjp")
        run = _Run(func, args, argnums, has_aux, kwargs=kwargs)
        real(run.outputs, "jacrev: Expected all outputs", "vjp")
        with outside_inference():
            found = vectorized_jacobians(run.outputs, run.leaves, run.create, chunk_size)
        run.hand_back()
        result = unflatten([run.arranged(row) for row in found], run.out_shape)
        return (result, run.settled(run.aux)) if has_aux else result

    return jacobian


def vectorized_jacobians(
    outputs: Sequence[Any], leaves: Sequence[Any], create_graph: bool, chunk_size: int | None = None
) -> list[list]:
    """``jacobians_of``, many rows in one pass: so many, or as suits the memory."""

    def pull(outputs: Sequence[Any], cotangents: Sequence[Any]) -> list:
        return pull_back(outputs, leaves, cotangents, create_graph)

    at_once = rows_at_once(outputs, leaves) if chunk_size is None else chunk_size
    if any(v.__class__ is not Tensor for v in (*outputs, *leaves)):
        # Where batches and tangents take part too, row by row.
        return jacobians_of(outputs, leaves, pull)

    def many(outputs: Sequence[Any], rows: Sequence[Any]) -> Sequence[Any]:
        if at_once == 1:
            return [g[None] for g in pull(outputs, [row[0] for row in rows])]
        return over_rows(lambda *cotangents: pull(outputs, cotangents), rows)

    return jacobians_of(outputs, leaves, many, at_once)


def jacfwd(
    func: Callable, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable:
    """The function that gives the Jacobian by forward mode, all directions in one pass.

    ``randomness`` is about random numbers that the function draws, as in ``vmap``.

    Example:
        >>> import gradcli
        >>> gradcli.func.jacfwd(lambda x: x * x)(gradcli.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    return forward_jacobian(func, argnums, has_aux, randomness, True)


def forward_jacobian(
    func: Callable, argnums: Argnums, has_aux: bool, randomness: str, only_real: bool
) -> Callable:
    """``jacfwd``; unless ``only_real``, by a dual level, of complex numbers too, along the real
    axis of each."""

    @functools.wraps(func, updated=())
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        which = _chosen(argnums, len(args))
        leaves, shape = flatten(tuple(args[i] for i in which))
        if only_real:
            real(leaves, "jacfwd: Expected all inputs", "jvp")
        else:
            floating("primal", leaves)

        def chosen(*values: Any) -> Any:
            full = list(args)
            for i, part in zip(which, unflatten(list(values), shape), strict=True):
                full[i] = part
            if only_real:  # what is not differentiated by is an argument of ``jvp`` all the same
                transformed.by[-1].arguments = [*filter(rank_of, flatten([full, kwargs])[0])]
            return func(*full, **kwargs)

        def along(*tangents: Any) -> tuple:
            if not only_real:
                return (tangents_of(chosen, leaves, tangents),)
            found = jvp(chosen, tuple(leaves), tangents, has_aux=has_aux)[1:]
            real(flatten(found[0])[0], "jacfwd: Expected all outputs", "jvp")
            return found

        ends = np.cumsum([0, *(v.numel() for v in leaves)]).tolist()
        total = ends[-1]
        for v in leaves:
            charge_shape((total, v.numel()), v.dtype.itemsize)
        with outside_inference():
            if total:
                columns, *aux = over_rows(
                    along, unit_directions(leaves, ends, 0, total), randomness
                )
                aux = over(lambda a: a[0], aux)
            else:  # no directions: only the shapes matter
                columns, *aux = along(*(OPERATORS["zeros_like"](v) for v in leaves))
                columns = over(lambda c: c.reshape((1, *c.shape))[:0], columns)
        found = []
        outputs, out_shape = flatten(columns)
        for c in outputs:
            last = OPERATORS["permute"](c, (*range(1, len(c.shape)), 0))
            parts = [
                OPERATORS["reshape"](last[..., start:end], (*last.shape[:-1], *v.shape))
                for v, start, end in zip(leaves, ends, ends[1:], strict=False)
            ]
            tree = unflatten(parts, shape)
            found.append(tree[0] if isinstance(argnums, int) else tree)
        result = unflatten(found, out_shape)
        return (result, *aux) if has_aux else result

    return jacobian


def hessian(func: Callable, argnums: Argnums = 0) -> Callable:
    """The function that gives the second derivatives: forward mode over reverse mode.

    Example:
        >>> import gradcli
        >>> gradcli.func.hessian(lambda x: (x**3).sum())(gradcli.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """``func`` itself: every transform here takes functions that write in place, or to views.

    Other systems have to rewrite such a function first; ``remove`` says how: ``"mutations"`` or
    ``"mutations_and_views"``. Raises RuntimeFault (E0303) for another, and (E0412) where the
    function writes to a tensor that it captures.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeFault(
            "E0303",
            "functionalize(f, remove='mutations'): received invalid argument for "
            f"remove={remove}. Valid options are: remove='mutations', remove='mutations_and_views'",
        )

    @functools.wraps(func, updated=())
    def functional(*args: Any, **kwargs: Any) -> Any:
        arguments = [v for v in flatten([list(args), kwargs])[0] if rank_of(v)]
        with transforming(Transform(func, arguments)):
            return func(*args, **kwargs)

    return functional
