"""Gradients as generated code: the fifth reading of the rules.

    ir         values and instructions          trace     a function noted as instructions
    derive     rules run over a tape            simplify  the same results with less to do
    emit       instructions as Python           compiled  ``gradcli.compile``
    eager      the same calls on the engine     outside   what a function reads from outside
    blocks     large arrays a block at a time   unroll    small arrays as single numbers

Programs with control flow are a tree of blocks, branches and loops:

    control    the representation               scalars   Python's own operations on numbers
    lower      from a checked program           values    its values, and their operations
    specs      types of carried and joined values   iteration     what loops go over
    grown      lists that grow in loops             loops         reverse and forward mode
    optimize   what nobody reads is not computed    checkpoint    states of loops, not all
    program    made, run, given up for the engine   emit_control  as Python
    native     as machine code

The eager engine stays the reference: what cannot be traced, or does not end well, runs there.
"""

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.jit.compiled import Compiled, compile

__all__ = ["Compiled", "compile"]
