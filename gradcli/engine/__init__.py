"""The engine: Tensor, the graph behind it, and the backward pass over that graph.

    tensor      Tensor and its four slots          modes      no_grad and kin
    record      applying an operator to Tensors    dtypes     element types and promotion
    graph       nodes, leaves, hooks               creation   making tensors
    backward    asking for gradients               inplace    writing in place
    walk        the pass itself                    hooks      what looks on at it
    pulling     rules, assembled for each node     places     lines of the user's program
    function    custom functions and their nodes   saving     hooks on saved tensors
    facts       what a tensor is                   memory     versions and views
    methods     operators as Tensor methods        printing   text, as PyTorch prints
    calls       arithmetic and sums composed       arranging  selecting and moving composed
    multiplying products of matrices composed      bits       whole numbers bit by bit
    overlay     what is composed, as methods       random     PyTorch's random numbers
    names       what a node is called              results    results of several tensors
    drawing     tensors of random numbers, choices

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
