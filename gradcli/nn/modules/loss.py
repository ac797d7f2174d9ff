"""Losses as modules."""

from __future__ import annotations

from functools import wraps
from typing import Any

from gradcli.functions.nn.losses import chosen
from gradcli.nn import functional as F
from gradcli.nn.modules.made import module_of
from gradcli.nn.modules.module import Module
from gradcli.ops.errors import bad_argument

_REDUCED = {"size_average": None, "reduce": None, "reduction": "mean"}


def _row(
    name: str, function: Any, inputs: int = 2, check: Any = None, /, **options: Any
) -> type[Module]:
    made: Any = module_of(__name__, name, function, "", inputs, check, **options)
    if "reduce" in options:
        made.__init__ = _reducing(made.__init__)
    return made  # type: ignore[no-any-return]


def _reducing(init: Any) -> Any:
    """``init``, whose two older arguments become the ``reduction``."""

    @wraps(init)
    def __init__(self: Any, *args: Any, **given: Any) -> None:
        init(self, *args, **given)
        self.reduction = chosen(self.size_average, self.reduce, self.reduction)
        self.size_average = self.reduce = None

    return __init__


def _apart(self: Any) -> None:
    if not self.margin > 0:
        said = f"expected margin to be greater than 0, got {self.margin} instead"
        raise bad_argument(f"{type(self).__name__}: {said}")


def _by_class(self: Any) -> None:
    if self.p not in (1, 2):
        raise bad_argument("only p == 1 and p == 2 supported")
    if self.weight is not None and self.weight.dim() != 1:
        said = f"expected weight to be None or 1D tensor, got {self.weight.dim()}D instead"
        raise bad_argument(f"{type(self).__name__}: {said}")


L1Loss = _row("L1Loss", F.l1_loss, **_REDUCED)
MSELoss = _row("MSELoss", F.mse_loss, **_REDUCED)
SmoothL1Loss = _row("SmoothL1Loss", F.smooth_l1_loss, **_REDUCED, beta=1.0)
HuberLoss = _row("HuberLoss", F.huber_loss, reduction="mean", delta=1.0)
BCELoss = _row("BCELoss", F.binary_cross_entropy, weight=None, **_REDUCED)
BCEWithLogitsLoss = _row("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits,
                         weight=None, **_REDUCED, pos_weight=None)  # fmt: skip
NLLLoss = _row("NLLLoss", F.nll_loss, weight=None, size_average=None, ignore_index=-100,
               reduce=None, reduction="mean")  # fmt: skip
CrossEntropyLoss = _row("CrossEntropyLoss", F.cross_entropy, weight=None, size_average=None,
                        ignore_index=-100, reduce=None, reduction="mean",
                        label_smoothing=0.0)  # fmt: skip
KLDivLoss = _row("KLDivLoss", F.kl_div, **_REDUCED, log_target=False)
HingeEmbeddingLoss = _row("HingeEmbeddingLoss", F.hinge_embedding_loss, margin=1.0, **_REDUCED)
MarginRankingLoss = _row("MarginRankingLoss", F.margin_ranking_loss, 3, margin=0.0, **_REDUCED)
SoftMarginLoss = _row("SoftMarginLoss", F.soft_margin_loss, **_REDUCED)
TripletMarginLoss = _row("TripletMarginLoss", F.triplet_margin_loss, 3, _apart, margin=1.0, p=2.0,
                         eps=1e-6, swap=False, **_REDUCED)  # fmt: skip
CosineEmbeddingLoss = _row("CosineEmbeddingLoss", F.cosine_embedding_loss, 3, margin=0.0,
                           **_REDUCED)  # fmt: skip
PoissonNLLLoss = _row("PoissonNLLLoss", F.poisson_nll_loss, log_input=True, full=False,
                      size_average=None, eps=1e-8, reduce=None, reduction="mean")  # fmt: skip
GaussianNLLLoss = _row("GaussianNLLLoss", F.gaussian_nll_loss, 3, full=False, eps=1e-6,
                       reduction="mean")  # fmt: skip
MultiLabelSoftMarginLoss = _row("MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss,
                                weight=None, **_REDUCED)  # fmt: skip
MultiMarginLoss = _row("MultiMarginLoss", F.multi_margin_loss, 2, _by_class, p=1, margin=1.0,
                       weight=None, **_REDUCED)  # fmt: skip
MultiLabelMarginLoss = _row("MultiLabelMarginLoss", F.multilabel_margin_loss, **_REDUCED)
TripletMarginWithDistanceLoss = _row("TripletMarginWithDistanceLoss",
                                     F.triplet_margin_with_distance_loss, 3, _apart,
                                     distance_function=None, margin=1.0, swap=False,
                                     reduction="mean")  # fmt: skip
CTCLoss = _row("CTCLoss", F.ctc_loss, 4, blank=0, reduction="mean", zero_infinity=False)
