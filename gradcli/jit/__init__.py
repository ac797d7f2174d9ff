"""Gradients as generated code: the fifth reading of the rules.

    ir         values and instructions          trace     a function noted as instructions
    derive     rules run over a tape            simplify  the same results with less to do
    emit       instructions as Python           compiled  ``gradcli.compile``
    eager      the same calls on the engine     outside   what a function reads from outside

The eager engine stays the reference: what cannot be traced, or does not end well, runs there.
"""

from gradcli.jit.compiled import Compiled, compile

__all__ = ["Compiled", "compile"]
