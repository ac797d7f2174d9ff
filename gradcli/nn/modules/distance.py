"""Distances as modules."""

from __future__ import annotations

from gradcli.nn import functional as F
from gradcli.nn.modules.made import module_of

CosineSimilarity = module_of(__name__, "CosineSimilarity", F.cosine_similarity, "", 2,
                             dim=1, eps=1e-8)  # fmt: skip
PairwiseDistance = module_of(__name__, "PairwiseDistance", F.pairwise_distance, "", 2,
                             p=2.0, eps=1e-6, keepdim=False)  # fmt: skip
