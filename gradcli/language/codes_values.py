"""What goes wrong with names, shapes, types and values: E02xx and E03xx of ``codes.CODES``."""

from __future__ import annotations

CODES: dict[str, tuple[str, str, str]] = {
    # ---- names ----
    "E0201": (
        "an unknown function",
        "Nothing of this name can be called: the language has no such function and the program "
        "does not define one. Look for a slip of the finger, or for the name that PyTorch or "
        "NumPy gives it; gradcli ops lists all.",
        "y = sni(2)",
    ),
    "E0202": (
        "a variable without a value",
        "The text uses a name that nobody gave a value. On the command line add --a VALUE, in a "
        "program assign it first, in a batch give the row a field of that name; gradcli diff works "
        "with names alone.",
        "y = 2*a",
    ),
    "E0203": (
        "a variable used before it has a value",
        "The program assigns this name somewhere, but not on the path that was taken, or only "
        "later. Assign it once before the branch or the loop.",
        "if 1 > 2:\n    y = 1\nz = y\n",
    ),
    "E0204": (
        "an unknown method or attribute",
        "The value, or the module, has nothing of this name. Only the names of a fixed table can "
        "be reached; tensors have PyTorch's, such as x.sum() and x.shape.",
        "x = ones(3)\ny = x.sise\n",
    ),
    "E0205": (
        "an assignment to a module's name",
        "The name stands for an imported module, such as torch, and stays that. Choose another "
        "name for the variable.",
        "import torch\ntorch = 3\n",
    ),
    "E0206": (
        "a module used as a value",
        "A module holds functions; it is no value itself. Write the function after a dot: "
        "torch.sin(x).",
        "import torch\ny = torch + 1\n",
    ),
    # ---- shapes, types and values ----
    "E0301": (
        "shapes that do not fit",
        "Two shapes are compared from the right: sizes must be equal, or one of them 1. For a @ "
        "b the last size of a is the first of b; for joining, all other sizes agree. Print "
        "x.shape, then transpose with x.T or change the shape with reshape.",
        "y = ones(3) + ones(4)",
    ),
    "E0302": (
        "wrong arguments",
        "The function got too many arguments, too few, or one whose name it does not have. gradcli "
        "ops NAME shows how it is called.",
        "y = sum(ones(2), axes=0)",
    ),
    "E0303": (
        "a value of the wrong kind",
        "The operation does not take this kind of value: text where a number belongs, lists of "
        "uneven length, a negative size. The message says what was given; tensor([...]) makes a "
        "tensor of a list.",
        "x = tensor([[1.0], [2.0, 3.0]])",
    ),
    "E0304": (
        "a value that the function does not take",
        "The kind is right, the value is not: a bound is missing, a list is empty, a format does "
        "not fit the number. The message names the argument.",
        "y = clamp(ones(3))",
    ),
    "E0305": (
        "no such dimension",
        "Dimensions count from 0; -1 is the last. A tensor of shape (2, 3) has the dimensions 0 "
        "and 1, and no dimension may be named twice.",
        "y = sum(ones(2, 3), dim=2)",
    ),
    "E0306": (
        "a shape that the numbers do not fill",
        "reshape keeps every number, so the product of the sizes must stay the same; one size "
        "may be -1 and is worked out. expand repeats only dimensions of size 1. A view that is "
        "not possible is possible with reshape, which copies.",
        "y = ones(2, 3).reshape(4)",
    ),
    "E0307": (
        "an index out of range",
        "Indices run from 0 to the size less one, or from -1 backwards; there is one for each "
        "dimension at most. Indices are whole numbers, slices, None, ... and integer or boolean "
        "tensors.",
        "y = ones(3)[5]",
    ),
    "E0308": (
        "nothing to choose from",
        "The largest or smallest entry of an empty tensor does not exist. Test x.numel() first.",
        "y = amax(zeros(0))",
    ),
    "E0309": (
        "an element type that does not fit",
        "The operation needs another type of number, or the name is no type at all. x.double() and "
        "x.float() make floats; the types are named float64, float32, int64, bool and so on.",
        "x = tensor(1, dtype='float3')",
    ),
    "E0310": (
        "one number wanted, a tensor of another size given",
        "item(), float(x) and a condition need a tensor with exactly one entry. Index one entry, "
        "reduce with sum() or mean(), or for conditions write (x > 0).all() or (x > 0).any().",
        "y = ones(3).item()",
    ),
    "E0311": (
        "division by zero",
        "Plain numbers divide as in Python, where a division by zero is an error. A tensor "
        "divided by zero gives inf or nan instead.",
        "y = 1 / 0",
    ),
    "E0312": (
        "a number too large for a float",
        "Floats end near 1.8e308. Work with logarithms, or with tensors, which go on to inf.",
        "y = 10.0 ** 400",
    ),
    "E0313": (
        "an assertion failed",
        "The program itself says assert of something that is not true; its message, if it has one, "
        "stands in the error.",
        "x = -1\nassert x > 0, 'x must be positive'\n",
    ),
    "E0314": (
        "a result that is no number",
        "What is to be shown or differentiated has to be a number, a tensor, or a list of these. "
        "End the program with such an expression, or name a variable that holds one with --of.",
        "$ gradcli eval \"print('done')\"",
    ),
}
