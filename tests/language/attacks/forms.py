"""Attacks on classes, exceptions, dictionaries, generators, star forms, decorators and formats.

Each ends in a Fault or, where it is harmless, in a value. ``ESCAPES`` and ``UNCATCHABLE`` must end
in a Fault. As in ``targets``, ``x`` is a tensor of two numbers.
"""

# ruff: noqa: E501 (programs, not prose)

from __future__ import annotations

TAKEN_IN = frozenset((
    # of exhaustion.py
    "print(*x)", "def f(x: int): pass", "def f() -> int: pass", "{1: 2}", "{1}", "{}",
    "{x for x in x}", "(i for i in x)", "*x, y = x", "f'{x!r}'", "class A: pass",
    "try:\n    x\nexcept: pass", "global x", "del x", "def _f(): pass", "import torch as _t",
    "x: int = 3", "x: int",
    # of families.py
    "f'{x!s:>10}'", "'{}'.format(x)", "'%s' % x", "(lambda: 0).__name__", "print.__name__",
    "x.grad_fn.metadata", "__name__", "hasattr(x, 'array')", "type(x)", "id(x)", "iter(x)",
    "callable(x)", "map(print, x)", "filter(print, x)", "repr(x)", "ord('a')", "format(x)",
    "'a'.splitlines()", "'a'.partition('a')", "[1].sort(key=print)", "[1].sort()",
))  # fmt: skip
"""Texts of the other files that the language took in later: they may end in a value."""

_C = "class A:\n    def __init__(self): self.a = 1\n    def f(self, n=0): return self\na = A()\n"
_N = "import torch\nimport torch.nn as nn\nclass N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(2, 2)\n    def forward(self, x): return self.l(x)\nm = N()\n"
_E = "try:\n    {}\nexcept Exception as e:\n    {}\n"

HARMLESS = [
    "d = {}\nfor i in range(90): d = [d.values(), d.values(), {1: d}][2]\nprint(d)", "('{'*10**5).format()",
    "def f():\n    global sin\n    del sin\nf()", "'{' * 10**5 + '}' * 10**5", *sorted(TAKEN_IN),
]  # fmt: skip

