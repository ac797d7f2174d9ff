"""Losses of ``torch`` itself, PyTorch's functions in C++, whose ``reduction`` is a number.

0 leaves every loss, 1 takes their mean, 2 their sum; left out it is 0 in Python. ``nn.functional``
has them by words, with their formulas.
"""

from __future__ import annotations

from typing import Any

from gradcli.functions.nn import class_losses, losses, pair_losses


def _word(reduction: int) -> str:
    return {1: "mean", 2: "sum"}.get(reduction, "none")


def kl_div(input: Any, target: Any, reduction: int = 0, *, log_target: bool = False) -> Any:
    """The divergence of ``target`` from ``exp(input)``."""
    return losses.kl_div(input, target, reduction=_word(reduction), log_target=log_target)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 0
) -> Any:
    """The cross entropy of sigmoid(x) and 0 or 1, without overflow."""
    return losses.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_word(reduction), pos_weight=pos_weight
    )


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int
) -> Any:
    """The negative log-likelihood of counts; ``input`` is the logarithm of the rate."""
    return losses.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=_word(reduction)
    )


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: int = 0) -> Any:
    """``input`` where the target is 1, and what lacks to the margin where it is -1."""
    return pair_losses.hinge_embedding_loss(input, target, margin, reduction=_word(reduction))


def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0
) -> Any:
    """What lacks to ``target * (input1 - input2)`` above the margin."""
    return pair_losses.margin_ranking_loss(
        input1, input2, target, margin, reduction=_word(reduction)
    )


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0
) -> Any:
    """1 - cosine where the target is 1, and the cosine above a margin where it is -1."""
    return pair_losses.cosine_embedding_loss(
        input1, input2, target, margin, reduction=_word(reduction)
    )


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: int = 0,
) -> Any:  # fmt: skip
    """How much nearer the anchor is to ``negative`` than to ``positive`` and a margin."""
    return pair_losses.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_word(reduction)
    )


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: int = 0, zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """The negative log-likelihood of label sequences, over all their alignments with steps."""
    return class_losses.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _word(reduction), zero_infinity
    )
