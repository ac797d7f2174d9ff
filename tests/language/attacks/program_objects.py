"""Attacks on what programs make: classes, dictionaries, generators, texts, layers.

``REACHES`` asks for what no program may have, and must end in a Fault. ``GROWS`` may end in a value
where it is harmless; what grows or turns for ever must meet a limit. ``x`` is a tensor.
"""

from __future__ import annotations

_N = "import torch\nimport torch.nn as nn\n"
_NET = (
    _N + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.a = nn.Linear(2, 2)\n    def forward(self, v):\n        return self.a(v)\n"
    "n = Net()\n"
)
_C = "class C:\n    def __init__(self):\n        self.v = 1\n"
_I = "import itertools\n"
_P = _N + "import torch.nn.utils.parametrize as P\n"


def _method(name: str, args: str, body: str, use: str) -> str:
    return f"class C:\n    def {name}(self{args}):\n        {body}\nc = C()\n{use}"


def _asked(value: str, *names: str) -> list[str]:
    """Attribute access, in the ways that a program can write it."""
    found = []
    for name in names:
        half = len(name) // 2
        found += [f"{value}.{name}", f"getattr({value}, '{name[:half]}' + '{name[half:]}')"]
    return found


REACHES = [
    *(f"{_C}c = C()\n{text}" for text in (
        *_asked("c", "__dict__", "__reduce__", "__getattribute__"), "c.fields['v']", "c.record",
        "C.members", "C.native", "C.find('v')", "C.__mro__", "C.__bases__", "C.__subclasses__()",
        "c.__class__ = int", "c.__class__.__init__.__globals__", "c.__init__.__func__",
        "c.__init__.function", "c.__init__.instance", "C.__init__.__code__", "C.__dict__['v']",
        "setattr(c, '__class__', 3)", "delattr(c, '__class__')", "type(c).__subclasses__()",
        "type(c).mro()", "type('D', (C,), {})", "type(type(c))('D', (), {})",
    )),
    *(f"{_NET}{text}" for text in (
        *_asked("n", "__dict__", "__gradcli_record__", "_hooks", "_not_saved"),
        "n.a.becomes", "n._modules.module", "n._modules.add", "n._modules.__class__",
        "n._modules.pop('a')", "n._modules.update({'b': 3})", "n._modules.setdefault('b', 3)",
        "n._modules['__class__'] = nn.ReLU()", "n._parameters['forward'] = nn.Parameter(x)",
        "n._modules['a.b'] = nn.ReLU()", "n._modules[0] = nn.ReLU()", "n._buffers['b'] = 'text'",
        "n._modules = {}", "setattr(n, '_modules', {})", "n.right_inverse", "n.forward.__self__",
        "nn.Linear.__init__.__globals__", "nn.Linear.__gradcli_base__()", "nn.Module.__setattr__",
        "Net.__mro__", "n.__class__.native", "n.register_buffer('__class__', x)",
        "n.state_dict().__class__.__mro__", "n.apply('x')",
    )),
    *(f"{_N}lazy = nn.LazyLinear(2)\n{text}" for text in (
        "lazy._given", "lazy.becomes", "lazy.weight.become(3)", "lazy.weight.array",
        "lazy.weight + 1",
        "lazy.weight.data", "lazy('x')", "lazy(torch.ones(1, 0)[0, 0, 0])", "lazy.bias.numel()",
        "torch.nn.UninitializedParameter.__new__", "lazy.weight.sum()", "x @ lazy.weight",
    )),
    *(f"{_P}m = nn.Linear(2, 2)\n{text}" for text in (
        "P.register_parametrization(m, '__class__', nn.ReLU())", "P.ParametrizationList.mro()",
        "P.register_parametrization(m, '_modules', nn.ReLU())", "P.cached.__class__.__mro__",
        "P.register_parametrization(m, 'weight', 3)", "P.register_parametrization(3, 'weight', m)",
        "P.register_parametrization(m, 3, nn.ReLU())", "P.type_before_parametrizations(m).__mro__",
        "with P.cached:\n    pass", "P.remove_parametrizations(m, 'weight')", "P._kept",
        "P.threading",
        "P.register_parametrization(m, 'weight', nn.ReLU())\nm.weight = 'x'",
    )),
    *(f"def g():\n    yield 1\nit = g()\n{text}" for text in _asked(
        "it", "gi_frame", "gi_code", "__reduce__", "send", "throw", "close")),
    *(f"it = iter([1, 2])\n{text}" for text in (
        "it.items", "it.kind", "it.__reduce__()", "it.__setstate__(0)", "it.items = [9]",
        "type(it)([1])", "type(it).__mro__",
    )),
    *(f"try:\n    1/0\nexcept ZeroDivisionError as e:\n    {text}" for text in (
        "e.__traceback__.tb_frame.f_globals", "e.with_traceback(None)", "e.kind.python", "e.fault",
        "e.__class__.__mro__", "e.__context__", "e.add_note('x' * 10)", "type(e).__subclasses__()",
        "getattr(e, '__traceb' + 'ack__')",
    )),
    *(f"from functools import partial, lru_cache\n{text}" for text in (
        "partial(print).func", "partial(print).__self__", "lru_cache(print).__wrapped__",
        "lru_cache(abs).cache_info().__class__.__mro__", "partial(print, 1).args",
    )),
    *(f"from collections import {text}" for text in (
        "Counter\nCounter.__init__.__globals__", "defaultdict\ndefaultdict(list).default_factory.a",
        "deque\ndeque.__module__", "OrderedDict\nOrderedDict().__reduce__()", "abc", "UserDict",
        "defaultdict\ndefaultdict(x.__class__)['a']", "OrderedDict\nOrderedDict.__subclasses__()",
    )),
    *(f"'{text}" for text in (
        "{0.__class__}'.format(x)", "{.__class__}'.format(x)", "{0[__class__]}'.format({})",
        "{x.__class__}'.format(x=x)", "{0.shape.__class__}'.format(x)", "{0!a}'.format(x)",
        "{0.real}'.format(1j)", "{[0]}'.format([x])", "{:{}}'.format(x, '>9')",
        "%(a)s' % {'a': x.b}",
        "{:>999999999}'.format(1)", "%999999999d' % 1", "%*d' % (999999999, 1)",
        "%.999999999f' % 1.0",
        "a'.format_map({})", "a'.encode().decode", "a'.translate({97: x})", "a'.__mod__(1)",
    )),
    "f'{x.__class__}'", "f'{x!a}'", "f'{x:>{9}}'", "f'{f\"{x.__class__}\"}'",
    "f'{(lambda: x)().a}'",
    "f'{f\"{x:>99999}\"}'", "f'{f\"{f'", "f\"{f'{f\"{x}\"}'}\"", "f'{x:%Y}'", "f'{x!r.a}'",
    "import torch\ntorch.compile(print).__self__", "import torch\ntorch.compile.__globals__",
    "compile('1', 'f', 'eval')", "compile(lambda: 1)", "import torch\ntorch.compile(x)(1)",
    "from torch.autograd import Variable\nVariable('x')",
    "import torch\ntorch.autograd.Variable.mro()",
    "from torch.autograd import Variable\nVariable(torch.ones)", "import torch\ntorch.svd('x')",
    "import torch\ntorch.fill_(3, 4)", "import torch\ntorch.conv2d(x, 'w')", "x.sum(axis='a')",
    "x.sum(axis=x.__class__)", "x.cumsum(axis=print)", "x.sum(axis=[0] * 10**9)", "type(print)(3)",
    "type(x).__subclasses__()", "type(x.sum).__call__", "type(None)().a", "type(len).__mro__",
    "repr(x).__class__", "id(x).__class__", "id(x).from_bytes(b'')", 
    "type(x)(3).__class__", "super(3, 4)", "super()", "object().__class__",
    "@x\ndef f():\n    pass", "@print.__self__\ndef f():\n    pass",
    "@property\ndef f(): pass\nf.fget",
    "class C(type):\n    pass", "class C(metaclass=print):\n    pass", "class C(x):\n    pass",
    "class C(int):\n    pass", "class C(dict):\n    pass\nC()",
    "class C(print.__class__):\n    pass",
    "class C:\n    __getattr__ = print\nC().a", "class C:\n    __class__ = 3\nC().__class__.a",
    "class C:\n    def __getattribute__(self, n):\n        return 1\nC().anything",
    "class C:\n    def __init_subclass__(cls):\n        print(cls.a)\nclass D(C):\n    pass\nD.b",
    "class C:\n    def __del__(self):\n        x.a\nc = C()\ndel c\nx.b",
]  # fmt: skip
"""What a program must not get: each ends in a Fault."""