ESCAPES = [
    # by attributes that are none of the tables'
    *(_C + end for end in (
        "a.__class__", "a.__dict__", "a.record", "a.fields", "a._asked('f', '')", "A.members", "A.find('f')",
        "A.base", "A.native", "A.__init__.__globals__", "a.f.function", "a.f.instance", "a.f.__self__",
        "a.f.__func__", "A.__call__.__code__", "A.mro()", "A.__subclasses__()", "a.__gradcli_get__('f')",
        "super(A, a).record", "super(A, a).__class__", "super(A, 3)", "super(3, a)", "super()", "a.__reduce__()",
        "getattr(a, '__class__')", "getattr(a, 'record')", "setattr(a, '__class__', A)", "getattr(A, 'members')",
        "hasattr(a, '__class__')", "del a.record", "del a.__class__", "del A.f", "a.f.__name__.__class__",
        "'{0.record}'.format(a)", "'{0[a]}'.format({'a': a})", "'{a.f}'.format(a=a)", "'{0.__class__}'.format(a)",
        "'{:{}}'.format(a, 5)", "'{!a}'.format(a)", "'%(a)s' % {'a': a}", "'%*d' % (10**9, 1)", "f'{a.__class__}'",
        "format(a, '>999999999')", "format(1, '{}')", "a.f.__doc__", "type(a).__mro__", "type(a).__bases__", "type(a)('x')",
        "type('B', (), {})", "type(a).__name__.__class__", "type(a).members", "a.__init__.__defaults__",
    )),
    *(_N + end for end in (
        "m.__dict__", "m._hooks", "m._modules['l'] = 3", "m._parameters.clear()", "m._get_name()", "m.__gradcli_fields__",
        "m._parameters = {}", "m._modules = nn.Linear(1, 1)", "setattr(m, '_buffers', {})",
        "setattr(m, '__class__', N)", "m.register_buffer('_parameters', torch.ones(1))",
        "m.register_parameter('__gradcli_record__', nn.Parameter(torch.ones(1)))", "m.forward.__self__", "m.__setattr__('a', 1)",
        "m.__getattr__('l')", "del m._parameters", "del m.__dict__", "m.l.weight.array", "N.forward.__globals__", "N.native",
        "super(N, m).__setattr__('a', 1)", "m.l.__class__", "m.get_submodule('__class__')",
        "m.get_parameter('__dict__.keys')", "m.state_dict.__self__", "m.load_state_dict(m)", "m.apply(3)", "nn.Module.__dict__",
        "m._converted(print)", "m._apply(print)", "m.__call__.__func__", "m.l._not_saved",
    )),
    # exceptions carry nothing of Python's
    *(_E.format("1/0", f"e.{name}") for name in (
        "__traceback__", "__context__", "__cause__", "with_traceback(None)", "tb_frame", "code", "message", "help", "error",
        "kind", "text", "fields", "__class__", "add_note('a')", "operands", "__notes__", "gi_frame", "python()", "args[0].__class__",
    )),
    _E.format("x @ x[:1]", "e.operands"), _E.format("print(nothing)", "e.name"), _E.format("{}['a']", "e.__traceback__.tb_frame"),
    "class E(ValueError): pass\ntry:\n    raise E(1)\nexcept E as e:\n    e.kind", "ValueError.mro()", "ValueError.__base__",
    "ValueError.python", "ValueError('a').with_traceback(x)", "Exception.__subclasses__()", "raise x", "raise 'a'", "raise 3", "raise",
    "raise ValueError from", "raise KeyboardInterrupt", "raise MemoryError('a')", "raise BaseException", "raise StopIteration",
    "except ValueError: pass", "try: x\n", "try:\n    x", "try:\n    x\nexcept x y: pass", "try:\n    1/0\nexcept 3: pass",
    "try:\n    1/0\nexcept x: pass", "try:\n    1/0\nexcept (ValueError, 3): pass", "try:\n    1/0\nexcept A: pass",
    "class A: pass\ntry:\n    1/0\nexcept A: pass", "try:\n    1/0\nexcept ValueError: pass\nfinally: print('f')",
    # generators and iterators
    *("def g():\n    yield 1\ni = g()\n" + end for end in (
        "i.gi_frame", "i.gi_code", "i.send(1)", "i.throw(ValueError)", "i.close()", "i.__next__()", "i.gi_yieldfrom", "len(i)", "i[0]",
        "g.__code__", "g.gi_frame", "i.__class__", "i.gi_running", "next(g)", "i + i", "sin(i)", "x[i]", "str(i)[0].gi_frame",
    )),
    "(a for a in x).gi_frame.f_globals", "(a for a in x).gi_code", "[*print]", "[*3]", "f = [*None]", "print(**x)", "print(**3)",
    "print(**{1: 2})", "print(**{'sep': 3})", "sin(**{'x': x, '__class__': 1})", "dict(**{'a b': 1})", "def f(**k): pass\nf(**{'__x': 1})",
    "def f(**k): pass\nf(**{'': 1})", "sin(*x, *x, *x)", "sin(_x=1)", "def f(a, *, b): pass\nf(1, 2)", "def f(a, /): pass\nf(a=1)",
    "(lambda *a, k: a)(1)", "a, *b, *c = [1]", "*a = [1]", "*a, = 3", "a, *b = 3", "del (1)", "del f()", "del x + 1", "del 3",
    "nonlocal x", "def f():\n    nonlocal x\nf()", "def f(x):\n    global x",
    # keys, sets and views
    "{[1]: 2}", "{{}: 2}", "{[]}", "{1: 2}[x]['a']", "{}['a']", "d = {}\ndel d['a']", "{1: 2}.keys().held", "{1: 2}.__class__", "{1}.held",
    "{1: 2}.keys().mapping", "{1: 2} + 3", "{1} + {2}", "{1} | [2]", "{1: 2}[[1]]", "dict([1])", "dict([(1, 2, 3)])", "dict(3)", "set(3)",
    "{**3}", "{**[1]}", "{*3}", "{1: 2} < {3: 4}", "{}.pop('a')", "{}.popitem()", "set().pop()", "{1}.remove(2)", "{1: 2}.fromkeys(3)",
    "t = (1,)\nfor i in range(100000): t = (t,)\nd = {t: 1}", "t = ()\nfor i in range(60): t = (t, t)\nd = {t: 1}",
    "t = ()\nfor i in range(60): t = (t, t)\nd = {}\nd[t] = 1", "t = ()\nfor i in range(60): t = (t, t)\nt in {1: 2}",
    "t = ()\nfor i in range(60): t = (t, t)\n{1: 2}.get(t)", "t = ()\nfor i in range(60): t = (t, t)\n{t}",
    "t = (1,)\nfor i in range(100000): t = (t,)\ns = set()\ns.add(t)", "t = (1,)\nfor i in range(100000): t = (t,)\nset([t])",
    "t = (1,)\nfor i in range(100000): t = (t,)\n{k: 1 for k in [t]}", "t = (1,)\nfor i in range(100000): t = (t,)\ndel {1: 2}[t]",
    "t = (1,)\nfor i in range(100000): t = (t,)\ndict([(t, 1)])", "t = (1,)\nfor i in range(100000): t = (t,)\n{}.setdefault(t)",
    # decorators
    "@3\ndef f(): pass", "@x\ndef f(): pass", "@no_grad().x\ndef f(): pass", "@(lambda: 1)\ndef f(): pass", "@print.__self__\ndef f(): pass",
    "@no_grad()\nclass A: pass\nA().a", "@staticmethod\ndef f(): pass\nf()", "@property\ndef f(): pass", "@f\nx = 1", "@\ndef f(): pass",
    # classes that cannot be
    "class A(3): pass", "class A(x): pass", "class A(print): pass", "class A(float): pass", "class A(type): pass", "class A(Tensor): pass",
    "import torch\nclass A(torch.Tensor): pass", "import torch\nclass A(torch.optim.SGD): pass", "class A(A): pass", "class A(B, C): pass",
    "class A(metaclass=x): pass", "class A(*x): pass", "class A:\n    x.a = 1", "class A:\n    import torch", "class A:\n    for i in x: pass",
    "class A:\n    print(1)", "class A:\n    class B: pass", "class A:\n    def f(self): pass\n    def f(self): pass",
    "class A:\n    __slots__ = ()", "class A:\n    __dict__ = 1", "class A:\n    def __del__(self): pass", "class A:\n    def __getattr__(self, n): pass",
    "class A:\n    def __getattribute__(self, n): pass", "class A:\n    def __new__(cls): pass", "class A:\n    def __reduce__(self): pass",
    "class A:\n    def __class_getitem__(cls, i): pass", "class A:\n    def __init_subclass__(cls): pass", "class A:\n    def __set_name__(self): pass",
    "class A:\n    def __init__(self): return 3\nA()", "class A: pass\nA(1)", "class A:\n    def __repr__(self): return 3\nprint(A())",
    "class A:\n    def __len__(self): return -1\nlen(A())", "class A:\n    def __len__(self): return 'a'\nlen(A())",
    "class A:\n    def __hash__(self): return 'a'\n{A(): 1}", "class A:\n    def __eq__(self, o): return True\n{A(): 1}",
    "class A:\n    def __iter__(self): return 3\nlist(A())", "class A: pass\nlist(A())", "class A: pass\nA()[0]", "class A: pass\nA()()",
    "class A: pass\nA() + 1", "class A: pass\nsin(A())", "class A: pass\nx + A()", "class A: pass\nx[A()]", "class A: pass\ntensor(A())",
    "class A: pass\nwith A(): pass", "class A: pass\nA().a", "class A: pass\nA() < A()", "class A: pass\nsorted([A(), A()])",
    "class A: pass\nfloat(A())", "class A: pass\nabs(A())", "class A: pass\n-A()", "class A: pass\nrange(A())", "class A: pass\n1 in A()",
    "class A: pass\nx @ A()", "class A: pass\nx.sum(A())", "class A: pass\nzeros(A())", "class A: pass\nA()[0] = 1", "class A: pass\nnext(A())",
]  # fmt: skip
"""What reaches for Python's insides, or cannot be: each ends in a Fault."""

