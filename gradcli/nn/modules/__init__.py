"""The modules of ``gradcli.nn``, filed as PyTorch files them; each is loaded when it is asked for.

module      Module                       container   Sequential, ModuleList, ParameterList ...
linear      Linear, Bilinear, Identity   activation  ReLU, GELU, Softmax ...
loss        MSELoss, CrossEntropyLoss    conv        Conv1d, Conv2d, ConvTranspose2d ...
pooling     MaxPool2d, AvgPool2d ...     batchnorm   BatchNorm1d, InstanceNorm1d ...
sparse      Embedding, EmbeddingBag      rnn         RNN, LSTM, GRU and their cells
resampling  Upsample, PixelShuffle, Fold
padding     ZeroPad2d, ReflectionPad1d   attention   MultiheadAttention
lazy        LazyLinear, LazyConv2d ...
"""

from __future__ import annotations

from gradcli._lazy import lazily


def _ranks(*families: str) -> str:
    """The names of families that have a module for one, two and three dimensions."""
    return " ".join(f"{family}{rank}d" for family in families for rank in (1, 2, 3))


_HOMES = {
    "activation": "CELU ELU GELU GLU SELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU "
    "LogSigmoid LogSoftmax Mish PReLU ReLU ReLU6 SiLU Sigmoid Softmax Softmin Softplus Softshrink "
    "Softsign Tanh Tanhshrink Threshold RReLU Softmax2d",
    "attention": "MultiheadAttention",
    "batchnorm": _ranks("BatchNorm", "InstanceNorm"),
    "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": _ranks("Conv", "ConvTranspose"),
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "AlphaDropout Dropout FeatureAlphaDropout " + _ranks("Dropout"),
    "flatten": "Flatten Unflatten",
    "lazy": "LazyLinear " + _ranks("LazyBatchNorm", "LazyConv", "LazyConvTranspose"),
    "linear": "Bilinear Identity Linear",
    "loss": "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss "
    "GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss "
    "MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss PoissonNLLLoss SmoothL1Loss SoftMarginLoss "
    "TripletMarginLoss TripletMarginWithDistanceLoss MultiLabelMarginLoss",
    "module": "Module",
    "normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "padding": _ranks("CircularPad", "ConstantPad", "ReflectionPad", "ReplicationPad", "ZeroPad"),
    "pooling": "FractionalMaxPool2d FractionalMaxPool3d "
    + _ranks("AdaptiveAvgPool", "AdaptiveMaxPool", "AvgPool", "LPPool", "MaxPool", "MaxUnpool"),
    "resampling": "ChannelShuffle Fold PixelShuffle PixelUnshuffle Unfold Upsample "
    "UpsamplingBilinear2d UpsamplingNearest2d",
    "rnn": "GRU LSTM RNN GRUCell LSTMCell RNNCell",
    "sparse": "Embedding EmbeddingBag",
}
HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
"""The file of each module."""

__all__ = sorted(HOME)

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("module", *_HOMES), ""),
        **{name: f"gradcli.nn.modules.{home}" for name, home in HOME.items()},
    },
)
