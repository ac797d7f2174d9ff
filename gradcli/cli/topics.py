"""``gradcli help TOPIC``: what holds for all commands, a screen each."""

TOPICS = {
    "language": """\
The language is a subset of Python with PyTorch's names.

  statements   =, +=, if, while, for, def, class, try, raise, with no_grad():, assert, del, yield
  values       numbers, strings, lists, tuples, dictionaries, sets, tensors, NumPy's arrays
  classes      class Net(nn.Module):, plain ones, exceptions; decorators; *args, **options
  a += b       of numbers makes another, and v[0] is a number of its own, as in Python; arrays and
               the tensors of a text that says tensor, grad or import torch are written to
  try          catches errors; a limit and Ctrl-C pass through it
  one-liners   end statements with `;` or a new line, and ^ is power: "h = x + 1; h^2"
               (of whole numbers, too: 2^3 is 8; the exclusive or is a != b, torch.bitwise_xor)
  files        gradcli run FILE; what a .grad file says is valid Python, so ^ is ** there
  names        sin, dot, softmax ... stand alone; import torch, numpy or math gives them a prefix
  max, min     max(a, b) is elementwise; torch.max(x, 0), x.max(0), max(x, dim=0) are PyTorch's
  limits       gradcli help limits

A program reaches a fixed table of names and attributes and nothing else: no files, no network.
gradcli ops lists the operators, gradcli example programs that run.
""",
    "values": """\
A variable is an option named after it: gradcli grad "a*x" --a 2 --x 1,2,3

  5           a number             1,2;3,4           a matrix, row by row
  5,          shape (1)            2x2:1,2,3,4       the same, safe unquoted in any shell
  0,1,2,3     a vector             [[1,2],[3,4]]     nested lists
  0:10:0.1    a range without end  pi/4, randn(3,3)  constant expressions (--rng 0 seeds)
  int:3       whole numbers        bool:1,0          float32:1,2

  @file.npy  @file.npz:key  @file.csv  @file.csv:column  @-    from files; @- is standard input
  --set NAME=VALUE    a variable that is called like an option
  --vars FILE.json    several from one JSON object
  --dtype float32     what numbers are; float64 without it (float32 in a program with import torch)

gradcli diff takes shapes too: scalar, vector:n, "matrix:n,n spd", symmetric, positive.
""",
    "limits": """\
Every evaluation is bounded, whoever wrote its text:

  --max-steps N      10,000,000   turns of loops and calls of functions
  --timeout S        60           seconds of wall time; 0: no limit
  --max-mem SIZE     2G           memory, known from shapes before it is allocated
  --max-depth N      500          calls inside calls, at most 900
  --max-output N     16 MiB       characters that prints write

Each has an environment variable that changes its default: GRADCLI_MAX_STEPS=1000.
In the REPL: :set max_steps 1000. Source texts may have 1 MiB.

Exit codes: 0 good, 1 the mathematics failed, 2 the words were wrong, 3 a limit, 130 Ctrl-C.
""",
    "pytorch": """\
A snippet of PyTorch runs as it is: gradcli run tutorial.py, or pasted into gradcli repl.

  import torch            float32 is the default then, as in PyTorch; --dtype changes it
  requires_grad, grad_fn, backward(retain_graph=True), retain_grad(), detach(), hooks, no_grad
  torch.autograd.grad, torch.func, nn, optim, custom Functions with forward and backward

What differs, on purpose:
  where(c, a, b)          a branch that is not taken adds nothing, even where its slope is NaN
  max(a, b), min(a, b)    without a prefix they are elementwise
  1/0 and log(-1)         of tensors give inf and NaN with a warning; gradcli doctor says where

In Python the same engine is `import gradcli as torch`.
""",
    "formulas": """\
gradcli diff gives a derivative as a formula, checked against numbers before it is printed.

  gradcli diff "x.T @ A @ x" --x vector --A matrix      (A + A.T) @ x
  gradcli diff "logdet(S)" --S "matrix:n,n spd"         inv(S)
  gradcli diff "sin(x)/x" --order 2                     the second derivative
  gradcli diff "x^n" --wrt x --latex                    LaTeX; --code numpy, torch, jax: code
  gradcli diff "exp(x)*sin(x)" --taylor 5               the series; --around A
  gradcli diff "x^3 - x" --zeros                        where it is flat
  gradcli check "sum(x^2)" --x 1,2 --against "2*x"      your own formula against both

What is not declared is inferred and told: # assumed: A matrix:n,m, x vector:m
""",
}
"""Topics that the names of commands do not cover."""