_LIMITS = (
    "while True: pass", "[0]*10**12", "2**10**9", "ones(10**12)", "print('a'*10**6)\n    while True: print('a'*10**6)",
    "def f(): f()\n    f()", "[i for i in range(10**12)]", "sum(i for i in range(10**12))", "ones(10**4)\n    while True: pass",
)  # fmt: skip
UNCATCHABLE = [
    *(f"try:\n    {body}\nexcept: pass\nprint('caught')" for body in _LIMITS),
    *(f"try:\n    {body}\nexcept Exception as e: pass\nprint('caught')" for body in _LIMITS),
    *(f"try:\n    {body}\nfinally:\n    print('caught')" for body in _LIMITS),
    *(f"def g():\n    try:\n        {body}\n    finally:\n        return 1\ng()\nprint('caught')".replace("\n    while", "\n        while").replace("\n    f()", "\n        f()") for body in _LIMITS),
    "while True:\n    try:\n        while True: pass\n    except: continue", "while True:\n    try:\n        while True: pass\n    finally: continue",
    "while True:\n    try: [0]*10**12\n    except BaseException: pass", "def f():\n    try: f()\n    except: f()\nf()",
    "def f():\n    try: f()\n    finally: f()\nf()", "def f():\n    try:\n        return f()\n    except RuntimeError:\n        return f()\nf()",
    "def f(n):\n    try: return f(n + 1)\n    except RecursionError: return n\nf(0)\nprint('caught')",
    "try:\n    try:\n        while True: pass\n    except: pass\nexcept: pass\nprint('caught')",
    "try:\n    x = ones(10**12)\nexcept MemoryError: pass\nprint('caught')", "try:\n    while True: pass\nexcept KeyboardInterrupt: pass\nprint('caught')",
    "class W:\n    def __enter__(self): return self\n    def __exit__(self, a, b, c): return True\nwith W():\n    while True: pass\nprint('caught')",
    "class W:\n    def __enter__(self): return self\n    def __exit__(self, a, b, c): print('caught')\nwith W():\n    while True: pass",
    "class W:\n    def __iter__(self):\n        while True:\n            yield 1\nfor i in W():\n    try: pass\n    except: pass",
    "def g():\n    while True:\n        try:\n            yield 1\n        except: pass\nfor i in g(): pass",
    "def g():\n    try:\n        while True: yield 1\n    finally:\n        while True: pass\nfor i in g(): pass",
    "def g():\n    try:\n        yield 1\n    finally:\n        while True: pass\ni = g()\nnext(i)\ni = 0\nwhile True: pass",
    "h = x.register_hook(lambda g: f())\ndef f():\n    try:\n        while True: pass\n    except: pass\nx.sum().backward()",
    "class A:\n    def __eq__(self, o):\n        try:\n            while True: pass\n        except: return True\nA() in [A()]",
    "def f():\n    try:\n        raise ValueError\n    except ValueError:\n        f()\nf()", "def f():\n    try: 1/0\n    finally: f()\nf()",
    "try:\n    try: 1/0\n    finally:\n        while True: pass\nexcept: pass\nprint('caught')",
    "def f(n):\n    try:\n        1/0\n    except ZeroDivisionError as e:\n        return f(n + 1)\nf(0)",
    "while True:\n    try: raise ValueError('a')\n    except ValueError as e: y = e", "l = []\nwhile True:\n    try: raise ValueError([0]*9999)\n    except ValueError as e: l.append(e)",
    "import torch\n@torch.no_grad()\ndef f():\n    try: f()\n    except: f()\nf()", "sorted([1, 2, 3], key=lambda v: [i for i in range(10**12)])",
]  # fmt: skip
"""A limit that is caught, or held up by a last block: each ends in a Fault, and never prints."""

