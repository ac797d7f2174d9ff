"""What the syntax errors mean: the E01xx part of ``codes.CODES``."""

from __future__ import annotations

CODES: dict[str, tuple[str, str, str]] = {
    "E0101": (
        "two operators in a row",
        "A value is missing between two operators. Only the signs + and - and the word not may "
        "follow another operator, as in 2*-x.",
        "y = 2 +* 3",
    ),
    "E0102": (
        "an operator is missing",
        "Two values stand side by side. Nothing is multiplied by writing it next to something "
        "else: write 2*x, a @ b, or a comma.",
        "y = 2 x",
    ),
    "E0103": (
        "a colon is missing",
        "A line that begins a block (if, elif, else, while, for, def, with) ends with a colon.",
        "if x > 3\n    y = 1\n",
    ),
    "E0104": (
        "= where it cannot stand",
        "= gives a name a value, on a line of its own. To compare, write ==.",
        "if x = 3:\n    y = 1\n",
    ),
    "E0105": (
        "a bracket is never closed",
        "The mark stands under the bracket that was opened; the closing one belongs after its "
        "content. Inside brackets a line goes on by itself, so the mistake may show many lines "
        "later.",
        "y = (1 + 2",
    ),
    "E0106": (
        "a closing bracket without its opening one",
        "A bracket closes nothing, or a bracket of the other kind.",
        "y = (1 + 2]",
    ),
    "E0107": (
        "a value is missing beside an operator",
        "An operator needs a value on both sides (a sign: on its right).",
        "y = 2 +",
    ),
    "E0108": (
        "something that does not belong here",
        "The text up to the mark is fine, but what stands there cannot follow it. The label "
        "says what could.",
        "import",
    ),
    "E0109": (
        "cannot assign to this",
        "On the left of = stands a name, an item such as x[i], or several of these with commas. "
        "To compare, write ==; to define a function, write def f(x): or f = lambda x: ...",
        "f(x) = 2*x",
    ),
    "E0110": (
        "a malformed number",
        "Numbers look like 2, 0.5, 1e-3, 1_000_000, 0xff or 2j. A whole number does not begin "
        "with 0.",
        "y = 007",
    ),
    "E0111": (
        "a number and a name without an operator",
        "3x is not a product. Write 3*x.",
        "y = 3x",
    ),
    "E0112": (
        "a name that begins with an underscore",
        "Such names and attributes do not exist in the language: they are the way into Python's "
        "insides, which no program may reach. `_` alone is a name like any other, for a value that "
        "is not used: for _ in range(3).",
        "_h = 1",
    ),
    "E0113": (
        "a character from outside ASCII",
        "Names are made of a-z, A-Z, 0-9 and _, so that two names that look alike are alike. "
        "Greek letters are spelled out, and signs such as those for times or minus have ASCII "
        "forms.",
        "y = x²",
    ),
    "E0114": (
        "a character that means nothing",
        "The character is no part of the language, or it is an invisible one.",
        "y = 2 $ 3",
    ),
    "E0115": (
        "^ in a program file",
        "In one-liners, flag values and the REPL ^ is a power. A program file is valid Python "
        "too, where ^ is exclusive or; so there a power is written **.",
        "y = x^2",
    ),
    "E0116": (
        "a bit operator",
        "The operators on bits are not part of the language. Conditions are combined with and, "
        "or, not; arrays of conditions with logical_and, logical_or, logical_not.",
        "y = a & b",
    ),
    "E0117": (
        "an operator of another language",
        "Conditions are combined with and, or, not, and compared with ==, !=, <, <=, >, >=.",
        "y = a && b",
    ),
    "E0118": (
        "assignment inside an expression",
        "The form name := value is left out. Assign on a line of its own.",
        "y = (n := 3)",
    ),
    "E0119": (
        "a string is never closed",
        "A string ends with the quote that began it, on the same line; with three quotes it may "
        "span lines.",
        "y = 'abc",
    ),
    "E0120": (
        "a string that cannot be read",
        "Either a backslash is followed by a character that it gives no meaning, or the string "
        "is a bytes literal, which the language leaves out.",
        "y = '\\q'",
    ),
    "E0121": (
        "an f-string that cannot be read",
        "A field is {expression}, {expression:format} or {expression=}. Formats are those for "
        "numbers: .4f, 10.3e, >8, d. Conversions (!r), fields inside formats and f-strings "
        "inside fields are left out.",
        "y = f'{x!r}'",
    ),
    "E0122": (
        "tabs and spaces mixed",
        "How deep the line is indented would depend on how wide a tab is. Indent with four spaces.",
        "if x:\n\ty = 1\n        z = 2\n",
    ),
    "E0123": (
        "wrong indentation",
        "The lines of a block stand one step to the right of the line that begins it, all alike.",
        "if x:\ny = 1\n",
    ),
    "E0124": (
        "something after a backslash",
        "A backslash at the very end of a line joins the next one to it. Nothing may follow it, "
        "not even a space.",
        "y = 1 + \\ 2",
    ),
    "E0125": (
        "a keyword of another language",
        "The word is written differently here: elif for elsif and else if, def for function.",
        "if x:\n    y = 1\nelse if z:\n    y = 2\n",
    ),
    "E0130": (
        "a class",
        "The only class is a Function with its own derivative: class Name(Function): with "
        "static methods forward(ctx, ...) and backward(ctx, ...), or forward(...) and "
        "setup_context(ctx, inputs, output), also jvp and vmap. Models are functions of their "
        "parameters.",
        "class Net(Module):\n    pass\n",
    ),
    "E0131": (
        "exceptions",
        "try, except, finally and raise are left out: a program must not be able to hold on "
        "past its limits. Test before computing, and use assert.",
        "try:\n    y = 1\nexcept Error:\n    y = 2\n",
    ),
    "E0132": (
        "a decorator",
        "The only one is @staticmethod in a Function. Write f = name(f) after the function, or "
        "with no_grad(): in its body.",
        "@jit\ndef f(x):\n    return x\n",
    ),
    "E0133": (
        "global or nonlocal",
        "A function reads names from outside but gives values back with return only.",
        "def f():\n    global x\n",
    ),
    "E0134": (
        "async or await",
        "Everything runs in order; write a plain function.",
        "async def f():\n    pass\n",
    ),
    "E0135": (
        "a generator",
        "Neither yield nor ( ... for ... in ... ). Write a list: [ ... for ... in ... ].",
        "y = sum(a*a for a in x)",
    ),
    "E0136": ("match", "Write if ... elif ... else.", "match x:\n    case 1:\n        pass\n"),
    "E0137": (
        "a star form",
        "*args, **options, starred targets and import * are left out. Write the arguments one "
        "by one.",
        "y = f(*args)",
    ),
    "E0138": ("del", "Values that nothing uses are freed by themselves.", "del x"),
    "E0139": (
        "an import",
        "import torch, numpy, math or gradcli gives the language's own names under that prefix; "
        "nothing is loaded. Other modules are out of reach.",
        "import os",
    ),
    "E0140": (
        "a dictionary or a set",
        "Curly brackets are not part of the language. Use lists, tuples, or names of their own.",
        "y = {1: 2}",
    ),
    "E0141": (
        "a type annotation",
        "Leave the type out; shapes and types are checked when the program runs.",
        "def f(x: float):\n    return x\n",
    ),
    "E0142": (
        "else after a loop",
        "Set a flag in the loop and test it afterwards.",
        "for i in x:\n    pass\nelse:\n    y = 1\n",
    ),
    "E0145": (
        "a word of the language used as a name",
        "Words such as lambda, in and is have a meaning of their own. Choose another name.",
        "lambda = 3",
    ),
    "E0146": (
        "arguments or parameters in the wrong order",
        "Plain arguments stand before named ones, parameters without a default before those "
        "with one, and no name stands twice.",
        "y = f(a=1, 2)",
    ),
    "E0160": (
        "return outside a function",
        "return gives back the value of a function, so it stands inside a def. The value of a "
        "program is its last expression: write that alone on the last line.",
        "x = 2\nreturn x\n",
    ),
    "E0161": (
        "break or continue outside a loop",
        "break leaves the innermost while or for, continue goes on with its next turn. Outside a "
        "loop there is nothing to leave; if the line belongs to a loop, indent it.",
        "x = 2\nbreak\n",
    ),
    "E0163": (
        "a module or a name that is not there",
        "import and from ... import bring in the language's own names under the prefix of a known "
        "library; a module or name that the language does not have cannot be imported. gradcli ops "
        "lists what there is.",
        "from math import sni",
    ),
    "E0164": (
        "with something that it cannot take",
        "with turns something on for a block: a gradient switch such as no_grad(), hooks on saved "
        "tensors, detect_anomaly(), dual_level(), or the handle of a hook, which it removes. Files "
        "and other context managers are not part of the language.",
        "with sin(2):\n    pass\n",
    ),
}
