"""The engine: Tensor, the graph behind it, and the backward pass over that graph.

Tensors and the graph

    tensor       Tensor and its four slots         graph      nodes, leaves, hooks
    facts        what a tensor is                  modes      no_grad and kin
    conversions  of another type or device         memory     versions and views
    leaving      out to Python, NumPy and text     edges      places in the graph as values
    dtypes       element types and promotion       severed    views that it does not follow
    printing     text, as PyTorch prints           names      what a node is called
    results      results of several tensors        values     what its nodes held
    ranges       finfo and iinfo

Recording, and the way back

    record       applying an operator to Tensors   backward   asking for gradients
    short_ways   the commonest at once             walk       the pass itself
    refusals     types that one is not for         pulling    rules, assembled for each node
    function     custom functions                  fitting    cotangents made to fit
    function_node, context   their nodes and ctx   branches   those that were not taken
    inplace      writing in place                  hooks      what looks on at it
    places       lines of the user's program       saved      what nodes saved, by name
    doctor       where a NaN comes from            saving     hooks on what they save
    anomaly      whose gradient is NaN

Making tensors

    creation     of data, filled, ranges           drawing    of random numbers, choices
    creation_words   what is said of bad data      random     PyTorch's random numbers
    gaussian     normal ones from uniform ones     fused      a product and a sum rounded once

Functions and methods

    methods      operators as Tensor methods       functions    those that differ from operators
    overlay      what is composed, as methods      outputs      out=
    calls        arithmetic composed               naming       what is composed, as one node
    reducing     sums, means and norms             statistics   quantiles, running extremes
    multiplying  products of matrices              counting     distinct entries, covariances
    arranging    moving and joining                ordering     sorted, the largest, the middle
    picking      chosen by index or mask           placing      parts written, diagonals, windows
    pieces       split, with one node              strided      by strides; slopes of samples
    bits         whole numbers bit by bit          build_stubs  the names, for editors

It knows arrays, never text to parse or screens.
"""

from gradcli.engine import drawing as _drawing
from gradcli.engine import methods as _methods
from gradcli.engine import overlay as _overlay
from gradcli.engine.backward import backward, grad
from gradcli.engine.facts import Size
from gradcli.engine.tensor import Tensor, wrap

__all__ = ["Size", "Tensor", "backward", "grad", "wrap"]

del _drawing, _methods, _overlay
