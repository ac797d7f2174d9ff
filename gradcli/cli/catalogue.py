"""The commands by name, what each is for, and the module that has it."""

from __future__ import annotations

COMMANDS = {
    "eval": "the value of an expression",
    "grad": "the value and its gradient by every variable",
    "jac": "the Jacobian: all partial derivatives of a vector or matrix result",
    "hess": "the Hessian: all second derivatives of a scalar result",
    "jvp": "the derivative in a direction (forward mode)",
    "vjp": "a cotangent pulled back to the variables (reverse mode)",
    "hvp": "the Hessian times a vector, without forming it",
    "diff": "the closed form of a derivative, checked",
    "check": "the gradient against central differences, entry by entry",
    "doctor": "where the first NaN or infinity comes from, forward and backward",
    "explain": "the chain rule step by step, forward and backward",
    "graph": "the recorded graph as text, Graphviz, JSON or for TensorBoard",
    "plot": "a value and its derivative over a range of one variable",
    "minimize": "where a scalar is smallest, from a given start",
    "run": "run a program; its prints are its output",
    "fmt": "a program in canonical form, comments kept",
    "batch": "one expression over many rows, or jobs of any kind",
    "repl": "the same, live",
    "example": "the programs that come with the tool: print one, or run it",
    "ops": "the operators, or one operator with its rule",
    "why": "what an error code means, with an example",
    "completion": "commands and options for bash, zsh or fish",
}
_MODULES = {"hess": "jac", "vjp": "jvp", "hvp": "jvp"}
"""Commands that share a file with a sibling."""


def module_of(command: str) -> str:
    """The module in ``gradcli.cli.commands`` that has a command."""
    return _MODULES.get(command, command)
