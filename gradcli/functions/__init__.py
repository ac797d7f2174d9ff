"""PyTorch's functions that are composed of operators, from which Tensor's methods come too.

arithmetic   optional parameters, rounding modes   reductions   along dimensions
bitwise      whole numbers bit by bit              statistics   quantiles, running extremes
products     products of matrices                  counting     distinct entries, covariances
reshaping    moving and joining                    sorting      sorted, largest, middle
indexing     chosen by index or mask               scatter      parts written, diagonals
strided      by strides; slopes of samples         overloads    calls that differ from operators
matrices     powers, adjoints                      segments     entries joined in groups
copies       views copied: ``permute_copy``        linalg, decompositions, fft
nn           gradcli.nn.functional's               index        where each function is, by name
methods      what Tensor has as methods            subscripts   x[index], and in_place: x.add_(y)
"""

import gradcli.engine  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.creation import sampling as _sampling
from gradcli.functions import methods as _methods

del _methods, _sampling
