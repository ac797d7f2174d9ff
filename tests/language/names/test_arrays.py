"""``np`` in a program: NumPy's numbers of tensors too, and gradients through lists of tensors."""

from __future__ import annotations

import contextlib
import io
from types import FunctionType

import numpy as np
import pytest

import gradcli
from gradcli.engine import Tensor
from gradcli.engine.dtypes import default_dtype, float32
from gradcli.language.names import namespaces
from gradcli.language.names.numpy.arrays import array_of
from gradcli.language.names.numpy.table import ELEMENTWISE
from gradcli.language.names.table import NAMES
from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from tests.support.families import family

TABLE = namespaces.numpy(NAMES).table
V, W = np.array([3.0, 4.5, -1.0, 2.0]), np.array([0.5, 2.0, 1.5, 3.0])
M = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, -6.0], [7.0, 8.5, 10.0]])
CALLS = [
    ((V,), {}), ((M,), {}), ((M,), {"axis": 0}), ((M,), {"axis": -1}), ((V, 2), {}), ((M, 3), {}),
    ((M,), {"axis": 0, "keepdims": True}), ((M,), {"axis": 0, "ddof": 1}), ((V, W), {}),
    ((M, M), {}), ((M, M[0]), {}), ((V > 0,), {}), ((V > 0, V, W), {}), ((M, 0), {}), ((M, 1), {}),
    ((V, (2, 2)), {}), ((M, 1), {"axis": 0}), ((M, 1, (0, 1)), {}),
]  # fmt: skip

K, Z = np.array([3, 1, 2, 4]), np.array([1 + 2j, -0.5j])
OTHER_KINDS = [((K,), {}), ((K, K), {}), ((Z,), {}), (([V, W],), {})]
"""For those that take no real tensors."""


def plain(value):
    """A result as NumPy's arrays, in lists where there are several."""
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return np.asarray(value.array if isinstance(value, Tensor) else value)


def given(args, make):
    return [
        given(a, make) if isinstance(a, list) else
        make(a.copy()) if isinstance(a, np.ndarray) else a
        for a in args
    ]  # fmt: skip


OF_OTHER_THINGS = {
    "arange", "broadcast_to", "dsplit", "einsum", "empty", "eye", "full", "identity", "interp",
    "isnat", "linspace", "moveaxis", "ones", "swapaxes", "tril_indices", "triu_indices",
    "unravel_index", "zeros",
}  # fmt: skip
WITHOUT_VALUES = {"copyto", "empty_like", "fill_diagonal", "finfo", "geomspace", "logspace"}
FUNCTIONS = sorted(
    n for n, f in TABLE.items()
    if n in vars(np) and isinstance(f, FunctionType) and n not in WITHOUT_VALUES
)  # fmt: skip


@pytest.mark.parametrize("make", [gradcli.tensor, array_of], ids=["tensors", "arrays"])
@family("name", FUNCTIONS, by=lambda n: n[0])
@pytest.mark.filterwarnings(
    "ignore:Converting input from bool", "ignore:`(row_stack|trapz)`", "ignore:numpy.fix"
)
def test_a_function_is_numpys(name, make):
    compared = 0
    for args, options in [*CALLS, *OTHER_KINDS]:
        if compared and any(args is other for other, _ in OTHER_KINDS):
            break
        if name in ELEMENTWISE and (
            len(args) > ELEMENTWISE[name].nin or args[0] is CALLS[11][0][0]
        ):
            continue  # one more would be written to; of truth values NumPy makes float16
        try:
            with np.errstate(all="ignore"):
                want = plain(getattr(np, name)(*args, **options))
        except (TypeError, ValueError, IndexError, ZeroDivisionError, DeprecationWarning):
            continue
        try:
            got = TABLE[name](*given(args, make), **options)
        except (Fault, TypeError, AttributeError, ValueError, IndexError):
            continue  # loud
        for part in got if isinstance(got, list | tuple) else [got]:
            assert make is gradcli.tensor or type(part) is not Tensor
        got = plain(got)
        if isinstance(want, list):
            assert isinstance(got, list) and len(got) == len(want)
            for one, other in zip(got, want, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-15)
        else:
            narrow = min(want.dtype.itemsize, got.dtype.itemsize) < 8
            np.testing.assert_allclose(got, want, 1e-6 if narrow else 1e-12, 1e-15)
        compared += 1
    assert compared or name in OF_OTHER_THINGS, "no call could be compared"


