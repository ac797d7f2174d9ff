"""``gradcli.nn.functional``: activations, layers, convolutions and losses under PyTorch's names.

activations   relu, gelu, softmax, dropout ...    layers        linear, layer_norm ...
convolution   conv2d, unfold, interpolate ...     tables        embedding, embedding_bag
padding       pad                                 losses        mse_loss, huber_loss ...
pooling       max_pool2d, avg_pool2d ...          class_losses  cross_entropy, nll_loss, one_hot ...
                                                  pair_losses   triplet_margin_loss ...
"""

from gradcli.functions.nn.activations import (
    celu,
    dropout,
    dropout1d,
    dropout2d,
    elu,
    gelu,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    rrelu,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)  # fmt: skip
from gradcli.functions.nn.class_losses import cross_entropy, multi_margin_loss, nll_loss, one_hot
from gradcli.functions.nn.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    interpolate,
    pixel_shuffle,
    unfold,
)  # fmt: skip
from gradcli.functions.nn.embedding import embedding, embedding_bag
from gradcli.functions.nn.layers import (
    batch_norm,
    bilinear,
    group_norm,
    instance_norm,
    layer_norm,
    linear,
    normalize,
    rms_norm,
    scaled_dot_product_attention,
)  # fmt: skip
from gradcli.functions.nn.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    multilabel_soft_margin_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)  # fmt: skip
from gradcli.functions.nn.padding import pad
from gradcli.functions.nn.pair_losses import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    margin_ranking_loss,
    pairwise_distance,
    triplet_margin_loss,
)  # fmt: skip
from gradcli.functions.nn.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    avg_pool1d,
    avg_pool2d,
    max_pool1d,
    max_pool2d,
)  # fmt: skip

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "avg_pool1d", "avg_pool2d", "batch_norm", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "dropout",
    "dropout1d", "dropout2d", "elu", "embedding", "embedding_bag", "gaussian_nll_loss", "gelu",
    "glu", "group_norm",
    "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss",
    "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu",
    "linear", "log_softmax", "logsigmoid", "margin_ranking_loss", "max_pool1d", "max_pool2d",
    "mish", "mse_loss", "multi_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "normalize",
    "one_hot", "pad", "pairwise_distance", "pixel_shuffle", "poisson_nll_loss", "prelu", "relu",
    "relu6", "rms_norm", "rrelu", "scaled_dot_product_attention", "selu", "sigmoid", "silu",
    "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink",
    "softsign", "tanh", "tanhshrink", "threshold", "triplet_margin_loss", "unfold",
]  # fmt: skip
