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

_HOMES = {
    "activation": (
        "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
        "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "ReLU", "ReLU6", "SiLU",
        "Sigmoid", "Softmax", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
        "Threshold", "RReLU", "Softmax2d",
    ),
    "attention": ("MultiheadAttention",),
    "batchnorm": (
        "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d",
        "InstanceNorm3d",
    ),
    "container": ("ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"),
    "conv": ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
             "ConvTranspose3d"),
    "distance": ("CosineSimilarity", "PairwiseDistance"),
    "dropout": (
        "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout",
    ),
    "flatten": ("Flatten", "Unflatten"),
    "lazy": (
        "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d",
        "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
        "LazyLinear",
    ),
    "linear": ("Bilinear", "Identity", "Linear"),
    "loss": (
        "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss",
        "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss",
        "MarginRankingLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss",
        "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss",
        "TripletMarginWithDistanceLoss", "MultiLabelMarginLoss",
    ),
    "module": ("Module",),
    "normalization": ("GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"),
    "padding": (
        "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
        "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
        "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d",
        "ZeroPad3d",
    ),
    "pooling": (
        "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
        "AvgPool1d", "AvgPool2d", "MaxPool1d", "MaxPool2d", "AdaptiveAvgPool3d",
        "AdaptiveMaxPool3d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d",
        "LPPool2d", "LPPool3d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
    ),
    "resampling": (
        "ChannelShuffle", "Fold", "PixelShuffle", "PixelUnshuffle", "Unfold", "Upsample",
        "UpsamplingBilinear2d", "UpsamplingNearest2d",
    ),
    "rnn": ("GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"),
    "sparse": ("Embedding", "EmbeddingBag"),
}  # fmt: skip
HOME = {name: home for home, names in _HOMES.items() for name in names}
"""The file of each module."""

__all__ = sorted(HOME)

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("module", *_HOMES), ""),
        **{name: f"gradcli.nn.modules.{home}" for name, home in HOME.items()},
    },
)