EXHAUSTING = [
    # classes and methods
    "class A:\n    def f(self): return self.f()\nA().f()", "class A:\n    def __init__(self): A()\nA()", "class A:\n    def __call__(self): return self()\nA()()",
    "class A:\n    def __getitem__(self, i): return self[i]\nA()[0]", "class A:\n    def __len__(self): return len(self)\nlen(A())",
    "class A:\n    def __repr__(self): return repr(self)\nprint(A())", "class A:\n    def __repr__(self): return f'{self}'\nprint([A()])",
    "class A:\n    def __eq__(self, o): return self == o\nA() == A()", "class A:\n    def __hash__(self): return hash(self)\n{A(): 1}",
    "class A:\n    def __add__(self, o): return self + o\nA() + 1", "class A:\n    def __iter__(self): return iter(self)\nlist(A())",
    "class A:\n    def __iter__(self): return self\n    def __next__(self): return 1\nlist(A())", "class A:\n    def __getitem__(self, i): return 1\nlist(A())",
    "class A:\n    def __getitem__(self, i): return 1\n2 in A()", "class A:\n    @property\n    def p(self): return self.p\nA().p",
    "class A: pass\nwhile True:\n    class A(A): pass", "def m(b):\n    class C(b): pass\n    return C\nclass A: pass\nfor i in range(10**6): A = m(A)",
    "class A: pass\nl = []\nwhile True: l.append(A())", "class A: pass\na = A()\nwhile True:\n    b = A()\n    b.a = a\n    a = b",
    "class A:\n    def f(self): pass\na = A()\nwhile True: a = a.f", "class A:\n    def __bool__(self): return bool(self)\nif A(): pass",
    "class A:\n    def __lt__(self, o):\n        while True: pass\nsorted([A(), A()])", "class A:\n    def __float__(self): return float(self)\nfloat(A())",
    "class A:\n    def __setitem__(self, i, v): self[i] = v\nA()[0] = 1", "class A:\n    def __contains__(self, v): return v in self\n1 in A()",
    "class A:\n    def __str__(self): return str(self)\nprint(A())", "class A:\n    def __neg__(self): return -self\n-A()",
    # modules
    _N + "m.l = m\nm(torch.ones(2))", _N + "m.a = m\nprint(m)", _N + "while True: m = nn.Sequential(m)", _N + "m.l.l = m\nlist(m.modules())\nm.apply(lambda k: k.apply(print))",
    _N + "while True: m.register_forward_hook(lambda *a: None)", _N + "for i in range(10**7): m.register_buffer(str(i), torch.ones(1))",
    "import torch.nn as nn\nclass N(nn.Module):\n    def forward(self, x): return self(x)\nN()(x)", "import torch.nn as nn\nclass N(nn.Module):\n    def __init__(self): N()\nN()",
    "import torch.nn as nn\nclass N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.n = N()\nN()",
    "import torch.nn as nn\nclass N(nn.Module):\n    def extra_repr(self): return 'a'*10**6\nm = N()\nfor i in range(40): m = nn.Sequential(m, m)\nprint(m)",
    "import torch.nn as nn\nclass N(nn.Linear):\n    def forward(self, x): return super().forward(self.forward(x))\nN(2, 2)(x)",
    # dictionaries and sets
    "d = {}\ni = 0\nwhile True:\n    d[i] = 1\n    i += 1", "d = {}\nwhile True: d[len(d)] = [0]*9999", "{i: i for i in range(10**12)}", "{i for i in range(10**12)}",
    "d = {}\nwhile True: d = {1: d, 2: d}", "d = {1: 2}\nd['a'] = d\nwhile True: d = {**d, len(d): 1}", "s = {1}\nwhile True: s = s | {len(s)}",
    "s = set()\nwhile True: s.add(len(s))", "dict(zip(range(10**12), range(10**12)))", "set(range(10**12))", "{**{i: i for i in range(10**9)}}",
    "d = {i: 1 for i in range(1000)}\nfor k in d: d[k + 10**6] = 1", "d = {}\nd.update(zip(range(10**12), range(10**12)))", "d = {0: 0}\nfor k in d.keys(): d[k + 1] = 0",
    "d = {}\nfor i in range(90): d = {1: d, 2: d}\nprint(d)", "d = {}\nfor i in range(90): d = {1: d, 2: d}\nd == {}\nd == d", "d = {}\nfor i in range(90): d = {1: d, 2: d}\ne = {}\nfor i in range(90): e = {1: e, 2: e}\nd == e",
    "d = {}\nfor i in range(90): d = {1: d, 2: d}\nstr(d)", "d = {}\nfor i in range(90): d = {1: d, 2: d}\nf'{d}'", "d = {}\nfor i in range(15000): d = {1: d}\ne = {}\nfor i in range(15000): e = {1: e}\nd == e",
    "d = {}\nd[1] = d\ne = {}\ne[1] = e\nd == e", "a = []\nfor i in range(90): a = [a, {1: a}]\nprint(a)",
    # generators
    "def g():\n    while True: yield 1\nlist(g())", "def g():\n    while True: yield 1\nsum(g())", "def g():\n    while True: yield 1\n[*g()]", "def g():\n    while True: yield 1\nprint(*g())",
    "def g():\n    while True: yield 1\na, *b = g()", "def g():\n    while True: yield 1\n2 in g()", "def g():\n    while True: yield 1\nmax(g())", "def g():\n    while True: yield 1\nsorted(g())",
    "def g():\n    while True: yield 1\ntuple(g())", "def g():\n    while True: yield 1\n','.join(g())", "def g():\n    while True: yield 1\nset(g())", "def g():\n    while True: yield 1\ntensor(g())",
    "def g():\n    while True: yield 1\nstack(g())", "def g():\n    while True: yield 1\nfor i in zip(g(), g()): pass", "def g():\n    while True: yield 1\nlist(map(sin, g()))",
    "def g():\n    while True: yield 1\nlist(filter(None, g()))", "def g():\n    while True: yield 0\nany(g())", "def g():\n    while True: yield (1, 2)\ndict(g())", "def g():\n    yield from g()\nlist(g())",
    "g = [1]\nfor i in range(10**6): g = (a for a in g)\nlist(g)", "def w(h): return (a for _ in [0] for a in h)\ng = [1]\nfor i in range(10**6): g = w(g)\nlist(g)",
    "def w(h):\n    yield 0\n    yield from h\ng = [1]\nfor i in range(3000):\n    g = w(g)\n    next(g)\nlist(g)", "g = [1]\nfor i in range(10**6): g = map(sin, g)\nlist(g)", "g = [1]\nfor i in range(10**6): g = filter(None, g)\nlist(g)",
    "g = iter([1])\nfor i in range(10**6): g = iter(g)\nlist(g)", "while True: any(a for a in [0])", "sum(a for a in range(10**12))", "next(a for a in range(10**12) if a < 0)", "all(a for a in range(1, 10**12))",
    "def g():\n    yield g()\ni = g()\nwhile True: i = next(i)", "l = []\ndef g():\n    while True: yield [0]*9999\nfor i in g(): l.append(i)", "i = (j for j in range(10**12))\nwhile True: next(i)",
    # stars and keywords
    "def f(*a): return f(*a, 1)\nf()", "def f(**k): return f(**k)\nf(a=1)", "print(*range(10**12))", "f = lambda *a: a\nf(*range(10**12))", "[*range(10**12)]", "(*range(10**9),)", "a, *b = range(10**12)", "*a, b = range(10**12)",
    "for a, *b in [range(10**12)]: pass", "[b for a, *b in [range(10**12)]]", "l = [1]\nwhile True: l = [*l, *l]", "l = (1,)\nwhile True: l = (*l, *l)", "def f(a=[]):\n    while True: a.append(a)\nf()", "def f(a={}):\n    while True: a[len(a)] = 1\nf()",
    "d = {}\nfor i in range(10**6): d['a' + str(i)] = 1\nf = lambda **k: f(**k)\nf(**d)", "{*range(10**12)}", "max(*range(10**12))", "zip(*range(10**12))",
    # formats and texts
    "'{:>1001}'.format(1)", "'{:.1001f}'.format(1.5)", "'%1001d' % 1", "'%.1001f' % 1.5", "'%' + '9'*9999 + 'd' % 1", "('{}'*10**6).format(*range(10**6))", "s = '{0}'*1000\nwhile True: s = s.format(s)", "s = 'a'\nwhile True: s = s.replace('a', 'aa')",
    "'a'.replace('', 'b'*10**6).replace('b', 'c'*10**6)", "'a'.ljust(10**9)", "'a'.center(10**9)", "'a'.zfill(10**9)", "s = '%s'*10**5\ns % tuple(['a'*1000]*10**5)", "s = 'a'\nwhile True: s = '%s%s' % (s, s)", "s = 'a'\nwhile True: s = s.join([s, s])",
    "'{' + '0'*10**5 + '}'\n('{' + '0'*10**5 + '}').format(1)", "('{a' + '.b'*10**5 + '}').format(a=1)", "s = 'a'*10**6\nwhile True: l = s.splitlines()", "l = []\nwhile True: l.append(('a,'*10**5).split(','))",
    "str(10**4000)*300", "'%d' % 10**4000", "chr(10**12)", "ord('aa')", "print('a', end='b'*10**6)\nwhile True: print('a', end='b'*10**6)", "print(*['a'*10**5]*10**4)", "1 << 10**12", "a = 1\nwhile True: a <<= 1000", "1 >> -1", "~(1 << 5000)",
    # sorted, map, next, type, id
    "l = [3, 1, 2]\nsorted(l, key=lambda v: l.append(v) or v)\nwhile True: sorted(l, key=lambda v: l.append(v) or 1)", "l = [3, 1]\nl.sort(key=lambda v: l.clear() or v)\nwhile True: pass", "sorted([1, 2], key=lambda v: sorted([1], key=lambda w: f(w)))\ndef f(v): return f(v)",
    "f = lambda v: sorted([1], key=f)\nf(1)", "max(range(10**12), key=lambda v: -v)", "min([1, 2], key=lambda v: [[0]*10**6]*10**6)", "sorted([[0]*10**5]*10**5, key=lambda v: v*10)", "while True: id([0]*9999)", "l = []\nwhile True: id(lambda: 0)",
    "while True: type('a')", "t = type(1)\nwhile True: t = type(t)\nt.a", "getattr(x, 'a'*10**6)", "while True: getattr(x, 'sum')()", "setattr(x, 'grad', [0]*10**12)", "f = lambda: f()\nmap(f, [1])\nlist(map(lambda v: f(), [1]))", "list(map(lambda v: list(map(lambda w: 1, range(10**12))), [1]))",
    # decorators and default arguments
    "def d(f): return d(f)\n@d\ndef g(): pass", "def d(f):\n    while True: pass\n@d\nclass A: pass", "def f(a=[0]*10**12): pass", "def f(a=[i for i in range(10**12)]): pass", "import torch\nf = lambda: 0\nwhile True:\n    g = f\n    @torch.no_grad()\n    def f(): return g()",
    "import torch\ndef f(): return 1\nfor i in range(3000):\n    f = torch.no_grad()(f)\nf()", "def d(f): return lambda: f()\ng = lambda: 1\nfor i in range(3000): g = d(g)\ng()", "def d(f):\n    def w(): return f()\n    return w\ng = lambda: 1\nfor i in range(10**5): g = d(g)\ng()",
    "from functools import partial\ng = lambda: 1\nfor i in range(10**5): g = partial(g)\ng()", "from functools import reduce\nreduce(lambda a, b: a + a, range(10**12), [1])", "from itertools import product\nlist(product(range(10**6), range(10**6)))", "import itertools\nlist(itertools.count())",
    "from itertools import permutations\nlist(permutations(range(50)))", "from itertools import combinations\nlist(combinations(range(100), 50))", "from itertools import cycle\nfor i in cycle([1]): pass", "from itertools import repeat\nlist(repeat(1))", "from itertools import chain\ng = [1]\nfor i in range(10**5): g = chain(g)\nlist(g)",
    "from collections import defaultdict\nd = defaultdict(lambda: d[len(d)])\nd[0]", "from collections import defaultdict\nd = defaultdict(list)\nwhile True: d[len(d)]", "from collections import Counter\nCounter(range(10**12))", "from collections import deque\nd = deque()\nwhile True: d.append([0]*9999)",
    "from copy import deepcopy\na = []\nfor i in range(10**5): a = [a]\ndeepcopy(a)", "from copy import deepcopy\na = [0]\nfor i in range(90): a = [a, a]\nwhile True: a = deepcopy(a)", "import copy\nwhile True: copy.deepcopy(x)", "import random\nrandom.sample(range(10**12), 10**9)", "import random\nwhile True: random.random()", "import time\ntime.sleep(10**9)",
    "import warnings\nwhile True: warnings.warn('a'*10**6)", "from torch.utils.data import DataLoader\nfor b in DataLoader(range(10**12), batch_size=10**12): pass",
    "from torch.utils.data import Dataset, DataLoader\nclass D(Dataset):\n    def __len__(self): return 10**12\n    def __getitem__(self, i): return i\nfor b in DataLoader(D(), batch_size=10**12): pass",
    "from torch.utils.data import Dataset, DataLoader\nclass D(Dataset):\n    def __len__(self): return 10**12\n    def __getitem__(self, i): return i\nfor b in DataLoader(D(), shuffle=True): pass",
]  # fmt: skip
"""What would grow, loop or recurse without end in a form of its own."""

