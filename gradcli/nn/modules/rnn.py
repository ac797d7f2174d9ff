"""Recurrent modules: one step (the cells), and whole sequences through layers of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.creation.factories import zeros
from gradcli.engine.source_location import warn
from gradcli.functions.overloads import cat, stack
from gradcli.nn import functional as F
from gradcli.nn import init
from gradcli.nn.modules.module import Module
from gradcli.nn.parameter import Parameter, reserve
from gradcli.ops import OPERATORS as _O
from gradcli.ops.errors import TypeFault, ValueFault, bad_argument, bad_shape
from gradcli.ops.memory_budget import step as turn


def _plain(bend: Callable, x: Tensor, h: Tensor, weights: tuple) -> Any:
    """h' = bend(W x + b + U h + c)"""
    w, u, b, c = weights
    return bend(F.linear(x, w, b) + F.linear(h, u, c))


def _lstm(x: Tensor, state: tuple, weights: tuple) -> tuple[Tensor, Tensor]:
    """Hochreiter and Schmidhuber (1997): gates in the order input, forget, cell, output."""
    h, c = state
    w, u, b, d, *projection = weights
    i, f, g, o = (F.linear(x, w, b) + F.linear(h, u, d)).chunk(4, -1)
    c = _O["sigmoid"](f) * c + _O["sigmoid"](i) * _O["tanh"](g)
    h = _O["sigmoid"](o) * _O["tanh"](c)
    return (F.linear(h, *projection) if projection else h), c


def _gru(x: Tensor, h: Tensor, weights: tuple) -> Tensor:
    """Cho and others (2014): gates in the order reset, update, new."""
    w, u, b, c = weights
    xr, xz, xn = F.linear(x, w, b).chunk(3, -1)
    hr, hz, hn = F.linear(h, u, c).chunk(3, -1)
    z = _O["sigmoid"](xz + hz)
    n = _O["tanh"](xn + _O["sigmoid"](xr + hr) * hn)
    return z * (h - n) + n


_STEPS: dict[str, Callable[..., Any]] = {
    **{name: partial(_plain, _O[name]) for name in ("tanh", "relu")}, "lstm": _lstm, "gru": _gru,
}  # fmt: skip
_GATES = {"tanh": 1, "relu": 1, "lstm": 4, "gru": 3}


class _Recurrent(Module):
    """Weights under PyTorch's names, all uniform within 1/sqrt(hidden_size)."""

    kind = "tanh"
    proj_size = 0
    _shown = "{0.input_size}, {0.hidden_size}"
    _usual: Mapping[str, Any] = {"bias": True}

    def _weights(self, inputs: int, bias: bool, end: str, **options: Any) -> None:
        rows, hidden = _GATES[self.kind] * self.hidden_size, self.proj_size or self.hidden_size
        shapes: dict[str, Any] = {"weight_ih": (rows, inputs), "weight_hh": (rows, hidden)}
        if bias or not end:
            shapes["bias_ih"] = shapes["bias_hh"] = (rows,) if bias else None
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        reserve(self, {f"{name}{end}": shape for name, shape in shapes.items()}, **options)

    def reset_parameters(self) -> None:
        """Draw the first values again."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _of(self, end: str) -> tuple:
        names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
        names += ["weight_hr"] if self.proj_size else []
        return tuple(getattr(self, f"{name}{end}", None) for name in names)

    def _start(self, sizes: Sequence[int], dtype: Any) -> Any:
        """A state of zeros."""
        widths = (self.proj_size or self.hidden_size, self.hidden_size)
        h, c = (zeros(*sizes, width, dtype=dtype) for width in widths)
        return (h, c) if self.kind == "lstm" else h

    def _parts(self, hx: Any, single: bool) -> Sequence[Tensor]:
        """The tensors that make a state: two of an LSTM, one tensor only where it has no batch."""
        if self.kind != "lstm":
            return (hx,)
        if not (single or isinstance(hx, (tuple, list))):
            said = f"hx must be tuple of Tensors, not {type(hx).__name__}"
            raise TypeFault("E0304", f"{type(self).__name__}: {said}")
        if len(hx) != 2:
            raise bad_shape(f"{type(self).__name__} expects two hidden states")
        return hx


class _Cell(_Recurrent):
    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self._weights(input_size, bias, "", dtype=dtype, device=device)
        self.reset_parameters()

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The next state, from an input and the last one (0 where there is none)."""
        hx = self._start(input.shape[:-1], input.dtype) if hx is None else hx
        states = self._parts(hx, input.ndim == 1)
        names = ("hx[0]", "hx[1]") if self.kind == "lstm" else ("hidden",)
        for name, v in zip(("input", *names), (input, *states), strict=True):
            if v.dim() not in (1, 2):
                said = f"Expected {name} to be 1D or 2D, got {v.ndim}D instead"
                raise ValueFault("E0301", f"{type(self).__name__}: {said}")
        if input.shape[-1] != self.input_size:
            said = f"got {input.shape[-1]} expected {self.input_size}"
            raise bad_shape(f"input has inconsistent input_size: {said}")
        for i, state in enumerate(states):
            if state.shape[:-1] != input.shape[:-1]:
                sizes = [v.shape[0] if v.ndim == 2 else 1 for v in (input, state)]
                said = f"hidden{i} batch size {sizes[1]}"
                raise bad_shape(f"Input batch size {sizes[0]} doesn't match {said}")
            if state.shape[-1] != self.hidden_size:
                said = f"got {state.shape[-1]}, expected {self.hidden_size}"
                raise bad_shape(f"hidden{i} has inconsistent hidden_size: {said}")
        return _STEPS[self.kind](input, hx, self._of(""))