def run(text, x, y, requires_grad=False):
    """The value of an expression, and its leaves."""
    leaves = {
        k: gradcli.tensor(v, dtype=gradcli.float64, requires_grad=requires_grad)
        for k, v in (("x", x), ("y", y))
    }
    return prepare("import numpy as np\nimport torch\n" + text, "file").run(leaves).value, leaves


def number(text, x, y):
    return float(run(text, x, y)[0])


def gradient(text):
    out, leaves = run(text, 3.0, 4.0, True)
    out.backward()
    return [0.0 if t.grad is None else t.grad.item() for t in leaves.values()]


@family("text", [
    "norm([x, y])", "mean([[x, y], [1, x*y]])", "dot([x, y], [y, 1.0])", "sum(exp([x, 0.1*y]))",
    "logsumexp([x, y], 0)", "prod([x, y])", "einsum('i,i', [x, y], [x, y])",
    "cat([[x], [y*x]]).sum()", "where(x > y, [x, 1], [y, 2]).sum()",
    "cdist([[x, 1]], [[y, 2]]).sum()",
    "np.dot([x, y], [x, y])", "np.concatenate([[x], [y*y]]).sum()", "np.stack([x, y*y]).sum()",
    "np.max([x, y])", "np.linalg.norm([x, y])", "np.sin([x, y]).sum()", "np.power([x], y).sum()",
    "np.std([x, y, 1])", "np.var([x, y], ddof=1)", "np.median([x, y, 1, 7])",
    "np.sort([y, x])[0]", "np.cumsum([x, y])[1]", "np.cumprod([x, y])[1]",
    "np.average([x, y], weights=[y, 1])", "np.ptp([x, y])", "np.repeat([x, y], 2).sum()",
    "np.transpose([[x, y]])[1, 0]", "np.gradient([x, y, x*y])[1]", "np.split([x, y], 2)[0].sum()",
    "np.dot([[x, y], [y, 1]], [x, 2]).sum()", "np.linalg.det([[x, y], [y, 1]])",
    "np.linalg.solve([[x, 1], [y, 5]], [y, 1]).sum()", "np.hypot([x], y).sum()",
    "np.array([x, y*y]).sum()", "np.array([[x, y], [y, 1]])[0] @ np.array((y, x), float)",
    "np.asarray([x, 1, y])[::2].prod()", "np.array(np.array([x, y])).prod()", "np.copy([x, y])[0]",
    "np.float64(x)*np.float64(y)", "np.float64([x, y]).prod()", "np.asarray(x)*y",
    "np.array([np.stack([x, y]), np.array([y, 1])])[:, 0].prod()", "np.mean([[x], [y]], 0)[0]",
    "np.sum([np.array([x, y]), np.array([y, 2])])", "np.full((2, 1), x*y).sum()",
    "np.array([1.0, 2]) @ [x, y]", "[x*y, 3] @ np.array([1.0, 2])",
    "np.array([[1.0, 2]]).dot([x, y])[0]", "(np.array([1.0, 2]) + [x, y]).prod()",
    "np.percentile([x, y, 1, x*y, 2], 30)", "np.percentile([[x, y], [y, 7]], [10, 70], 0)[1, 0]",
    "np.percentile([x, y, 9], 40, method='lower')", "np.append([x], [[y, 1]]).prod()",
    "np.append([[x, 1]], [[y, x]], 0)[:, 0].prod()", "np.delete([x, y, x*y, 2], [1, -1]).prod()",
    "np.delete([[x, y], [y, 1]], 0, 1)[0].prod()", "np.pad([x, y], 2, constant_values=3).prod()",
    "np.pad([x, y, x*y], (1, 4), mode='edge')[-2]*np.pad([x, y], 3, mode='wrap')[0]",
    "np.pad([x, y, x*y], 7, mode='reflect')[2:5].prod()",
    "np.pad([[x, y]], ((1, 0), (2, 1)), mode='edge').sum()*np.pad([[x]], ((0, 1), (0, 0))).sum()",
    "np.interp([x - 2, x, y + 2.5, 9], [0, x + 1, 5, y + 4], [x, y, 1, x*y]).prod()",
    "np.interp(x, [1, 5], [y, 2])", "np.interp(x, [5, 6.0], [y, 2], left=y*x) + 0*x",
    "np.interp(x, [1, 2.0], [y, 2], right=y*x)", "np.interp(y, [1, 2.0], [y, x])",
    "(np.convolve([x, y, 1], [1, x])**2).sum()", "np.convolve([x], [y, 2, 1], 'same')[0]",
    "np.convolve([x, y, 1, y*y], [1, x, 3], 'same')[0]", "np.polyval([x, 2, y], y)",
    "np.convolve([x, y, 1], [1, x], mode='valid').prod()", "np.full_like([1.0, 2], x).prod()*y",
    "np.array_split([x, y, x*y], 2)[0].prod()", "np.flatnonzero([0, x, y])[1]*x",
    "np.interp(0.1, [0, 3], [x, y])", "np.interp(2, [0, x], [1, y])",
    "np.delete([x, y, x*y], [True, False, True])[0]", "np.delete([[x, y]], 0, axis=-1)[0, 0]",
    "np.delete([x, y], np.array([x, y]) > 3.5)[0]", "(np.convolve([1, 2], [x, y])**2).sum()",
    "(np.linspace(x, y, 4)**2).sum()", "np.linspace(1, stop=x*y, num=3, endpoint=False)[1] + 0*y",
    "np.select([x > y, x < y], [y, x*y], 7)", "np.outer(np.arange(3), np.ones(2)).std()*x",
])  # fmt: skip
def test_gradients_lead_through_lists(text):
    if "einsum" not in text and "split([x, y], 2" not in text and text.startswith("np."):
        want = eval(text, {"np": np, "x": 3.0, "y": 4.0})
        assert number(text, 3.0, 4.0) == pytest.approx(want, rel=1e-14)
    h = 1e-6
    slopes = [
        (number(text, 3.0 + h, 4.0) - number(text, 3.0 - h, 4.0)) / (2 * h),
        (number(text, 3.0, 4.0 + h) - number(text, 3.0, 4.0 - h)) / (2 * h),
    ]
    assert any(slopes)
    assert gradient(text) == pytest.approx(slopes, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("line, slopes", [
    ("a[0] = x", [1, 0]), ("a.fill(x)", [1, 1]), ("a += [x, 1]", [1, 0]),
    ("a[:] = [2*x, x]", [2, 1]), ("a[::-1][0] = x", [0, 1]),
    ("r = a[1:]\na[1] = x*x\na[:1] = r", [4, 4]), ("np.copyto(a, x)", [1, 1]),
    ("b = a + x\na[0] = b.copy()[1]\na[1] *= b.copy().copy()[0]", [1, 0]),
    ("b = np.diag(a)\nnp.fill_diagonal(b, x)\na[:] = b[1]", [0, 1]),
    ("b = np.zeros((2, 2, 2))\nnp.fill_diagonal(b, x)\na[:] = b[1, 1]", [0, 1]),
    ("a.reshape(2, 1)[1, 0] = x\na[1] *= x", [0, 4]), ("np.asarray(a)[0] = x", [1, 0]),
    ("for row in a.reshape(2, 1):\n    row += x", [1, 1]), ("a.T[1:] = x", [0, 1]),
    ("a[:] = x\na[1:] *= a[:1]", [1, 4]), ("a[:] = x, 1\na[[0, 1]] = a[::-1]", [0, 1]),
    ("a[:] = x, 1\na[1:] = a[:1]\na += a[::-1]", [2, 2]),
    ("a[0] = x\nb = a.astype(float)\na[1] = 9\na = b + a.astype('int64')", [1, 0]),
])  # fmt: skip
def test_an_array_leads_gradients_from_where_it_is_written_to(line, slopes):
    text = f"import numpy as np\na = np.zeros(2)\n{line}\na"
    x = gradcli.tensor(2.0, requires_grad=True)

    def run(x):
        return prepare(text, "file").run({"x": x}).value

    assert gradcli.autograd.functional.jacobian(run, x).tolist() == slopes
    one = gradcli.tensor(1.0)
    assert gradcli.func.jvp(run, (x.detach(),), (one,))[1].tolist() == slopes
    with pytest.raises(Fault) as fault:  # where it would share its memory with tensors, as PyTorch
        prepare(f"import torch\n{text}", "file").run({"x": x})
    assert fault.value.code in ("E0204", "E0404", "E0409")


@pytest.mark.parametrize("line", [
    "np.delete([x, 1], 1.0)", "np.delete([x, 1], True)", "np.delete([x, 1], [True])",
    "np.pad([x, 1], -1)", "np.pad([x, 1], -1, mode='edge')", "np.pad([x, 1], 1.5)",
    "np.convolve([x, 1], [])", "np.convolve([[x, 1]], [x])", "np.copyto(np.array([1, 2]), x)",
    "np.copyto(np.array([1, 2]), [0.5, 1])", "np.fill_diagonal(np.zeros((2, 2, 3)), x)",
    "np.fill_diagonal(np.zeros(2), 1)",
])  # fmt: skip
def test_what_numpy_refuses_is_refused(line):
    with pytest.raises((ValueError, TypeError, IndexError)):
        eval(line, {"np": np, "x": 2.5})
    with pytest.raises(Fault):
        prepare(f"import numpy as np\n{line}", "file").run({"x": gradcli.tensor(2.5)})


@pytest.mark.parametrize("index", [
    "[0, np.argmax(M[:, 0])]", "[k, 0]", "[[0, 1], [k, 0]]", "[[0, k], [1, 1]]", "[r, r]",
    "[k]", "[r]", "[True, False, True]", "[[0, 1], [1, 2]], 1", "[k, 1], [0, k]",
])  # fmt: skip
def test_a_list_is_an_index_array_as_numpy_reads_it(index):
    """PyTorch reads a list with tensors or lists in it as one index for each dimension."""
    M = np.array([[0.5, 2, 1], [1, 1, 0.25], [3, -1, 4]])
    text = "import numpy as np\nk = np.argmax(M[:, 0])\nr = np.argsort(M[0])[:2]\nA = M*M\n"
    given, names = gradcli.tensor(M, requires_grad=True), {"np": np, "M": M}
    for last in (f"A[{index}]", f"A[{index}] = A[{index}][::-1]; A"):
        exec(f"{text}{last[:-3]}" if "=" in last else f"{text}A = {last}", names)
        found = prepare(text + last, "file").run({"M": given}).value
        assert found.tolist() == names["A"].tolist()


def test_a_write_to_an_array_that_a_gradient_reads_is_refused():
    writes = "c[0] = 5", "c += 1", "c.sort()", "c[1:][0] = 2", "np.add(c, 1, out=c)", "c.fill(2)"
    for line in writes:
        with pytest.raises(Fault) as fault:
            gradient(f"c = np.array([2.0, 1]); s = (x*c*y).sum(); {line}; s")
        assert fault.value.code == "E0402"


def test_lists_in_transforms_and_writes_to_what_is_stacked():
    out = []
    prepare(
        "import numpy as np\n"
        "import torch\n"
        "v = torch.tensor([3.0, 1.0, 2.0])\n"
        "def f(x):\n"
        "    y = np.stack([x[0], x[1]])\n"
        "    y[0] = x[2]\n"
        "    y *= 2\n"
        "    return y.sum()\n"
        "norms = torch.vmap(torch.func.grad(lambda a: torch.linalg.norm([a, 2.0])))(v)\n"
        "print(torch.allclose(norms, v/(v*v + 4).sqrt()))\n"
        "print(torch.vmap(lambda a: np.ptp([a, 2.0, a*a]))(v).tolist())\n"
        "print(torch.func.jacfwd(lambda a: np.sort([a[0], a[1]*a[0]/2]))(v).tolist())\n"
        "print(torch.func.grad(f)(v).tolist(), torch.func.jvp(f, (v,), (v,))[1].item())\n"
        "print(np.repeat(v, [1, 0, 2]).tolist())\n"
        "def g(x):\n"
        "    return np.array([x[0], 1.0, x[2]]) @ np.ones(3)*np.full(2, x[1])[1]*np.float64(2)\n"
        "print(torch.func.jvp(g, (v,), (v,))[1].item(), torch.func.grad(g)(v).tolist())\n",
        "file",
    ).run({}, write=out.append)
    assert "".join(out).splitlines() == [
        "True", "[7.0, 1.0, 2.0]", "[[0.5, 1.5, 0.0], [1.0, 0.0, 0.0]]", "[0.0, 2.0, 2.0] 6.0",
        "[3.0, 2.0, 2.0]", "22.0 [2.0, 12.0, 2.0]",
    ]  # fmt: skip


@pytest.mark.parametrize("call, said", [
    ("np.std([x, y], dof=1)", "did you mean `ddof`?"),
    ("np.sort([x, y], dim=0)", "its parameters: a, axis"),
    ("np.repeat([x, y], 2, dim=0)", "its parameters: a, repeats, axis"),
    ("np.ptp([x, y], 0, None, True)", "its parameters: a, axis, keepdims"),
])  # fmt: skip
def test_help_names_numpys_parameters(call, said):
    with pytest.raises(Fault) as fault:
        run(call, 1.0, 2.0)
    assert fault.value.help == said


def test_an_array_is_numpys():
    for data in (np.ones((2, 1)), [np.ones(1), np.zeros(1)], [[1, 2], [3, 4]], [True, 2], 3, []):
        for options in ({}, {"dtype": "float32"}):
            want = np.array(data, **options)
            got = TABLE["array"](*given([data], gradcli.tensor), **options)
            assert (got.shape, got.array.dtype) == (want.shape, want.dtype)
    assert TABLE["array"]([gradcli.ones(1, requires_grad=True), gradcli.ones(1)]).shape == (2, 1)
    for call in (
        "empty((2, 1), int)",
        "zeros(3, 'int64')",
        "ones([2, 1])",
        "full(2, 1j)",
        "eye(2)",
        "arange(3, dtype=np.float32)",
        "eye(2, dtype='int64')",
    ):
        got, want = run(f"np.{call}", 1.0, 2.0)[0], eval(f"np.{call}")
        assert (got.shape, got.array.dtype) == (want.shape, want.dtype)
    x = gradcli.ones(2)
    assert np.shares_memory(TABLE["asarray"](x).array, x.array)
    assert not np.shares_memory(TABLE["array"](x).array, x.array)


@family("text", [
    "np.concatenate([np.ones(2), np.zeros(3)])", "np.hstack([[1, 2], [3]])",
    "np.vstack(([[1, 2]], np.ones((2, 2))))", "np.sum(np.ones((2, 3)), (0, 1))",
    "np.max([[1, 2], [3, 4]], (0, 1))", "np.transpose(np.ones((2, 3)), (1, 0))",
    "np.where(np.array([1, 0]) > 0, (1, 2), (3, 4))", "np.ones((2, 2)).dot((1, 2))",
    "np.linalg.norm(np.ones((2, 2, 2)), None, (0, 1))", "np.clip(np.arange(4), 1, [2, 2, 1, 1])",
    "np.broadcast_to(np.ones(1), 5)", "np.broadcast_to([1, 2], (3, 2))", "np.broadcast_to(2, ())",
    "np.broadcast_to(array=np.arange(2), shape=[1, 2])",
])  # fmt: skip
def test_lists_are_sizes_and_arrays_to_be_joined(text):
    np.testing.assert_array_equal(plain(run(text, 0.0, 0.0)[0]), eval(text))


def test_a_shape_to_broadcast_to_has_no_size_to_be_found():
    with pytest.raises(Fault, match="cannot be negative"):
        run("np.broadcast_to(np.ones((2, 3)), (-1, 3))", 0.0, 0.0)


@pytest.mark.parametrize("text", [
    "np.sinc([0.3])", "np.gradient([0.1, 0.2, 0.7])", "np.nansum([0.1, 0.2])",
    "np.cov(np.array([[1, 2, 3], [4, 5, 7]]))", "np.atleast_2d([1, 2])", "np.nan_to_num([0.1])",
    "np.broadcast_to([0.1], 2)",
])  # fmt: skip
def test_lists_and_whole_numbers_are_numpys_in_a_text_of_torch_too(text):
    read = prepare(f"import torch\nimport numpy as np\n{text}", "file")
    with default_dtype(float32):  # as the command line has it then
        found = plain(read.run({}).value)
    assert found.dtype == eval(text).dtype
    np.testing.assert_allclose(found, eval(text), rtol=1e-15)


def test_numbers_of_arrays_do_not_change_under_another_name():
    text = """
import numpy as np
a = np.array([1.0, 2.0, 3.0])
sums, s = [], np.float64(0)
for t in a:
    s += t
    sums.append(s)
most = m = a.max()
m -= 1
i = j = np.int64(7)
i /= 2
def more(p):
    p += 1
    return p
t, f = a[0] > 0, a.any() > 5
print(t + t, ~t, t*2.5, t + 1, sum([t, f, t]), t and f, f or t, not t, int(t), f"{t}", [t], t == 1)
print((a > 1).all() | t, t & f, {True: 3}[t], np.any(a) + np.all(a), np.isnan(a[0]) + t, max(f, t))
print(round(a[2] / 2), round(a[2] / 8, 1), sum(np.array([[1, 2], [3, 4]])), a.item(1), a.tolist())
print(sums, most, m, i, j, more(a[0]), more(a.sum()), a, np.float64(3).copy())
row = a[:2]
row += 5
row *= np.array([1, 2])
row **= np.array([2, 1])
image = np.array([[10, 200], [250, 30]], dtype=np.uint8)
image -= np.array([1, 2], dtype=np.uint8)
print(row, image, image.sum(), 255 - image, image.cumsum(0), 7 // np.array([2, 3]))
c = d = np.array(2.5)
c += 1
print(repr(a[0]), repr(d), a)
"""
    written, out = io.StringIO(), []
    with contextlib.redirect_stdout(written):
        exec(text, {})
    prepare(text, "file").run({}, write=out.append)
    assert "".join(out) == written.getvalue()
    assert gradient("s = t = np.float64(3); s += x*y; t *= x; s*t") == [3 * 15 + 3 * 12, 27]


OPERANDS = (
    "np.array([7, -3, 0, 2])", "np.array([1.5, -2.0, 0.0, 3.0])", "np.array([1+2j, 0.5, -1j, 2])",
    "np.array([True, False, True, True])", "np.array([200, 3, 0, 255], dtype=np.uint8)",
    "np.array([100, -128, 0, 3], dtype=np.int8)", "np.array([2**62, -2**62, 1, 2**63 - 1])",
    "np.array([1.5, -2.0, 0.1, 3.0], dtype=np.float32)", "np.array([[1, 2, 3, 4], [5, 6, 7, 8]])",
    "np.array([], dtype=int)", "np.array([[1], [2]])", "np.array([5])", "np.array(3)",
    "np.array(2.5)", "np.array(200, dtype=np.uint8)", "np.int64(5)", "np.float64(0.5)",
    "np.uint8(250)", "np.int8(-100)", "3", "2.5", "True", "-2", "300", "0", "2**40", "1+2j",
    "[1, 2, 3, 4]",
)  # fmt: skip
SIGNS = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "<<", ">>", "@")
WRITTEN = (
    "r = a {} b", "r = b {} a", "r = a\na {}= b", "r = a\na[1] {}= b", "r = a[::-1]\na[0:4] {}= b",
    "r = a[::2]\na[a > 1] {}= b", "r = a\na[[0, 2]] {}= b", "r = a[1:]\nr {}= b",
    "b = a[:-1]\nr = a[1:]\nr {}= b", "b = a[1]\nr = a\na {}= b", "r = a[:]\na[-1] = b",
    "r = a[1:]\na[0:4] = b", "r = a[:]\na[[0, 1]] = b", "r = a[:]\na[a > 1] = b",
)  # fmt: skip
"""What is written with a sign, and other names of the memory that it writes to."""