ARRAYS = ["import numpy as np\na = np.ones((3, 3))\n" + end for end in (
    "a.array", "a.__class__", "a.dtype.dtype", "a.base", "a.ctypes", "a.data", "a.tofile('x')", "a.dump('x')", "a.tobytes()", "a.setflags(write=1)", "np.ones((10**6,10**6))", "np.array(range(10**12))", "a[:, None] + np.ones(10**8)", "np.ones(10**5)[:, None] * np.ones(10**5)", "np.add(np.ones((10**5, 1)), np.ones(10**5))", "np.where(np.ones((10**5,1)) > 0, np.ones(10**5), 1)", "a.astype('object')", "a.astype(print)", "np.array([print])", "np.array(['a'])", "np.array([[1],[1,2]])", "np.random.rand(10**6, 10**6)", "np.random.normal(0, 1, (10**6, 10**6))", "np.random.normal(size=10**12)", "np.random.choice(range(10**12))", "np.random.permutation(10**12)", "np.random.randint(0, 9, 10**12)", "np.random.get_state()", "np.random.RandomState", "np.load('x')", "np.fromfile('x')", "np.memmap('x')", "np.lib", "np.ctypeslib", "np.frompyfunc(print,1,1)", "np.vectorize(print)", "np.apply_along_axis(print,0,a)", "a.sort('a')", "a[10**30]", "a['x']", "a[print]", "a.reshape(10**9)", "a.reshape('a')", "np.stack([a]*10**6)", "np.concatenate([np.ones(10**6)]*10**6)", "b = a\nwhile True: b = np.concatenate([b, b])", "b = a\nwhile True: b = b @ b", "np.matmul(np.ones((10**4,10**4)), np.ones((10**4,10**4)))", "np.sum(a, axis='x')", "np.sum(a, where=print)", "np.sum(a, dtype=object)", "np.sum(a, initial=print)", "a.sum(out=a)", "np.add(a, 1, out=3)", "np.add(a, 'a')", "np.unique('a')", "np.diag(np.ones(10**5))", "np.linalg.inv('a')", "a.item(10**9)", "a.T.T.T._x", "np.float64.__class__", "np.ndarray(3)", "np.ndarray.__new__", "type(a)(3)", "a += a[:, None]", "np.array(10**400)", "a * 10**400", "np.linspace(0, 1, 10**12)", "np.arange(10**12)", "np.eye(10**6)", "np.full((10**6,10**6), 1)", "np.zeros_like(np.ones(1).tolist()*10**9)", "np.tril(np.ones(3), 10**30)", "np.cumsum([[0]*1000]*10**6)", "a = [0]\nfor i in range(90): a = [a, a]\nnp.sum(a)", "np.count_nonzero(print)", "np.hstack(a=3)", "np.round(a, 10**30)", "np.clip(a, 'a', 'b')", "np.transpose(a, (0, 0))", "np.dot(np.ones((10**4, 10**4)), np.ones((10**4, 10**4)))", "np.expand_dims(a, 10**9)", "np.float_power(a, a, dtype=print)", "f'{a.__class__}'", "'{0.array}'.format(a)", "a.__gradcli_get__('x')", "import torch\ntorch.from_numpy('a')", "import torch\ntorch.from_numpy([1])", "import torch\nclass A(np.ndarray): pass",
)]  # fmt: skip
"""What NumPy's arrays offer of Python's insides, and what would take all memory."""

FORMS = {"escapes": ESCAPES, "uncatchable": UNCATCHABLE, "exhausting": EXHAUSTING, "arrays": ARRAYS}
"""Families of which each text ends in a Fault."""
