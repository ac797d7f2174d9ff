"""What each error code means, for ``gradcli why CODE``; loaded by that command only.

``CODES`` maps a code to (title, explanation, example). An example is the text of a program that
makes the error; one that begins with ``>>>`` is Python, one that begins with ``$`` a command, and
those of E0920 to E0925 are rows of a batch. It is empty where it would have to be too large, or
where nothing a user writes makes the error.

    E01xx syntax    E02xx names    E03xx shapes and values    E04xx the graph    E06xx limits
    E07xx closed forms             E09xx commands, flag values and batch rows
"""

from __future__ import annotations

CODES: dict[str, tuple[str, str, str]] = {
    "E0101": ("two operators in a row",
        "A value is missing between two operators. Only the signs + and - and the word not may "
        "follow another operator, as in 2*-x.",
        "y = 2 +* 3"),
    "E0102": ("an operator is missing",
        "Two values stand side by side. Nothing is multiplied by writing it next to something "
        "else: write 2*x, a @ b, or a comma.",
        "y = 2 x"),
    "E0103": ("a colon is missing",
        "A line that begins a block (if, elif, else, while, for, def, with) ends with a colon.",
        "if x > 3\n    y = 1\n"),
    "E0104": ("= where it cannot stand",
        "= gives a name a value, on a line of its own. To compare, write ==.",
        "if x = 3:\n    y = 1\n"),
    "E0105": ("a bracket is never closed",
        "The mark stands under the bracket that was opened; the closing one belongs after its "
        "content. Inside brackets a line goes on by itself, so the mistake may show many lines "
        "later.",
        "y = (1 + 2"),
    "E0106": ("a closing bracket without its opening one",
        "A bracket closes nothing, or a bracket of the other kind.",
        "y = (1 + 2]"),
    "E0107": ("a value is missing beside an operator",
        "An operator needs a value on both sides (a sign: on its right).",
        "y = 2 +"),
    "E0108": ("something that does not belong here",
        "The text up to the mark is fine, but what stands there cannot follow it. The label says "
        "what could.",
        "import"),
    "E0109": ("cannot assign to this",
        "On the left of = stands a name, an item such as x[i], or several of these with commas. To "
        "compare, write ==; to define a function, write def f(x): or f = lambda x: ...",
        "f(x) = 2*x"),
    "E0110": ("a malformed number",
        "Numbers look like 2, 0.5, 1e-3, 1_000_000, 0xff or 2j. A whole number does not begin with "
        "0.",
        "y = 007"),
    "E0111": ("a number and a name without an operator",
        "3x is not a product. Write 3*x.",
        "y = 3x"),
    "E0112": ("a name with underscores that is not there",
        "Of the names that begin and end with two underscores there are the methods of a class "
        "(__init__, __call__, __len__ ...), __name__, and x.__class__.__name__: the others are the "
        "way into Python's insides, which no program may reach. No function of the language has "
        "parameters that begin with an underscore.",
        "y = x.__dict__"),
    "E0113": ("a character from outside ASCII",
        "Names are made of a-z, A-Z, 0-9 and _, so that two names that look alike are alike. Greek "
        "letters are spelled out, and signs such as those for times or minus have ASCII forms.",
        "y = x²"),
    "E0114": ("a character that means nothing",
        "The character is no part of the language, or it is an invisible one.",
        "y = 2 $ 3"),
    "E0115": ("^ in a program file",
        "In one-liners, flag values and the REPL ^ is a power. A program file is valid Python too, "
        "where ^ is exclusive or; so there a power is written **.",
        "y = x^2"),
    "E0117": ("an operator of another language",
        "Conditions are combined with and, or, not, and compared with ==, !=, <, <=, >, >=.",
        "y = a && b"),
    "E0118": ("assignment inside an expression",
        "The form name := value is left out. Assign on a line of its own.",
        "y = (n := 3)"),
    "E0119": ("a string is never closed",
        "A string ends with the quote that began it, on the same line; with three quotes it may "
        "span lines.",
        "y = 'abc"),
    "E0120": ("a string that cannot be read",
        "Either a backslash is followed by a character that it gives no meaning, or the string is "
        "a bytes literal, which the language leaves out.",
        "y = '\\q'"),
    "E0121": ("an f-string that cannot be read",
        "A field is {expression}, {expression:format}, {expression!r} or {expression=}. Formats "
        "are those for numbers: .4f, 10.3e, >8, d. Fields inside formats and f-strings inside "
        "fields are left out.",
        "y = f'{x!a}'"),
    "E0122": ("tabs and spaces mixed",
        "How deep the line is indented would depend on how wide a tab is. Indent with four spaces.",
        "if x:\n\ty = 1\n        z = 2\n"),
    "E0123": ("wrong indentation",
        "The lines of a block stand one step to the right of the line that begins it, all alike.",
        "if x:\ny = 1\n"),
    "E0124": ("something after a backslash",
        "A backslash at the very end of a line joins the next one to it. Nothing may follow it, "
        "not even a space.",
        "y = 1 + \\ 2"),
    "E0125": ("a keyword of another language",
        "The word is written differently here: elif for elsif and else if, def for function.",
        "if x:\n    y = 1\nelse if z:\n    y = 2\n"),
    "E0130": ("a class that cannot be",
        "A class is a record of methods and values. It derives from nothing, nn.Module or a layer, "
        "Dataset, an exception, or one other class of the program. class Name(Function): is an "
        "operation with a derivative of its own: static methods forward(ctx, ...) and "
        "backward(ctx, ...), or forward(...) and setup_context(ctx, inputs, output), also jvp and "
        "vmap.",
        "class Net(A, B):\n    pass\n"),
    "E0131": ("try, except and finally that do not belong together",
        "A try has one except or more, of which the one without a kind stands last, or a finally. "
        "They catch errors; a limit and Ctrl-C go through them.",
        "try:\n    y = 1\nexcept:\n    y = 2\nexcept ValueError:\n    y = 3\n"),
    "E0132": ("a decorator that cannot stand there",
        "A decorator stands before a function or class, and is a gradient mode such as "
        "torch.no_grad(), or a function that takes one. The methods of a Function stand under "
        "@staticmethod.",
        "@f\nx = 2\n"),
    "E0134": ("async or await",
        "Everything runs in order; write a plain function.",
        "async def f():\n    pass\n"),
    "E0135": ("a generator among other arguments",
        "sum(x for x in items) needs no brackets of its own; among other arguments it does.",
        "y = sum(a*a for a in x, 2)"),
    "E0136": ("match",
        "Write if ... elif ... else.",
        "match x:\n    case 1:\n        pass\n"),
    "E0137": ("a star where nothing is taken apart",
        "*values stands in a call, a list, a tuple or on the left of =. from module import * is "
        "left out: import the module, and write its prefix.",
        "from torch import *"),
    "E0139": ("an import",
        "import torch, numpy, math or gradcli gives the language's own names under that prefix, "
        "and so do a few of Python's modules; nothing is loaded. Others are out of reach.",
        "import os"),
    "E0140": ("a block in braces",
        "End the line with a colon and indent the lines under it. Curly brackets make dictionaries "
        "and sets: {1: 2}, {1, 2}.",
        "if x {\n    y = 1\n}\n"),
    "E0145": ("a word of the language used as a name",
        "Words such as lambda, in and is have a meaning of their own. Choose another name.",
        "lambda = 3"),
    "E0146": ("arguments or parameters in the wrong order",
        "Plain arguments stand before named ones, parameters without a default before those with "
        "one, and no name stands twice.",
        "y = f(a=1, 2)"),
    "E0160": ("return outside a function",
        "return gives back the value of a function, so it stands inside a def. The value of a "
        "program is its last expression: write that alone on the last line.",
        "x = 2\nreturn x\n"),
    "E0161": ("break or continue outside a loop",
        "break leaves the innermost while or for, continue goes on with its next turn. Outside a "
        "loop there is nothing to leave; if the line belongs to a loop, indent it.",
        "x = 2\nbreak\n"),
    "E0162": ("super() outside a method",
        "super() stands in a method of a class and means the class that this one derives from.",
        "y = super()"),
    "E0163": ("a module or a name that is not there",
        "import and from ... import bring in the language's own names under the prefix of a known "
        "library; a module or name that the language does not have cannot be imported. gradcli ops "
        "lists what there is.",
        "from math import sni"),
    "E0164": ("with something that it cannot take",
        "with turns something on for a block: a gradient switch such as no_grad(), hooks on saved "
        "tensors, detect_anomaly(), dual_level(), or the handle of a hook, which it removes. Files "
        "and other context managers are not part of the language.",
        "with sin(2):\n    pass\n"),
    "E0165": ("global or nonlocal without a variable",
        "global x means the variable x of the top of the program, nonlocal x that of a function "
        "around this one; there has to be one.",
        "def f():\n    nonlocal x\n"),
    # ---- names ----
    "E0201": ("an unknown function",
        "Nothing of this name can be called: the language has no such function and the program "
        "does not define one. Look for a slip of the finger, or for the name that PyTorch or NumPy "
        "gives it; gradcli ops lists all.",
        "y = sni(2)"),
    "E0202": ("a variable without a value",
        "The text uses a name that nobody gave a value. On the command line add --a VALUE, in a "
        "program assign it first, in a batch give the row a field of that name; gradcli diff works "
        "with names alone.",
        "y = 2*a"),
    "E0203": ("a variable used before it has a value",
        "The program assigns this name somewhere, but not on the path that was taken, or only "
        "later. Assign it once before the branch or the loop.",
        "if 1 > 2:\n    y = 1\nz = y\n"),
    "E0204": ("an unknown method or attribute",
        "The value, or the module, has nothing of this name. Only the names of a fixed table can "
        "be reached; tensors have PyTorch's, such as x.sum() and x.shape.",
        "x = ones(3)\ny = x.sise\n"),
    "E0205": ("an assignment to a module's name",
        "The name stands for an imported module, such as torch, and stays that. Choose another "
        "name for the variable.",
        "import torch\ntorch = 3\n"),
    "E0206": ("a module used as a value",
        "A module holds functions; it is no value itself. Write the function after a dot: "
        "torch.sin(x).",
        "import torch\ny = torch + 1\n"),
    # ---- shapes, types and values ----
    "E0301": ("shapes that do not fit",
        "Two shapes are compared from the right: sizes must be equal, or one of them 1. For a @ b "
        "the last size of a is the first of b; for joining, all other sizes agree. Print x.shape, "
        "then transpose with x.T or change the shape with reshape.",
        "y = ones(3) + ones(4)"),
    "E0302": ("wrong arguments",
        "The function got too many arguments, too few, or one whose name it does not have. gradcli "
        "ops NAME shows how it is called.",
        "y = sum(ones(2), axes=0)"),
    "E0303": ("a value of the wrong kind",
        "The operation does not take this kind of value: text where a number belongs, lists of "
        "uneven length, a negative size. The message says what was given; tensor([...]) makes a "
        "tensor of a list.",
        "x = tensor([[1.0], [2.0, 3.0]])"),
    "E0304": ("a value that the function does not take",
        "The kind is right, the value is not: a bound is missing, a list is empty, a format does "
        "not fit the number. The message names the argument.",
        "y = clamp(ones(3))"),
    "E0305": ("no such dimension",
        "Dimensions count from 0; -1 is the last. A tensor of shape (2, 3) has the dimensions 0 "
        "and 1, and no dimension may be named twice.",
        "y = sum(ones(2, 3), dim=2)"),
    "E0306": ("a shape that the numbers do not fill",
        "reshape keeps every number, so the product of the sizes must stay the same; one size may "
        "be -1 and is worked out. expand repeats only dimensions of size 1. A view that is not "
        "possible is possible with reshape, which copies.",
        "y = ones(2, 3).reshape(4)"),
    "E0307": ("an index out of range",
        "Indices run from 0 to the size less one, or from -1 backwards; there is one for each "
        "dimension at most. Indices are whole numbers, slices, None, ... and integer or boolean "
        "tensors.",
        "y = ones(3)[5]"),
    "E0308": ("nothing to choose from",
        "The largest or smallest entry of an empty tensor does not exist. Test x.numel() first.",
        "y = amax(zeros(0))"),
    "E0309": ("an element type that does not fit",
        "The operation needs another type of number, or the name is no type at all. x.double() and "
        "x.float() make floats; the types are named float64, float32, int64, bool and so on.",
        "x = tensor(1, dtype='float3')"),
    "E0310": ("one number wanted, a tensor of another size given",
        "item(), float(x) and a condition need a tensor with exactly one entry. Index one entry, "
        "reduce with sum() or mean(), or for conditions write (x > 0).all() or (x > 0).any().",
        "y = ones(3).item()"),
    "E0311": ("division by zero",
        "Plain numbers divide as in Python, where a division by zero is an error. A tensor divided "
        "by zero gives inf or nan instead.",
        "y = 1 / 0"),
    "E0312": ("a number too large for a float",
        "Floats end near 1.8e308. Work with logarithms, or with tensors, which go on to inf.",
        "y = 10.0 ** 400"),
    "E0313": ("an assertion failed",
        "The program itself says assert of something that is not true; its message, if it has one, "
        "stands in the error.",
        "x = -1\nassert x > 0, 'x must be positive'\n"),
    "E0314": ("a result that is no number",
        "What is to be shown or differentiated has to be a number, a tensor, or a list of these. "
        "End the program with such an expression, or name a variable that holds one with --of. So "
        "has a whole number of a tensor: past the bits of its type nothing is left of it but them.",
        '$ gradcli eval "print(\'done\')"'),
    "E0315": ("an exception that the program raised",
        "The program said raise, and nothing around it caught what it raised.",
        "raise ValueError('not ready')"),
    # ---- the graph ----
    "E0401": ("backward ran before",
        "The backward pass frees the values that the graph saved, so it runs once. Make the first "
        "call y.backward(retain_graph=True), or compute y again.",
        "x = tensor(2.0, requires_grad=True)\ny = exp(x)\ny.backward()\ny.backward()\n"),
    "E0402": ("a saved value was changed in place",
        "A derivative needs a value as it was, and a += or an assignment to x[i] has overwritten "
        "it. Write a = a + 1, which makes a new tensor, or change a clone().",
        "x = tensor([2.0], requires_grad=True)\na = 1*x\nb = a**2\na += 1\nb.backward()\n"),
    "E0403": ("a gradient of more than one number",
        "The gradient is defined for a single number. Reduce the result with sum() or mean(), "
        "weight its entries with a cotangent (backward(gradient=v), --cotangent), or ask for all "
        "derivatives with gradcli jac.",
        "x = tensor([2.0, 3.0], requires_grad=True)\ny = x*x\ny.backward()\n"),
    "E0404": ("this tensor cannot have a gradient",
        "Only floats and complex numbers can be differentiated by, only leaves can be switched on "
        "and off, and hooks need a tensor that is in the graph. Give the numbers a decimal point, "
        "or start from a leaf with requires_grad=True.",
        "x = tensor([1, 2], requires_grad=True)"),
    "E0405": ("nothing to differentiate by",
        "The result does not depend on any tensor with requires_grad=True, or it was computed in "
        "no_grad() or detached. Make the inputs leaves before the computation.",
        "x = tensor(2.0)\ny = x*x\ny.backward()\n"),
    "E0406": ("the result does not depend on this input",
        "grad() was asked for a derivative by a tensor that the result was not computed from; "
        "often it is a copy of the one that was. With allow_unused=True the answer is None, with "
        "materialize_grads=True zero.",
        ">>> import gradcli\n>>> x = gradcli.tensor(2.0, requires_grad=True)\n"
        ">>> y = gradcli.tensor(3.0, requires_grad=True)\n>>> gradcli.autograd.grad(x*x, y)\n"),
    "E0407": ("a hook that gives back something else than a gradient",
        "A hook returns nothing, or a tensor of the shape of the gradient it was given.",
        "x = tensor(2.0, requires_grad=True)\ny = 2*x\ny.register_hook(lambda g: 3)\n"
        "y.backward()\n"),
    "E0408": ("a leaf is changed in place",
        "The gradient belongs to the leaf as it is, so a leaf in the graph may not be overwritten. "
        "Write x = x + 1 for a new tensor, or change it inside with no_grad(): as an optimiser "
        "does.",
        "x = tensor([2.0], requires_grad=True)\nx += 1\n"),
    "E0409": ("memory that cannot be written to here",
        "The tensor is a view of a recorded tensor, or several of its entries are one place in "
        "memory, as after expand. Write to the base by index, build the new tensor with where or "
        "cat, or write to a clone().",
        "x = zeros(1).expand(3)\nx += 1\n"),
    "E0410": ("the gradient disagrees with differences",
        "gradcheck moved each input a little and saw the result change by another amount than the "
        "gradient says. Look for a kink at this very point, for a write through .data or .numpy(), "
        "for float32 inputs, or for a wrong backward.",
        ">>> import gradcli\n"
        ">>> x = gradcli.tensor(2.0, dtype=gradcli.float64, requires_grad=True)\n"
        ">>> gradcli.autograd.gradcheck(lambda x: x * x.detach(), x)\n"),
    "E0411": ("a custom backward that gives other gradients than asked for",
        "The backward of a Function returns one gradient for each argument of its forward: a "
        "tensor of that argument's shape, or None for what is no tensor or needs no gradient.",
        ">>> import gradcli\n"
        ">>> from gradcli.engine.custom_function.function import function_record\n"
        ">>> f = function_record('f', lambda ctx, x, y: x*y, lambda ctx, g: g)\n"
        ">>> x = gradcli.tensor(2.0, requires_grad=True)\n>>> f.apply(x, x).backward()\n"),
    "E0412": ("a rule of custom functions was broken",
        "save_for_backward and the marks take tensors only; an input that forward wrote to is "
        "marked with mark_dirty and returned; a Function is never instantiated, only applied.",
        ">>> import gradcli\n"
        ">>> from gradcli.engine.custom_function.function import function_record\n"
        ">>> f = function_record('f', lambda ctx, x: ctx.save_for_backward(3.0), None)\n"
        ">>> f.apply(gradcli.tensor(2.0))\n"),
    "E0413": ("a function that is differentiable once",
        "Its backward is marked with once_differentiable, so it has no second derivative. Write "
        "the backward with tensor operations and take the mark away.",
        ""),
    "E0414": ("a whole batch where one value is needed",
        "Inside vmap a value stands for a whole batch, so it is neither true nor false and no "
        "number. Choose entry by entry with where(), or write a loop instead of vmap.",
        ">>> import gradcli\n"
        ">>> gradcli.func.vmap(lambda x: x if x > 0 else -x)(gradcli.ones(3))\n"),
    "E0415": ("a tensor of inference mode in a graph",
        "Tensors made inside inference_mode() have no version counter, so outside no graph may "
        "save one and nothing may write to it. Take a clone(), or use no_grad() instead.",
        "x = tensor(2.0, requires_grad=True)\nwith inference_mode():\n    a = tensor(3.0)\n"
        "y = x*a\n"),
    # ---- values that are not finite ----
    "E0501": ("NaN in the backward pass",
        "Anomaly mode found the first operation whose gradient is NaN. Look at the values that "
        "went into it: 0/0, inf - inf, 0*inf, or a root or logarithm at 0. Choose with where(), or "
        "keep the values away from the edge with clamp().",
        ">>> import gradcli\n>>> x = gradcli.tensor(0.0, requires_grad=True)\n"
        ">>> with gradcli.autograd.detect_anomaly(): (gradcli.sqrt(x) * 0).backward()\n"),
    # ---- limits ----
    "E0601": ("too many steps",
        "A step is a turn of a loop or a call of a function. Either the loop never ends, because "
        "its condition does not change, or it needs more: --max-steps N raises the limit.",
        "while True:\n    pass\n"),
    "E0602": ("too much memory",
        "What an operation will need is known from the shapes, and refused before anything is "
        "taken. Often a product of two vectors broadcasts to a matrix nobody wanted; else "
        "--max-mem 8G raises the limit.",
        "x = ones(100000, 100000)"),
    "E0603": ("the source is too large",
        "A program or expression has at most 1 MiB and 100,000 statements. Keep numbers in a data "
        "file and load them with a flag.",
        ""),
    "E0604": ("the source nests too deep",
        "Brackets nest to a depth of 1,000, blocks to 100, operators (signs before signs) to about "
        "250,000; 1,000 comparisons may stand in a row. Name an inner part and use the name. A "
        "sum of 100,000 terms is no problem.",
        ""),
    "E0605": ("a whole number, a text or a list too large",
        "Whole numbers have up to 4,096 bits, and lists and texts a bounded length. Write a float, "
        "2.0**100, or a tensor, ones(n).",
        "y = 9**9**9"),
    "E0606": ("functions call each other too deeply",
        "500 calls may be open at a time, 900 at most with --max-depth N: calls of functions and "
        "lambdas, in default arguments and in lists with for. A call that passes through gradcli "
        "itself (a hook, backward(), a Function, a transform) or through a list with a lambda in "
        "it takes more room: at least 80 of those may be open. A function that calls itself needs "
        "a case in which it does not; for long repetitions write a loop.",
        "def f(x):\n    return f(x) + 1\n\ny = f(1)\n"),
    "E0607": ("too much output",
        "A program prints at most 16 MiB. Print every hundredth turn, if i % 100 == 0:, or only "
        "the result.",
        "s = 'a' * 100000\nfor i in range(1000):\n    print(s)\n"),
    "E0608": ("too much time",
        "The evaluation took longer than the wall clock allows. --timeout SECONDS raises the "
        "limit; 0 removes it.",
        '$ gradcli eval "[sum(ones(1000)) for i in range(1000000)]" --timeout 0.05'),
    "E0609": ("a batch record too large",
        "The value and the gradients of one row together hold more numbers than a record may have. "
        "Reduce them with sum() or mean(), or compute this one alone, where a file can hold it.",
        ""),
    "E0610": ("the process of a batch row ended",
        "Each worker of a batch is a process of its own. The one that computed this row was ended "
        "by the system, mostly because memory ran out; the row has this record, and the others "
        "were computed by a new process. A smaller --max-mem refuses such a row in time.",
        ""),
    "E0611": ("too many steps to explain",
        "`gradcli explain` writes one line for each operation, forward and backward, and nobody "
        "reads hundreds of them. Explain a shorter expression or a smaller loop, or see the whole "
        "with `gradcli graph`.",
        ""),
    # ---- closed forms ----
    "E0701": ("no closed form",
        "The derivative cannot be written down as a formula, or not yet: some operator, loop or "
        "shape has no symbolic rule, or the formula would be too long to read. gradcli grad gives "
        "the gradient at numbers, gradcli jac the Jacobian.",
        ""),
    "E0702": ("a closed form was withheld",
        "The formula was found, but evaluated at random points it did not agree with the numeric "
        "derivative, so it is not shown. Please report the expression; gradcli grad is right in "
        "the meantime.",
        ""),
    "E0703": ("the path through a program is not known",
        "The program asks about a variable that has no value, in an if, a while or an assert, so "
        "it is not known which of its formulas is meant. Give the variable a value: the closed "
        "form is then that of the path it takes.",
        '$ gradcli diff "y = x if x > 0 else -x; y" --wrt x'),
    "E0704": ("a question that this formula does not answer",
        "Zeros and Taylor series are asked of a scalar formula in one scalar variable, with values "
        "for all others, and a series of a point at which the function is smooth: abs(x) has none "
        "around 0.",
        '$ gradcli diff "abs(x)" --wrt x --taylor 3 --around 0'),
    "E0901": ("a value that cannot be read",
        "A value is a number, a list 0,1,2, rows 1,2;3,4, a range 0:10:0.1, or nested brackets, "
        "with int: or another type in front where it is no float. The marks show the part that is "
        "wrong.",
        '$ gradcli eval "x+1" --x 0,1,2o,3'),
    "E0902": ("neither an option nor a variable",
        "An option --name is either one that the command knows, see --help, or a variable that "
        "stands in the expression. Look for a slip of the finger; to set a variable that has the "
        "name of an option, write --set name=3.",
        '$ gradcli grad "x^2" --x 3 --y 4'),
    "E0903": ("rows or shapes that do not fit",
        "All rows of a matrix have the same length, and the sizes before the colon of 2x2:1,2,3,4 "
        "multiply to the count of the numbers.",
        '$ gradcli eval "x" --x "1,2;3"'),
    "E0904": ("a file that cannot be read",
        "The file is missing, is no file, holds something else than numbers, or may not be read "
        "here: rows of a batch cannot name files. Pickled and compressed Python objects are never "
        "read.",
        '$ gradcli eval "x" --x @missing.npy'),
    "E0905": ("something that is not available for this value",
        "The device, the element type, the number of digits or the output format does not exist or "
        "cannot hold this value: CSV has two axes, a GPU needs CuPy.",
        '>>> import gradcli\n>>> gradcli.tensor(1.0).to("cuda:7")\n'),
    "E0906": ("an unknown command",
        "The first word is a command: eval, grad, jac and so on; gradcli --help lists them. An "
        'expression alone needs one in front: gradcli eval "1+1".',
        '$ gradcli gard "x^2" --x 3'),
    "E0907": ("an option that cannot be used like this",
        "The option's value is not one it takes, two options exclude each other, or something is "
        "missing. gradcli COMMAND --help shows each option and an example.",
        '$ gradcli eval "1/3" --precision many'),
    "E0908": ("an option without its value",
        "The option or variable is the last word, or the next word is an option again. Write --x 3 "
        "or --x=3.",
        '$ gradcli eval "x" --x'),
    "E0909": ("a variable given twice",
        "It is not clear which value is meant. Give each variable once.",
        '$ gradcli eval "x" --x 1 --x 2'),
    "E0910": ("a name that the program does not have",
        "An option such as --wrt, --of, --show or --retain names a variable that has no value, "
        "that the program does not make, or by which nothing can be differentiated. Whole numbers "
        "and truth values have no derivative.",
        '$ gradcli grad "x^2" --x 3 --wrt y'),
    "E0911": ("a result that cannot be written",
        "Standard output is closed or its disk is full. The computation itself went well; send the "
        "result somewhere else. A pipe whose reader has left is no error.",
        ""),
    "E0912": ("a weight of the wrong shape",
        "A cotangent has one entry for each entry of the result, a direction one for each entry of "
        "its variable.",
        '$ gradcli grad "x^2" --x 1,2 --cotangent 1,2,3'),
    "E0920": ("a row that is not JSON",
        "Each line of the input is one JSON object. Names stand in double quotes, there is no "
        'comma before the closing brace, and NaN and Infinity are written in quotes: "NaN".',
        "{x: 1.5}"),
    "E0921": ("a row with characters that cannot be read",
        "The line holds bytes that are not UTF-8, or a NUL byte. The file may be damaged, or saved "
        "in another encoding such as UTF-16; save it as UTF-8.",
        '{"x": 1.5\x00}'),
    "E0922": ("a row that is too long",
        "A line has at most 16 MiB. Split the row, or make large constants part of the program. A "
        "line of 1 GiB, as of a file that has no lines, ends the batch.",
        ""),
    "E0923": ("a field that is no value",
        "A variable's field holds a number, nested lists of numbers with rows of one length, or a "
        'text such as "1,2;3,4". Objects, null and truth values among numbers are not values; an '
        "id is a text or a number.",
        '{"x": [[1, 2], [3]]}'),
    "E0924": ("a field that stands twice",
        "Two fields of a row, or two columns, have one name, and it is not clear which is meant. "
        "Remove or rename one.",
        '{"x": 1, "x": 2}'),
    "E0925": ("a CSV row that does not fit its header",
        "The first line names the columns and each row has a cell for each. A list that holds "
        'commas stands in quotes, "1,2,3", which close on the same line.',
        "id,x\nfirst,1,2\n"),
    "E0926": ("arrays that are no rows",
        "Rows given as arrays have one number of rows: the first axis of every array. An array "
        "holds numbers; one with two axes needs a name for each column (--columns a,b,t).",
        ""),
    "E0927": ("a journal that cannot be continued",
        "A journal belongs to one input, one program and one set of options: --resume continues "
        "only what was begun so. Without --resume a journal that exists is left alone.",
        ""),
    "E0999": ("an error inside gradcli",
        "This is a mistake of the program, not of yours. Please report the command; with "
        "GRADCLI_DEBUG=1 in the environment it shows where it happened.",
        ""),
}  # fmt: skip
