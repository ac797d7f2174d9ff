"""``gradcli.nn``: layers under PyTorch's names, as functions and as modules with parameters.

functional  relu, linear, conv2d, cross_entropy ...: functions of tensors
modules     Linear, Conv2d, ReLU, CrossEntropyLoss ...: the same, with what they learn
init        first values of weights        utils   clipping gradients, parameters as one vector

All are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from gradcli.nn.modules import HOME

if TYPE_CHECKING:  # what an editor completes
    from gradcli.nn import functional as functional
    from gradcli.nn import init as init
    from gradcli.nn import utils as utils
    from gradcli.nn.modules.activation import CELU as CELU
    from gradcli.nn.modules.activation import ELU as ELU
    from gradcli.nn.modules.activation import GELU as GELU
    from gradcli.nn.modules.activation import GLU as GLU
    from gradcli.nn.modules.activation import SELU as SELU
    from gradcli.nn.modules.activation import Hardshrink as Hardshrink
    from gradcli.nn.modules.activation import Hardsigmoid as Hardsigmoid
    from gradcli.nn.modules.activation import Hardswish as Hardswish
    from gradcli.nn.modules.activation import Hardtanh as Hardtanh
    from gradcli.nn.modules.activation import LeakyReLU as LeakyReLU
    from gradcli.nn.modules.activation import LogSigmoid as LogSigmoid
    from gradcli.nn.modules.activation import LogSoftmax as LogSoftmax
    from gradcli.nn.modules.activation import Mish as Mish
    from gradcli.nn.modules.activation import PReLU as PReLU
    from gradcli.nn.modules.activation import ReLU as ReLU
    from gradcli.nn.modules.activation import ReLU6 as ReLU6
    from gradcli.nn.modules.activation import RReLU as RReLU
    from gradcli.nn.modules.activation import Sigmoid as Sigmoid
    from gradcli.nn.modules.activation import SiLU as SiLU
    from gradcli.nn.modules.activation import Softmax as Softmax
    from gradcli.nn.modules.activation import Softmax2d as Softmax2d
    from gradcli.nn.modules.activation import Softmin as Softmin
    from gradcli.nn.modules.activation import Softplus as Softplus
    from gradcli.nn.modules.activation import Softshrink as Softshrink
    from gradcli.nn.modules.activation import Softsign as Softsign
    from gradcli.nn.modules.activation import Tanh as Tanh
    from gradcli.nn.modules.activation import Tanhshrink as Tanhshrink
    from gradcli.nn.modules.activation import Threshold as Threshold
    from gradcli.nn.modules.attention import MultiheadAttention as MultiheadAttention
    from gradcli.nn.modules.batchnorm import BatchNorm1d as BatchNorm1d
    from gradcli.nn.modules.batchnorm import BatchNorm2d as BatchNorm2d
    from gradcli.nn.modules.batchnorm import BatchNorm3d as BatchNorm3d
    from gradcli.nn.modules.batchnorm import InstanceNorm1d as InstanceNorm1d
    from gradcli.nn.modules.batchnorm import InstanceNorm2d as InstanceNorm2d
    from gradcli.nn.modules.batchnorm import InstanceNorm3d as InstanceNorm3d
    from gradcli.nn.modules.container import ModuleDict as ModuleDict
    from gradcli.nn.modules.container import ModuleList as ModuleList
    from gradcli.nn.modules.container import ParameterDict as ParameterDict
    from gradcli.nn.modules.container import ParameterList as ParameterList
    from gradcli.nn.modules.container import Sequential as Sequential
    from gradcli.nn.modules.conv import Conv1d as Conv1d
    from gradcli.nn.modules.conv import Conv2d as Conv2d
    from gradcli.nn.modules.conv import Conv3d as Conv3d
    from gradcli.nn.modules.conv import ConvTranspose1d as ConvTranspose1d
    from gradcli.nn.modules.conv import ConvTranspose2d as ConvTranspose2d
    from gradcli.nn.modules.conv import ConvTranspose3d as ConvTranspose3d
    from gradcli.nn.modules.distance import CosineSimilarity as CosineSimilarity
    from gradcli.nn.modules.distance import PairwiseDistance as PairwiseDistance
    from gradcli.nn.modules.dropout import AlphaDropout as AlphaDropout
    from gradcli.nn.modules.dropout import Dropout as Dropout
    from gradcli.nn.modules.dropout import Dropout1d as Dropout1d
    from gradcli.nn.modules.dropout import Dropout2d as Dropout2d
    from gradcli.nn.modules.dropout import Dropout3d as Dropout3d
    from gradcli.nn.modules.dropout import FeatureAlphaDropout as FeatureAlphaDropout
    from gradcli.nn.modules.flatten import Flatten as Flatten
    from gradcli.nn.modules.flatten import Unflatten as Unflatten
    from gradcli.nn.modules.linear import Bilinear as Bilinear
    from gradcli.nn.modules.linear import Identity as Identity
    from gradcli.nn.modules.linear import Linear as Linear
    from gradcli.nn.modules.loss import BCELoss as BCELoss
    from gradcli.nn.modules.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
    from gradcli.nn.modules.loss import CosineEmbeddingLoss as CosineEmbeddingLoss
    from gradcli.nn.modules.loss import CrossEntropyLoss as CrossEntropyLoss
    from gradcli.nn.modules.loss import CTCLoss as CTCLoss
    from gradcli.nn.modules.loss import GaussianNLLLoss as GaussianNLLLoss
    from gradcli.nn.modules.loss import HingeEmbeddingLoss as HingeEmbeddingLoss
    from gradcli.nn.modules.loss import HuberLoss as HuberLoss
    from gradcli.nn.modules.loss import KLDivLoss as KLDivLoss
    from gradcli.nn.modules.loss import L1Loss as L1Loss
    from gradcli.nn.modules.loss import MarginRankingLoss as MarginRankingLoss
    from gradcli.nn.modules.loss import MSELoss as MSELoss
    from gradcli.nn.modules.loss import MultiLabelMarginLoss as MultiLabelMarginLoss
    from gradcli.nn.modules.loss import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
    from gradcli.nn.modules.loss import MultiMarginLoss as MultiMarginLoss
    from gradcli.nn.modules.loss import NLLLoss as NLLLoss
    from gradcli.nn.modules.loss import PoissonNLLLoss as PoissonNLLLoss
    from gradcli.nn.modules.loss import SmoothL1Loss as SmoothL1Loss
    from gradcli.nn.modules.loss import SoftMarginLoss as SoftMarginLoss
    from gradcli.nn.modules.loss import TripletMarginLoss as TripletMarginLoss
    from gradcli.nn.modules.loss import (
        TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss,
    )
    from gradcli.nn.modules.module import Module as Module
    from gradcli.nn.modules.normalization import GroupNorm as GroupNorm
    from gradcli.nn.modules.normalization import LayerNorm as LayerNorm
    from gradcli.nn.modules.normalization import LocalResponseNorm as LocalResponseNorm
    from gradcli.nn.modules.normalization import RMSNorm as RMSNorm
    from gradcli.nn.modules.padding import CircularPad1d as CircularPad1d
    from gradcli.nn.modules.padding import CircularPad2d as CircularPad2d
    from gradcli.nn.modules.padding import CircularPad3d as CircularPad3d
    from gradcli.nn.modules.padding import ConstantPad1d as ConstantPad1d
    from gradcli.nn.modules.padding import ConstantPad2d as ConstantPad2d
    from gradcli.nn.modules.padding import ConstantPad3d as ConstantPad3d
    from gradcli.nn.modules.padding import ReflectionPad1d as ReflectionPad1d
    from gradcli.nn.modules.padding import ReflectionPad2d as ReflectionPad2d
    from gradcli.nn.modules.padding import ReflectionPad3d as ReflectionPad3d
    from gradcli.nn.modules.padding import ReplicationPad1d as ReplicationPad1d
    from gradcli.nn.modules.padding import ReplicationPad2d as ReplicationPad2d
    from gradcli.nn.modules.padding import ReplicationPad3d as ReplicationPad3d
    from gradcli.nn.modules.padding import ZeroPad1d as ZeroPad1d
    from gradcli.nn.modules.padding import ZeroPad2d as ZeroPad2d
    from gradcli.nn.modules.padding import ZeroPad3d as ZeroPad3d
    from gradcli.nn.modules.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
    from gradcli.nn.modules.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
    from gradcli.nn.modules.pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
    from gradcli.nn.modules.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
    from gradcli.nn.modules.pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
    from gradcli.nn.modules.pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
    from gradcli.nn.modules.pooling import AvgPool1d as AvgPool1d
    from gradcli.nn.modules.pooling import AvgPool2d as AvgPool2d
    from gradcli.nn.modules.pooling import AvgPool3d as AvgPool3d
    from gradcli.nn.modules.pooling import FractionalMaxPool2d as FractionalMaxPool2d
    from gradcli.nn.modules.pooling import FractionalMaxPool3d as FractionalMaxPool3d
    from gradcli.nn.modules.pooling import LPPool1d as LPPool1d
    from gradcli.nn.modules.pooling import LPPool2d as LPPool2d
    from gradcli.nn.modules.pooling import LPPool3d as LPPool3d
    from gradcli.nn.modules.pooling import MaxPool1d as MaxPool1d
    from gradcli.nn.modules.pooling import MaxPool2d as MaxPool2d
    from gradcli.nn.modules.pooling import MaxPool3d as MaxPool3d
    from gradcli.nn.modules.pooling import MaxUnpool1d as MaxUnpool1d
    from gradcli.nn.modules.pooling import MaxUnpool2d as MaxUnpool2d
    from gradcli.nn.modules.pooling import MaxUnpool3d as MaxUnpool3d
    from gradcli.nn.modules.resampling import ChannelShuffle as ChannelShuffle
    from gradcli.nn.modules.resampling import Fold as Fold
    from gradcli.nn.modules.resampling import PixelShuffle as PixelShuffle
    from gradcli.nn.modules.resampling import PixelUnshuffle as PixelUnshuffle
    from gradcli.nn.modules.resampling import Unfold as Unfold
    from gradcli.nn.modules.resampling import Upsample as Upsample
    from gradcli.nn.modules.resampling import UpsamplingBilinear2d as UpsamplingBilinear2d
    from gradcli.nn.modules.resampling import UpsamplingNearest2d as UpsamplingNearest2d
    from gradcli.nn.modules.rnn import GRU as GRU
    from gradcli.nn.modules.rnn import LSTM as LSTM
    from gradcli.nn.modules.rnn import RNN as RNN
    from gradcli.nn.modules.rnn import GRUCell as GRUCell
    from gradcli.nn.modules.rnn import LSTMCell as LSTMCell
    from gradcli.nn.modules.rnn import RNNCell as RNNCell
    from gradcli.nn.modules.sparse import Embedding as Embedding
    from gradcli.nn.modules.sparse import EmbeddingBag as EmbeddingBag
    from gradcli.nn.parameter import Buffer as Buffer
    from gradcli.nn.parameter import Parameter as Parameter

_NAMESPACES = ("functional", "init", "modules", "parameter", "utils")

__all__ = ["Buffer", "Parameter", *sorted(HOME), *_NAMESPACES]


def __getattr__(name: str) -> object:
    """Load a namespace, or the file of a module, when it is first used."""
    if name in _NAMESPACES:
        return importlib.import_module(f"gradcli.nn.{name}")
    if name in ("Parameter", "Buffer"):
        return getattr(importlib.import_module("gradcli.nn.parameter"), name)
    if name in HOME:
        return getattr(importlib.import_module(f"gradcli.nn.modules.{HOME[name]}"), name)
    raise AttributeError(f"module 'gradcli.nn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