GROWS = [
    "isinstance(x, type(print))", "type(type(x))",
    _NET + "n.register_forward_hook('x')\nn(torch.ones(1, 2))",
    "xs = [((i * 3, 2**61),) for i in range(4900)]\nset(xs)",
    "d = {i * (2**61 - 1): 1 for i in range(4900)}",
    _method("__repr__", "", "return repr(self)", "print(c)"),
    _method("__repr__", "", "return [self]", "print(c)"),
    _method("__str__", "", "return f'{self}'", "str(c)"),
    _method("__len__", "", "return 10**12", "list(range(len(c)))"),
    _method("__len__", "", "return -1", "len(c)"),
    _method("__len__", "", "return 'x'", "len(c)"),
    _method("__getitem__", ", i", "return i", "list(c)"),
    _method("__getitem__", ", i", "return i", "sum(c)"),
    _method("__getitem__", ", i", "return i", "-1 in c"),
    _method("__iter__", "", "return self", "list(c)"),
    _method("__iter__", "", "return iter(self)", "list(c)"),
    _method("__next__", "", "return 1", "list(zip(c, c))"),
    _method("__bool__", "", "return bool(self)", "1 if c else 2"),
    _method("__eq__", ", o", "return o == self", "c == C()"),
    _method("__eq__", ", o", "return o == self", "c in [C()]"),
    _method("__hash__", "", "return hash(self)", "{c: 1}"),
    _method("__hash__", "", "return 'x'", "{c: 1}"),
    _method("__lt__", ", o", "return o > self", "sorted([c, C()])"),
    _method("__lt__", ", o", "return True", "sorted([C() for i in range(3000)])"),
    _method("__add__", ", o", "return o + self", "c + c"),
    _method("__radd__", ", o", "return o + self", "sum([c, c])"),
    _method("__float__", "", "return float(self)", "float(c)"),
    _method("__float__", "", "return 'x'", "float(c)"),
    _method("__int__", "", "return 10**5000", "int(c)"),
    _method("__call__", "", "return self()", "c()"),
    _method("__contains__", ", o", "return o in self", "1 in c"),
    _method("__neg__", "", "return -self", "-c"),
    _method("__enter__", "", "return self", "with c:\n    pass"),
    _method("__setitem__", ", i, v", "self[i] = v", "c[0] = 1"),
    "class C:\n    def __enter__(self):\n        return self\n    def __exit__(self, *e):\n"
    "        return True\nwith C():\n    while True: pass\nwhile True: pass",
    "class C:\n    @property\n    def p(self):\n        return self.p\nC().p",
    "class C:\n    @property\n    def p(self):\n        return 1\n    @p.setter\n"
    "    def p(self, v):\n        self.p = v\nC().p = 3",
    "class C:\n    def f(self):\n        return super().f()\nC().f()",
    "class C:\n    pass\nc = C()\nc.me = c\nimport copy\ncopy.deepcopy(c)\nprint(c)",
    "class C:\n    pass\nc = None\nfor i in range(4000):\n    d = C()\n    d.n = c\n    c = d\n"
    "import copy\ncopy.deepcopy(c)",
    "class C:\n    pass\nc = None\nfor i in range(4000):\n    d = C()\n    d.n = c\n    c = d\n"
    "del c",
    "class C:\n    def __init__(self, n):\n        self.n = n\n    def __repr__(self):\n"
    "        return f'{self.n}'\nc = C(0)\nfor i in range(2000): c = C(c)\nprint(c)",
    "class C:\n    def __init__(self):\n        C()\nC()",
    "xs = [i * (2**61 - 1) for i in range(4900)]\nfor i in range(90): set(xs)",
    "xs = [i * (2**61 - 1) for i in range(4900)]\nfor i in range(90): dict(zip(xs, xs))",
    "xs = [(i * (2**61 - 1),) for i in range(4900)]\nfor i in range(90): set(xs)",
    "xs = [i * (2.0**61 - 1) * 2.0**61 for i in range(4900)]\nfor i in range(90): set(xs)",
    "from collections import Counter\nxs = [i * (2**61 - 1) for i in range(4900)]\n"
    "for i in range(90): Counter(xs)",
    "class K:\n    def __hash__(self):\n        return 1\n    def __eq__(self, o):\n"
    "        return False\nd = {K(): i for i in range(900)}",
    "d = {}\nd['d'] = d\nprint(d)\nd == d", "d = {}\nfor i in range(99999999): d[i] = d",
    "d = {'a': 1}\nfor k in d: d[k + 'a'] = 1", "d = {}\nd = {**d, 'a': d}\nrepr(d)",
    "d = {'a': 'a'}\nfor i in range(99): d = {**d, 'a': d['a'] * 2}",
    "k = ()\nfor i in range(4000): k = (k,)\n{k: 1}", "d = dict([(x, 1)])\nd[x]", "{[1]: 2}",
    "d = {}\nfor i in range(4000): d = {'d': d}\nprint(d)",
    "d = {}\nfor i in range(4000): d = {'d': d}\nimport copy\ncopy.deepcopy(d)",
    "while True:\n    try:\n        while True: pass\n    except Exception:\n        pass",
    "def f():\n    try:\n        f()\n    finally:\n        f()\nf()",
    "def f():\n    try:\n        return f()\n    except Exception:\n        return f()\nf()",
    "while True:\n    try:\n        raise ValueError\n    except ValueError:\n        continue",
    "e = None\nfor i in range(3000):\n    try:\n        raise ValueError(e)\n"
    "    except ValueError as f:\n        e = f\nprint(e)",
    "raise ValueError('a' * 10**6)", "raise ValueError(*range(3000))", "raise x", "raise print",
    "class E(Exception):\n    def __str__(self):\n        return str(self)\nraise E",
    "class E(Exception):\n    def __init__(self):\n        raise E\nraise E",
    "try:\n    [0] * 10**12\nexcept BaseException:\n    pass\nwhile True: pass",
    "try:\n    while True: pass\nexcept (MemoryError, RuntimeError, Exception):\n    print('held')",
    "it = iter([1])\nfor i in range(4000): it = (v for v in it)\nlist(it)",
    "it = iter([1])\nfor i in range(4000): it = map(abs, it)\nlist(it)",
    "it = iter([1])\nfor i in range(4000): it = zip(it)\nlist(it)",
    "def g(n):\n    yield from g(n + 1)\nlist(g(0))", "def g():\n    while True: yield 1\nmax(g())",
    "def g():\n    while True: yield 1\nsorted(g())",
    "def g():\n    while True: yield 'a'\n''.join(g())",
    "def g():\n    yield next(it)\nit = g()\nnext(it)",
    "def g():\n    for v in it: yield v\nit = g()\nlist(it)",
    "def g():\n    try:\n        while True: yield 1\n    finally:\n        while True: pass\n"
    "next(g())",
    *(f"{_I}{text}" for text in (
        "list(itertools.count())", "sum(itertools.repeat(1))", "list(itertools.cycle([1]))",
        "list(itertools.product(range(99), repeat=9))", "list(itertools.permutations(range(50)))",
        "len(list(itertools.combinations(range(99), 50)))", "max(itertools.count())",
        "list(itertools.islice(itertools.count(), 10**12))", "set(itertools.count())",
        "list(itertools.accumulate(['a' * 999] * 4000))", "''.join(itertools.repeat('a' * 10**6))",
        "list(itertools.accumulate([2**4000] * 99, lambda a, b: a * b))",
        "dict.fromkeys(itertools.count())",
        "for p in itertools.product(range(9), repeat=10**12): pass",
        "itertools.product(range(10**9))",
        "next(itertools.permutations(range(10**7)))",
        "list(itertools.chain.from_iterable(itertools.count()))",
        "any(v < 0 for v in itertools.count())", "[*itertools.repeat(1)]",
        "print(*itertools.repeat(1))",
        "(lambda *a: a)(*itertools.repeat(1))", "a, *b = itertools.count()", "{*itertools.count()}",
        "x.view(*itertools.repeat(1))", "list(zip(*itertools.repeat([1])))",
        "enumerate(itertools.count(), 10**9)",
        "min(itertools.repeat(1), key=lambda v: v)", "itertools.count() == itertools.count()",
        "list(map(lambda *a: a, itertools.count()))", "1.5 in itertools.count()",
        "[1, 2] + itertools.count()",
    )),
    "def f(*a): f(*a, *a, 1)\nf()", "def f(**k): return f(**k, **{str(len(k)): 1})\nf()",
    "f = lambda **k: k\nf(**{str(i): i for i in range(99999)})", "f = lambda **k: k\nf(**{1: 2})",
    "f = lambda **k: k\nf(**{'__class__': 1})", "def f(*a): return a\nf(*[0] * 10**9)",
    "xs = [1]\nxs[0:0] = xs * 10**8", "xs = [1]\nwhile True: xs += xs",
    "xs = [1]\nfor v in xs: xs.append(v)",
    "'a'.replace('', 'b' * 10**6).replace('', 'b' * 10**6)", "('a' * 10**6).join(['b'] * 10**6)",
    "'a'.center(10**9)", "'1'.zfill(10**9)", "'a'.ljust(10**9)", "('a,' * 10**6).split(',')",
    "'{}' .format('a' * 10**6) * 99", "s = 'a'\nfor i in range(99): s = s + s",
    "('%s' * 10**6) % (('a' * 9,) * 10**6)",
    "s = 'a'\nwhile True: s = f'{s}{s}'", "s = 'a'\nwhile True: s = '{0}{0}'.format(s)",
    "s = 'a'\nwhile True: s = '%s%s' % (s, s)", "print('a' * 10**6, 'b' * 10**6, sep='c' * 10**6)",
    "print(*['a' * 10**5] * 99, sep='b' * 10**5)", "print(end='a' * 10**9)", "int('9' * 10**6)",
    "float('9' * 10**6)",
    "from functools import partial\nf = abs\nfor i in range(4000): f = partial(f)\nf(1)",
    "f = abs\nfor i in range(4000): f = (lambda v, f=f: f(v))\nf(1)",
    "from functools import lru_cache\n@lru_cache\ndef f(n): return f(n + 1)\nf(0)",
    "from functools import lru_cache\n@lru_cache\ndef f(n): return [0] * 10**5\n"
    "for i in range(4000): f(i)",
    "from functools import reduce\nreduce(lambda a, b: a + a, range(99), 'a')",
    "from functools import reduce\nreduce(lambda a, b: a * a, range(99), 9)",
    "f = abs\nfor i in range(4000):\n    @(lambda g: lambda v: g(v))\n    "
    "def f(v, f=f): return f(v)\nf(1)",
    "from collections import deque\nq = deque([1])\nfor v in q: q.append(v)",
    "from collections import deque\nq = deque()\nq.append(q)\nprint(q)\nq == q",
    "from collections import deque\ndeque(maxlen=10**12)\ndeque([1] * 10**8)",
    "from collections import defaultdict\nd = defaultdict(lambda: d['a'])\nd['a']",
    "from collections import defaultdict\nd = defaultdict(lambda: d)\nd[1][2][3]\nprint(d)",
    "from collections import Counter\nCounter('a' * 10**6)\nCounter({'a': 10**9}).elements()",
    _N + "nn.LazyLinear(10**9)(torch.ones(1, 1))", _N + "nn.LazyLinear(-1)(torch.ones(1, 1))",
    _N + "nn.LazyConv2d(10**6, 10**3)(torch.ones(1, 1, 2, 2))",
    _N + "nn.LazyLinear('a')(torch.ones(1, 1))",
    _N + "m = nn.Sequential()\nm._modules['a'] = m\nprint(m)", _N + "m = nn.Sequential()\n"
    "m._modules['a'] = m\nlist(m.parameters())\nm(torch.ones(1))",
    _NET + "n.forward = n\nn(torch.ones(1, 2))",
    _NET + "n.extra_repr = n\nprint(n)\nn.train = 3\nn.eval()",
    _NET + "class M(Net):\n    def forward(self, v):\n        return self(v)\n"
    "M()(torch.ones(1, 2))",
    _N + "class L(nn.LazyLinear):\n    pass\nm = L(2)\nm(torch.ones(1, 3))\n"
    "m(torch.ones(1, 3))\nprint(m)",
    _N + "net = nn.Sequential(*[nn.LazyLinear(1) for i in range(10**6)])",
    _P + "m = nn.Linear(2, 2)\nclass A(nn.Module):\n    def forward(self, v):\n        "
    "return m.weight\n"
    "P.register_parametrization(m, 'weight', A())\nm.weight",
    _P + "m = nn.Linear(2, 2)\nwhile True:\n    "
    "P.register_parametrization(m, 'weight', nn.Identity())",
    _P + "m = nn.Linear(2, 2)\nP.register_parametrization(m, 'weight', m)\nprint(m)",
    _P + "class A(nn.Module):\n    def forward(self, v):\n        return 'x'\n"
    "P.register_parametrization(nn.Linear(2, 2), 'weight', A())",
    _P + "class A(nn.Module):\n    def forward(self, v):\n        return v.repeat(10**9)\n"
    "P.register_parametrization(nn.Linear(2, 2), 'weight', A(), unsafe=True)",
    _P + "class A(nn.Module):\n    def right_inverse(self, v):\n        "
    "return self.right_inverse(v)\n"
    "    def forward(self, v):\n        return v\n"
    "P.register_parametrization(nn.Linear(2, 2), 'weight', A())",
    _P + "while True:\n    with P.cached():\n        P.cached().__enter__",
    "import torch\nf = torch.compile(lambda n: f(n))\nf(1)",
    "import torch\n@torch.compile\ndef f(n):\n    while True: pass\nf(1)",
]  # fmt: skip
"""What may end in a value where it is harmless, within every limit."""
