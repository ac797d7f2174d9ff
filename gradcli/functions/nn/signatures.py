"""What kinds of arguments the functions of ``nn.functional`` take.

A call that went well says nothing of kinds, and so they are looked at where one failed: PyTorch
reads the arguments first, and a number where a tensor belongs is a TypeError there, whatever it
would have led to. Truths alone are looked at before, since anything is one in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from inspect import Parameter, signature
from typing import Any

import numpy as np

from gradcli.ops.torch_messages import not_a

_KINDS = {
    name: kind
    for kind, names in {
        "Tensor": (
            "anchor attn_mask bias bias_k bias_v grid indices input input1 input2 key log_probs "
            "negative positive query running_mean running_var target targets weight x1 x2"
        ),
        "bool": (
            "align_corners ceil_mode count_include_pad full is_causal log_input log_target "
            "scale_grad_by_freq swap training use_input_stats zero_infinity"
        ),
        "int": (
            "divisor_override downscale_factor groups ignore_index num_classes num_groups "
            "upscale_factor"
        ),
        "float": "dropout_p eps margin momentum norm_type",
        "Number": "alpha beta lambd negative_slope threshold",
        "str": "approximate",
    }.items()
    for name in names.split()
}
_PYTHON = (
    "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d batch_norm "
    "binary_cross_entropy binary_cross_entropy_with_logits dropout1d dropout2d dropout3d "
    "fractional_max_pool2d fractional_max_pool3d gaussian_nll_loss glu group_norm huber_loss "
    "instance_norm interpolate l1_loss linear_cross_entropy local_response_norm "
    "margin_ranking_loss max_pool3d max_unpool1d max_unpool2d max_unpool3d mse_loss "
    "multi_head_attention_forward normalize smooth_l1_loss softsign tanhshrink "
    "triplet_margin_with_distance_loss upsample upsample_bilinear upsample_nearest"
)
_OWN_CHECKS = frozenset(_PYTHON.split())
"""Functions that are Python in PyTorch and ask their tensors first: an AttributeError there."""
_LATE = ("training", "use_input_stats")
"""Truths that these hand on to what is not Python."""
_TAKEN: dict[str, tuple[type, ...]] = {
    "bool": (bool, np.bool_),
    "int": (int, np.integer),
    "float": (int, float, np.number, np.bool_),
    "Number": (int, float, complex, np.number, np.bool_),
    "str": (str,),
}


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, of which a call that fails is one of wrong kinds if any argument is."""
    heads, calls, kinds, flags = [], [], {}, []
    space: dict[str, Any] = {"function": function, "look": _look}
    lazy = function.__name__ in _OWN_CHECKS
    star = False
    for position, (name, one) in enumerate(signature(function).parameters.items(), 1):
        if one.kind not in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
            return function
        if one.kind is Parameter.KEYWORD_ONLY and not star:
            heads.append("*")
            star = True
        given = one.default is not Parameter.empty
        space[f"of_{name}"] = one.default
        heads.append(f"{name}=of_{name}" if given else name)
        calls.append(f"{name}={name}" if star else name)
        kind = _KINDS.get(name)
        if kind is None or (kind == "Tensor" and lazy and not given):
            continue
        if kind == "bool" and lazy and (name not in _LATE or "attention" in function.__name__):
            continue
        kinds[name] = kind, position, given and one.default is None
        if kind == "bool":
            free = f" and {name} is not None" if given and one.default is None else ""
            flags.append(f"{name} is not True and {name} is not False{free}")
    if not kinds:
        return function
    space["kinds"] = kinds
    values = ", ".join(f"{name!r}: {name}" for name in kinds)
    seen = f"look(function.__name__, kinds, {{{values}}})"
    early = f"    if {' or '.join(flags)}:\n        {seen}\n" if flags else ""
    text = (
        f"def {function.__name__}({', '.join(heads)}):\n{early}    try:\n"
        f"        return function({', '.join(calls)})\n    except Exception:\n        {seen}\n"
        "        raise\n"
    )
    exec(compile(text, f"{__file__[:-3]}[{function.__name__}].py", "exec"), space)
    return update_wrapper(space[function.__name__], function)


def _look(function: str, kinds: dict[str, tuple[str, int, bool]], given: dict[str, Any]) -> None:
    """Raise TypeFault (E0303) for the first argument of another kind than the one wanted."""
    for name, (kind, position, optional) in kinds.items():
        value = given[name]
        if (value is None and optional) or _is(kind, value):
            continue
        raise not_a(kind, function, name, position, value) from None


def _is(kind: str, value: Any) -> bool:
    if kind == "Tensor":
        return bool(getattr(value, "__gradcli_rank__", 0))
    if kind == "int" and isinstance(value, bool):
        return False
    traced = getattr(value, "__gradcli_rank__", 0)  # a number in a 0-d tensor, or of a symbol
    return isinstance(value, _TAKEN[kind]) or bool(traced and kind not in ("str", "bool"))