def outcome(text, by):
    written = []
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out, np.errstate(all="ignore"):
            by(f"import numpy as np\n{text}\nprint(repr(a), repr(b), repr(r))", written.append)
    except (Fault, TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError) as e:
        return getattr(e, "code", "refused")
    return "".join(written) or out.getvalue()


@pytest.mark.filterwarnings("ignore")
def test_signs_with_arrays_are_numpys_or_refused():
    rng = np.random.default_rng(5)
    cases = [(form, s, a, b) for form in WRITTEN for s in SIGNS for a in OPERANDS for b in OPERANDS]
    equal = 0
    for k in rng.choice(len(cases), 1000, replace=False):
        form, sign, a, b = cases[k]
        text = f"a = {a}\nb = {b}\n{form.format(sign)}"
        found = outcome(text, lambda t, write: prepare(t, "file").run({}, write=write))
        want = outcome(text, lambda t, _: exec(t, {}))
        if "np." in a + b and found != "E0314":  # which is of bits that are lost
            assert (found[0] == "E") == (want == "refused"), (text, found, want)
            assert found == want or found[0] == "E", (text, found, want)
        equal += found == want
    assert equal > 200


def test_signs_write_to_lists_and_sets_that_have_other_names():
    text = """
import numpy as np
def doubled(v):
    v *= 2
a = b = [1, 2]
a *= 2
doubled(a)
c = [[3], [4]]
d = c[0]
c[0] *= 3
e = f = [5]
e *= np.int64(2)
f *= 0
r = np.int64(2)
r *= [9]
g = h = {1, 2}
g |= {3}
h &= {1, 3}
g -= {1}
i = j = [6]
i += np.array([7, 8])
k, m = (1,), "a"
n, o = k, m
k *= 2
m *= 2
print(a, b, c, d, e, f, sorted(g), sorted(h), list(i), j, k, m, n, o)
print([0]*np.int64(3), np.uint8(2)*(1, 2), "a"*np.int8(2), [1]*np.array(3))
p = np.array(2.5).astype(int)
q = p
p += 1
print(q, r, np.append(np.float32([0.5]), 0.1))
print(np.polyval([1, 2], np.float32(0.1)), 0 << np.int64(70))
"""
    written, out = io.StringIO(), []
    with contextlib.redirect_stdout(written):
        exec(text, {})
    prepare(text, "file").run({}, write=out.append)
    assert "".join(out) == written.getvalue()