class RNNCell(_Cell):
    """One step of a recurrent network: tanh or relu of two linear maps."""

    _usual: Mapping[str, Any] = {"bias": True, "nonlinearity": "tanh"}

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if nonlinearity not in ("tanh", "relu"):
            raise bad_argument(f"Unknown nonlinearity: {nonlinearity}")
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.kind = self.nonlinearity = nonlinearity


class LSTMCell(_Cell):
    """One step of a long short-term memory; its state is ``(h, c)``."""

    kind = "lstm"


class GRUCell(_Cell):
    """One step of a gated recurrent unit."""

    kind = "gru"


class _Layers(_Recurrent):
    """Sequences through ``num_layers`` layers of cells, both ways where ``bidirectional``."""

    _usual: Mapping[str, Any] = {
        "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
        "bidirectional": False,
    }  # fmt: skip

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        for name, given, kind in (
            ("bias", bias, bool), ("batch_first", batch_first, bool),
            ("input_size", input_size, int), ("hidden_size", hidden_size, int),
        ):  # fmt: skip
            if not isinstance(given, kind):
                said = f"should be of type {kind.__name__}, got: {type(given).__name__}"
                raise TypeFault("E0304", f"{name} {said}")
        for wrong, said in (
            (input_size <= 0, "input_size must be greater than zero"),
            (hidden_size <= 0, "hidden_size must be greater than zero"),
            (num_layers <= 0, "num_layers must be greater than zero"),
            (proj_size < 0,
             "proj_size should be a positive integer or zero to disable projections"),
            (proj_size >= hidden_size, "proj_size has to be smaller than hidden_size"),
            (not 0 <= dropout <= 1, "dropout should be a number in range [0, 1] representing the "
             "probability of an element being zeroed"),
            (proj_size and self.kind != "lstm",
             "proj_size argument is only supported for LSTM, not RNN or GRU"),
        ):  # fmt: skip
            if wrong:
                raise bad_argument(said)
        if dropout > 0 and num_layers == 1:
            warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                "num_layers=1"
            )
        self.proj_size = proj_size
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, dropout
        self.bidirectional = bidirectional
        self._ends: list[tuple[str, ...]] = []
        for layer in range(num_layers):
            ends = ("", "_reverse")[: 1 + bidirectional]
            self._ends.append(ends)
            inputs = input_size if layer == 0 else (proj_size or hidden_size) * len(ends)
            for end in ends:
                self._weights(inputs, bias, f"_l{layer}{end}", dtype=dtype, device=device)
        self.reset_parameters()

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer, of each direction."""
        ways = (f"_l{i}{end}" for i, ends in enumerate(self._ends) for end in ends)
        return [[w for w in self._of(way) if w is not None] for way in ways]

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        """Every output of the last layer, and the last state of each layer."""
        if input.dim() not in (2, 3):
            said = f"Expected input to be 2D or 3D, got {input.ndim}D instead"
            raise ValueFault("E0301", f"{type(self).__name__}: {said}")
        weight = next(self.parameters())
        if input.dtype is not weight.dtype:
            own, given = weight.dtype, input.dtype
            said = f"RNN input dtype ({given!r}) does not match weight dtype ({own!r}). Convert"
            mend = f"input.to({own!r}), or convert model: model.to({given!r})"
            raise ValueFault("E0309", f"{said} input: {mend}")
        if input.shape[-1] != self.input_size:
            said = f"input_size. Expected {self.input_size}, got {input.shape[-1]}"
            raise bad_shape(f"input.size(-1) must be equal to {said}")
        single = input.ndim == 2
        if single:
            input = input.unsqueeze(1)
        elif self.batch_first:
            input = input.transpose(0, 1)
        first = self._states(input, hx, single)
        last: list[Any] = []
        values = list(input.unbind(0))
        if not values:
            raise bad_shape("Expected sequence length to be larger than 0 in RNN")
        for layer, ends in enumerate(self._ends):
            if layer and self.dropout:
                values = [F.dropout(v, self.dropout, self.training) for v in values]
            ways = []
            for end in ends:
                state = first[len(last)]
                way, state = self._way(values, state, f"_l{layer}{end}", bool(end))
                ways.append(way)
                last.append(state)
            values = ways[0] if len(ways) == 1 else [
                cat(list(pair), -1) for pair in zip(*ways, strict=True)
            ]  # fmt: skip
        out = stack(values)
        out = out.squeeze(1) if single else out.transpose(0, 1) if self.batch_first else out
        return out, self._joined(last, single)

    def _way(self, values: list, state: Any, end: str, back: bool) -> tuple[list, Any]:
        step, weights, outs = _STEPS[self.kind], self._of(end), []
        for value in reversed(values) if back else values:
            turn()
            state = step(value, state, weights)
            outs.append(state[0] if self.kind == "lstm" else state)
        return (outs[::-1] if back else outs), state

    def _states(self, input: Tensor, hx: Any, single: bool) -> list:
        count = sum(len(ends) for ends in self._ends)
        if hx is None:
            return [self._start(input.shape[1:-1], input.dtype)] * count
        parts = self._parts(hx, single)
        widths = (self.proj_size or self.hidden_size, self.hidden_size)
        ranks = [p.ndim for p in parts]
        if any(rank != 3 - single for rank in ranks):
            kind, names = "unbatched" if single else "batched", ("hx", "hx and cx")[len(ranks) - 1]
            raise bad_shape(
                f"For {kind} {3 - single}-D input, {names} should also be {3 - single}-D but got "
                + ", ".join(f"{rank}-D tensor" for rank in ranks)
            )
        for i, (part, width) in enumerate(zip(parts, widths, strict=False)):
            wanted = (count, width) if single else (count, input.shape[1], width)
            if tuple(part.shape) != wanted:
                place = f"[{i}]" if self.kind == "lstm" else ""
                raise bad_shape(f"Expected hidden{place} size {wanted}, got {list(part.shape)}")
        split = [(p.unsqueeze(1) if single else p).unbind(0) for p in parts]
        return list(zip(*split, strict=True)) if self.kind == "lstm" else list(split[0])

    def _joined(self, last: list, single: bool) -> Any:
        parts = list(zip(*last, strict=True)) if self.kind == "lstm" else [last]
        joined = [stack(list(p), 0) for p in parts]
        joined = [j.squeeze(1) if single else j for j in joined]
        return tuple(joined) if self.kind == "lstm" else joined[0]


class RNN(_Layers):
    """A recurrent network over sequences ``(L, N, input_size)``."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
        *args: Any, **options: Any,
    ) -> None:  # fmt: skip
        if nonlinearity not in ("tanh", "relu"):
            said = f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            raise bad_argument(said)
        super().__init__(input_size, hidden_size, num_layers, *args, **options)
        self.kind = self.nonlinearity = nonlinearity


class LSTM(_Layers):
    """A long short-term memory over sequences ``(L, N, input_size)``."""

    kind = "lstm"


class GRU(_Layers):
    """Gated recurrent units over sequences ``(L, N, input_size)``."""

    kind = "gru"
