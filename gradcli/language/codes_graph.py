"""What goes wrong with the graph, with limits and with closed forms: E04xx to E07xx of
``codes.CODES``."""

from __future__ import annotations

CODES: dict[str, tuple[str, str, str]] = {
    # ---- the graph ----
    "E0401": (
        "backward ran before",
        "The backward pass frees the values that the graph saved, so it runs once. Make the first "
        "call y.backward(retain_graph=True), or compute y again.",
        "x = tensor(2.0, requires_grad=True)\ny = exp(x)\ny.backward()\ny.backward()\n",
    ),
    "E0402": (
        "a saved value was changed in place",
        "A derivative needs a value as it was, and a += or an assignment to x[i] has overwritten "
        "it. Write a = a + 1, which makes a new tensor, or change a clone().",
        "x = tensor([2.0], requires_grad=True)\na = 1*x\nb = a**2\na += 1\nb.backward()\n",
    ),
    "E0403": (
        "a gradient of more than one number",
        "The gradient is defined for a single number. Reduce the result with sum() or mean(), "
        "weight its entries with a cotangent (backward(gradient=v), --cotangent), or ask for all "
        "derivatives with gradcli jac.",
        "x = tensor([2.0, 3.0], requires_grad=True)\ny = x*x\ny.backward()\n",
    ),
    "E0404": (
        "this tensor cannot have a gradient",
        "Only floats and complex numbers can be differentiated by, only leaves can be switched "
        "on and off, and hooks need a tensor that is in the graph. Give the numbers a decimal "
        "point, or start from a leaf with requires_grad=True.",
        "x = tensor([1, 2], requires_grad=True)",
    ),
    "E0405": (
        "nothing to differentiate by",
        "The result does not depend on any tensor with requires_grad=True, or it was computed in "
        "no_grad() or detached. Make the inputs leaves before the computation.",
        "x = tensor(2.0)\ny = x*x\ny.backward()\n",
    ),
    "E0406": (
        "the result does not depend on this input",
        "grad() was asked for a derivative by a tensor that the result was not computed from; "
        "often it is a copy of the one that was. With allow_unused=True the answer is None, with "
        "materialize_grads=True zero.",
        ">>> import gradcli\n"
        ">>> x = gradcli.tensor(2.0, requires_grad=True)\n"
        ">>> y = gradcli.tensor(3.0, requires_grad=True)\n"
        ">>> gradcli.autograd.grad(x*x, y)\n",
    ),
    "E0407": (
        "a hook that gives back something else than a gradient",
        "A hook returns nothing, or a tensor of the shape of the gradient it was given.",
        "x = tensor(2.0, requires_grad=True)\n"
        "y = 2*x\n"
        "y.register_hook(lambda g: 3)\n"
        "y.backward()\n",
    ),
    "E0408": (
        "a leaf is changed in place",
        "The gradient belongs to the leaf as it is, so a leaf in the graph may not be "
        "overwritten. Write x = x + 1 for a new tensor, or change it inside with no_grad(): as "
        "an optimiser does.",
        "x = tensor([2.0], requires_grad=True)\nx += 1\n",
    ),
    "E0409": (
        "memory that cannot be written to here",
        "The tensor is a view of a recorded tensor, or several of its entries are one place in "
        "memory, as after expand. Write to the base by index, build the new tensor with where or "
        "cat, or write to a clone().",
        "x = zeros(1).expand(3)\nx += 1\n",
    ),
    "E0410": (
        "the gradient disagrees with differences",
        "gradcheck moved each input a little and saw the result change by another amount than the "
        "gradient says. Look for a kink at this very point, for a write through .data or .numpy(), "
        "for float32 inputs, or for a wrong backward.",
        ">>> import gradcli\n"
        ">>> x = gradcli.tensor(2.0, dtype=gradcli.float64)\n"
        ">>> gradcli.autograd.gradcheck(lambda x: x * x.detach(), x)\n",
    ),
    "E0411": (
        "a custom backward that gives other gradients than asked for",
        "The backward of a Function returns one gradient for each argument of its "
        "forward: a tensor "
        "of that argument's shape, or None for what is no tensor or needs no gradient.",
        ">>> import gradcli\n"
        ">>> from gradcli.engine.function import function_record\n"
        ">>> f = function_record('f', lambda ctx, x, y: x*y, lambda ctx, g: g)\n"
        ">>> x = gradcli.tensor(2.0, requires_grad=True)\n"
        ">>> f.apply(x, x).backward()\n",
    ),
    "E0412": (
        "a rule of custom functions was broken",
        "save_for_backward and the marks take tensors only; an input that forward wrote to is "
        "marked with mark_dirty and returned; a Function is never instantiated, only applied.",
        ">>> import gradcli\n"
        ">>> from gradcli.engine.function import function_record\n"
        ">>> f = function_record('f', lambda ctx, x: ctx.save_for_backward(3.0), None)\n"
        ">>> f.apply(gradcli.tensor(2.0))\n",
    ),
    "E0413": (
        "a function that is differentiable once",
        "Its backward is marked with once_differentiable, so it has no second "
        "derivative. Write the "
        "backward with tensor operations and take the mark away.",
        "",
    ),
    "E0414": (
        "a whole batch where one value is needed",
        "Inside vmap a value stands for a whole batch, so it is neither true nor false and no "
        "number. Choose entry by entry with where(), or write a loop instead of vmap.",
        ">>> import gradcli\n"
        ">>> gradcli.func.vmap(lambda x: x if x > 0 else -x)(gradcli.ones(3))\n",
    ),
    "E0415": (
        "a tensor of inference mode in a graph",
        "Tensors made inside inference_mode() have no version counter, so outside no graph may "
        "save one and nothing may write to it. Take a clone(), or use no_grad() instead.",
        "x = tensor(2.0, requires_grad=True)\n"
        "with inference_mode():\n"
        "    a = tensor(3.0)\n"
        "y = x*a\n",
    ),
    # ---- values that are not finite ----
    "E0501": (
        "NaN in the backward pass",
        "Anomaly mode found the first operation whose gradient is NaN. Look at the "
        "values that went "
        "into it: 0/0, inf - inf, 0*inf, or a root or logarithm at 0. Choose with where(), or keep "
        "the values away from the edge with clamp().",
        ">>> import gradcli\n"
        ">>> x = gradcli.tensor(0.0, requires_grad=True)\n"
        ">>> with gradcli.autograd.detect_anomaly(): (gradcli.sqrt(x) * 0).backward()\n",
    ),
    # ---- limits ----
    "E0601": (
        "too many steps",
        "A step is a turn of a loop or a call of a function. Either the loop never ends, because "
        "its condition does not change, or it needs more: --max-steps N raises the limit.",
        "while True:\n    pass\n",
    ),
    "E0602": (
        "too much memory",
        "What an operation will need is known from the shapes, and refused before anything is "
        "taken. Often a product of two vectors broadcasts to a matrix nobody wanted; else "
        "--max-mem 8G raises the limit.",
        "x = ones(100000, 100000)",
    ),
    "E0603": (
        "the source is too large",
        "A program or expression has at most 1 MiB and 100,000 statements. Keep numbers in a data "
        "file and load them with a flag.",
        "",
    ),
    "E0604": (
        "the source nests too deep",
        "Brackets nest to a depth of 1,000 and blocks to a depth of 100. Name an inner part and "
        "use the name. Long flat chains, such as a sum of 100,000 terms, are no problem.",
        "",
    ),
    "E0605": (
        "a whole number, a text or a list too large",
        "Whole numbers have up to 4,096 bits, and lists and texts a bounded length. Write a float, "
        "2.0**100, or a tensor, ones(n).",
        "y = 9**9**9",
    ),
    "E0606": (
        "functions call each other too deeply",
        "500 calls may be open at a time, 900 at most with --max-depth N: calls of functions and "
        "lambdas, in default arguments and in lists with for. A call that passes through gradcli "
        "itself (a hook, backward(), a Function, a transform) or through a list with a lambda in "
        "it takes more room: at least 80 of those may be open. A function that calls itself needs "
        "a case in which it does not; for long repetitions write a loop.",
        "def f(x):\n    return f(x) + 1\n\ny = f(1)\n",
    ),
    "E0607": (
        "too much output",
        "A program prints at most 16 MiB. Print every hundredth turn, if i % 100 == 0:, or only "
        "the result.",
        "s = 'a' * 100000\nfor i in range(1000):\n    print(s)\n",
    ),
    "E0608": (
        "too much time",
        "The evaluation took longer than the wall clock allows. --timeout SECONDS raises the "
        "limit; 0 removes it.",
        '$ gradcli eval "[sum(ones(1000)) for i in range(1000000)]" --timeout 0.05',
    ),
    "E0609": (
        "a batch record too large",
        "The value and the gradients of one row together hold more numbers than a record may have. "
        "Reduce them with sum() or mean(), or compute this one alone, where a file can hold it.",
        "",
    ),
    "E0610": (
        "the process of a batch row ended",
        "Each worker of a batch is a process of its own. The one that computed this row was ended "
        "by the system, mostly because memory ran out; the row has this record, and the others "
        "were computed by a new process. A smaller --max-mem refuses such a row in time.",
        "",
    ),
    "E0611": (
        "too many steps to explain",
        "`gradcli explain` writes one line for each operation, forward and backward, and nobody "
        "reads hundreds of them. Explain a shorter expression or a smaller loop, or see the whole "
        "with `gradcli graph`.",
        "",
    ),
    # ---- closed forms ----
    "E0701": (
        "no closed form",
        "The derivative cannot be written down as a formula, or not yet: some operator, loop or "
        "shape has no symbolic rule, or the formula would be too long to read. gradcli grad "
        "gives the gradient at numbers, gradcli jac the Jacobian.",
        "",
    ),
    "E0702": (
        "a closed form was withheld",
        "The formula was found, but evaluated at random points it did not agree with the numeric "
        "derivative, so it is not shown. Please report the expression; gradcli grad is right in "
        "the meantime.",
        "",
    ),
    "E0703": (
        "the path through a program is not known",
        "The program asks about a variable that has no value, in an if, a while or an assert, so "
        "it is not known which of its formulas is meant. Give the variable a value: the closed "
        "form is then that of the path it takes.",
        '$ gradcli diff "y = x if x > 0 else -x; y" --wrt x',
    ),
    "E0704": (
        "a question that this formula does not answer",
        "Zeros and Taylor series are asked of a scalar formula in one scalar variable, with values "
        "for all others, and a series of a point at which the function is smooth: abs(x) has "
        "none around 0.",
        '$ gradcli diff "abs(x)" --wrt x --taylor 3 --around 0',
    ),
}