def test_numbers_of_arrays_are_pythons_to_math_and_its_own_functions():
    text = """
import math
import numpy as np
s, t = np.float32(0.1), np.int64(5)
print(math.sin(s), math.atan2(s, 2), math.floor(np.float64(2.5)), math.trunc(True))
print(math.isclose(s, 0.1, rel_tol=1e-6), math.gcd(t, 10), math.comb(t, 2), math.hypot(t, 2))
print(max(10**20, np.float64(2.5)), min(s, 1) * 4.5, min(np.array(2.5), 2), max([t, 2.5]))
print(round(s, 1), f"{s} {s:.3f} {t:d} {np.array(2.5):.3f} {np.array([[2.5]])}", [s])
print(np.linspace(0.1, 0.7, 7)[3], np.linspace(1, 2, 4, endpoint=False), math.fsum([0.1] * 10))
"""
    written, out = io.StringIO(), []
    with contextlib.redirect_stdout(written):
        exec(text, {})
    prepare(text, "file").run({}, write=out.append)
    assert "".join(out) == written.getvalue()


def test_whole_numbers_of_arrays_become_float64_in_a_text_of_torch():
    assert number("import math; math.sqrt(np.int64(5)) - math.sqrt(5)", 0.0, 0.0) == 0
    with default_dtype(float32):
        assert number("import math; math.exp(np.array(2)) - math.exp(2)", 0.0, 0.0) == 0


@pytest.mark.parametrize("text", [
    "np.array([x, y]).std()", "(2*np.asarray([x, 1])).var()", "np.full(2, x).repeat(2)",
])  # fmt: skip
def test_methods_that_arrays_and_tensors_have_otherwise_are_refused_of_either(text):
    with pytest.raises(Fault, match="of an array is not"):
        run(text, 3.0, 4.0, True)
    assert number("np.array([1.0, 3.0]).std() + x.var(correction=0)", 3.0, 4.0) == 1.0
    assert number("torch.stack([x, y]).var()", 3.0, 4.0) == 0.5  # a run later: PyTorch's
