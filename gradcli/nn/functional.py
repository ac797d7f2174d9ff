"""``gradcli.nn.functional``: activations, layers, convolutions and losses under PyTorch's names.

activations   relu, gelu, softmax, dropout ...    layers        linear, layer_norm ...
convolution   conv2d, unfold, pixel_shuffle ...   tables        embedding, embedding_bag
padding       pad                                 losses        mse_loss, huber_loss ...
pooling       max_pool2d, avg_pool2d ...          class_losses  cross_entropy, nll_loss, one_hot ...
resampling    interpolate, grid_sample ...        pair_losses   triplet_margin_loss ...
"""

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.record.face import face as _face
from gradcli.engine.record.face import published as _published
from gradcli.functions.nn.activations import *  # noqa: F403
from gradcli.functions.nn.attention import *  # noqa: F403
from gradcli.functions.nn.class_losses import *  # noqa: F403
from gradcli.functions.nn.convolution import *  # noqa: F403
from gradcli.functions.nn.embedding import *  # noqa: F403
from gradcli.functions.nn.layers import *  # noqa: F403
from gradcli.functions.nn.losses import *  # noqa: F403
from gradcli.functions.nn.padding import *  # noqa: F403
from gradcli.functions.nn.pair_losses import *  # noqa: F403
from gradcli.functions.nn.pooling import *  # noqa: F403
from gradcli.functions.nn.resampling import *  # noqa: F403

__all__ = [name for name in dir() if name[0] != "_"]

for _name in __all__:
    _found = globals()[_name]
    if hasattr(_found, "operator") or "functions.nn." in getattr(_found, "__module__", ""):
        globals()[_name] = _face(_found, strict=True)
_published(globals(), __name__)
