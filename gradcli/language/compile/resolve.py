"""Resolve names: which the program binds, which it imports, which have to be given.

The first half of compiling. The result, ``Checked``, is the tree with the set of Name nodes that
are variables of the program, the modules that it imports, and the names that are left over: those
are in the name table or are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.diagnostics.render import SyntaxFault, did_you_mean, located
from gradcli.language.names.table import CALLED, NAMES, namespace
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import LimitFault

MOST_READ = 200_000
"""Nodes looked at for the order of names in one program; lists after that have their functions."""


def in_place(module: n.Module) -> frozenset[int]:
    """The ids of the comprehensions of a program that are computed in place."""
    found: set[int] = set()
    lambdas: set[int] = set()  # nodes that hold one
    calls: set[int] = set()
    names = set(_times_bound(module))
    read = 0
    for node in reversed(list(n.walk(module))):
        children = n.children(node)
        if isinstance(node, n.Lambda) or any(id(child) in lambdas for child in children):
            lambdas.add(id(node))
        own = isinstance(node, n.Call) and _may_call_back(node.func, names)
        if own or any(id(child) in calls for child in children):
            calls.add(id(node))
        if not isinstance(node, n.ListComp) or id(node) in lambdas or read > MOST_READ:
            continue
        inner = [node.element]
        for i, clause in enumerate(node.clauses):
            inner += [*clause.conditions, *([clause.iter] if i else [])]
        if any(id(part) in calls for part in inner):
            ordered, seen = _in_order(node)
            read += seen
            if ordered:
                found.add(id(node))
    return frozenset(found)


def _may_call_back(func: n.Node, names: set[str]) -> bool:
    """Whether what is called may run functions of the program."""
    if not isinstance(func, n.Name) or func.id in names:
        return True
    return func.id not in NAMES and func.id not in CALLED


def _in_order(node: n.ListComp) -> tuple[bool, int]:
    """Whether no variable is read before its clause sets it, and how many nodes were looked at."""
    targets = [list(n.walk(clause.target)) for clause in node.clauses]
    if not all(isinstance(t, n.Name | n.Tuple | n.List) for part in targets for t in part):
        return False, 0
    names = [{t.id for t in part if isinstance(t, n.Name)} for part in targets]
    seen = 0
    known: set[str] = set()
    for i, clause in enumerate(node.clauses):
        for part in (*([clause.iter] if i else []), *clause.conditions):
            own = names[i] if part is not clause.iter else set()
            late = set().union(*names[i:]) - known - own
            for inner in n.walk(part) if late else ():
                seen += 1
                if isinstance(inner, n.Name) and inner.id in late:
                    return False, seen
        known |= names[i]
    return True, seen


class _Scope:
    """The names that one function body (or the whole text, or a class) binds.

    outside  of a class: the scope of its methods, which do not see the names of the class
    """

    __slots__ = ("counters", "function", "names", "outside", "parent", "prefix")

    def __init__(
        self, names: set[str], parent: _Scope | None, function: bool = True,
        counters: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.names = names
        self.parent = parent
        self.function = function
        self.counters = frozenset(counters)
        self.prefix = ""
        self.outside: _Scope = self

    def binds(self, name: str) -> _Scope | None:
        """The scope that binds a name, from this one outwards."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope
            scope = scope.parent
        return None


LONGEST_PATH = 8
"""No name of a module stands deeper than this: ``torch.nn.functional.relu``."""
LONG = 1 << 16


class Checked:
    """A program with its names sorted.

    source     the text
    module     the tree
    variables  ids of the Name nodes that mean a variable the program itself binds
    outer      names that it does not bind, with their first place: the table's, or to be given
    called     those of ``outer`` that are called as functions
    modules    what each imported prefix stands for
    implied    prefixes that need no import: ``torch.sin(x)``
    imported   objects that ``from torch import ...`` brought in, by name
    bound      names that the top level binds, with the place of the last binding
    counters   ids of the Name nodes that are surely a whole number of at most 64 bits: variables
               that nothing but ``for i in range(...)`` binds
    functions  how many functions, lambdas and comprehensions there are
    in_place   ids of the comprehensions that are computed in place
    renamed    what the variables of those are called in generated code, by the id of the Name node
    shared     names that functions declare ``global``
    written    those, and the ones that they declare ``nonlocal``
    prefixes   of each class, by the id of its node: how the names it binds begin in generated code
    data       whether the tree holds a ``Data``, of which code is made and no closed form
    sums       how many different terms a ``Sum`` has: that of the tree with the most; 0 without
    """

    __slots__ = (
        "bound", "called", "counters", "data", "functions", "implied", "imported", "in_place",
        "module", "modules", "outer", "prefixes", "renamed", "shared", "source", "sums",
        "variables", "written",
    )  # fmt: skip

    def __init__(self, source: Source, module: n.Module) -> None:
        self.source = source
        self.module = module
        self.variables: set[int] = set()
        self.outer: dict[str, n.Name] = {}
        self.called: set[str] = set()
        self.modules: dict[str, str] = {}
        self.implied: dict[str, str] = {}
        self.imported: dict[str, Any] = {}
        self.bound: dict[str, n.Node] = {}
        self.counters: set[int] = set()
        self.functions = 0
        self.in_place: frozenset[int] = frozenset()
        self.renamed: dict[int, str] = {}
        self.shared: set[str] = set()
        self.written: set[str] = set()
        self.prefixes: dict[int, str] = {}
        self.data = False
        self.sums = 0

    @property
    def long(self) -> bool:
        """Whether making code of the text takes longer than most runs of it."""
        return len(self.source.text) > LONG

    @property
    def free(self) -> list[str]:
        """Names that have to be given: neither bound here nor in the name table."""
        return [name for name in self.outer if name not in NAMES and name not in self.called]

    def in_module(self, node: n.Node) -> tuple[n.Name, str] | None:
        """``torch`` and ``"linalg.norm"`` for a chain of attributes that begins with a module."""
        if not self.modules:
            return None
        path: list[str] = []
        while isinstance(node, n.Attribute) and len(path) <= LONGEST_PATH:
            path.append(node.name)
            node = node.value
        if not isinstance(node, n.Name) or node.id not in self.modules:
            return None
        return None if id(node) in self.variables else (node, ".".join(reversed(path)))

    def _roots(self) -> set[str]:
        """The packages of the imported prefixes."""
        own = (m for name, m in self.modules.items() if name not in self.implied)
        return {module.partition(".")[0] for module in own}

    @property
    def uses_torch(self) -> bool:
        """Whether the program says ``import torch``: then float literals make float32 tensors."""
        return not {"torch", "gradcli"}.isdisjoint(self._roots())

    @property
    def says_torch(self) -> bool:
        """Whether it is ``torch`` that the program imports: then types print as PyTorch's."""
        return "torch" in self._roots() or self._takes_from("torch")

    @property
    def uses_numpy(self) -> bool:
        """Whether it has functions of NumPy's, with an import or without."""
        roots = {module.partition(".")[0] for module in self.modules.values()}
        return "numpy" in roots or self._takes_from("numpy")

    def _takes_from(self, package: str) -> bool:
        """Whether the text has ``from package import ...``."""
        return any(
            isinstance(one, n.FromImport) and one.module.partition(".")[0] == package
            for one in self.module.body
        )

    @property
    def last_assigned(self) -> str:
        """The variable that the last line assigns, or "": a text that ends so means that."""
        last = self.module.body[-1] if self.module.body else None
        if isinstance(last, n.Assign) and isinstance(last.targets[0], n.Name):
            return last.targets[0].id
        return ""

    def require(self, given: Iterable[str]) -> None:
        """Check that every name is known, given ``given``.

        Raises SyntaxFault E0201 or E0202 for the first that is not, with those after it in
        ``further``.
        """
        given = set(given)
        missing = [
            node for name, node in self.outer.items()
            if name not in given and name not in NAMES
            and not (name in CALLED and name in self.called)
        ]  # fmt: skip
        if missing:
            # Needed after an error only.
            from gradcli.language.diagnostics.unknown_names import MOST, unknown

            known = [*self.bound, *given]
            faults = [
                unknown(self.source, node, node.id in self.called, given, known)
                for node in missing[:MOST]
            ]
            faults[0].further = faults[1:]
            raise faults[0]


def check(source: Source, module: n.Module, before: Checked | None = None) -> Checked:
    """Sort the names of a parsed text. Raises SyntaxFault for what stands in the wrong place.

    ``before`` is what a session had before this text: its imports go on.
    """
    module = _aliased(module, before)
    names = _assigned(module.body)
    checked = Checked(source, module)
    if "global" in source.text or "nonlocal" in source.text:
        outer = [one for one in n.walk(module) if isinstance(one, n.Outer)]
        checked.written = {name for one in outer for name in one.names}
        checked.shared = {name for one in outer if one.word == "global" for name in one.names}
        names |= checked.shared
    if before is not None:
        gone = {*names, *before.implied}
        checked.modules = {k: v for k, v in before.modules.items() if k not in gone}
        checked.imported = {k: v for k, v in before.imported.items() if k not in names}
    statements = list(n.statements(module.body, inner=True))
    _imports(checked, statements)
    single = len(statements) == 1 and statements[0].__class__ is n.ExprStmt
    checked.implied = {
        name: prefix for name, prefix in _implied(source, module, single).items()
        if name not in checked.modules and name not in checked.imported
        and (before is None or name not in before.bound)
    }  # fmt: skip
    checked.modules |= checked.implied
    top = _Scope(names, None, False, _counting(module.body, names))
    for statement in statements:
        for target in _targets(statement):
            if isinstance(target, n.Name):
                checked.bound[target.id] = target
    if "for" in source.text and any(node.__class__ is n.ListComp for node in n.walk(module)):
        checked.in_place = in_place(module)
    for name in checked.bound:
        if name not in top.names:
            checked.bound = {k: v for k, v in checked.bound.items() if k in top.names}
            break
    for name in checked.modules:
        if name in top.names:
            place = checked.bound.get(name, module)
            said = f"`{name}` is an imported module and cannot be assigned"
            mend = "choose another name for the variable"
            raise SyntaxFault("E0205", said, source, place.start, place.end, help=mend)
    work: _Work = [(s, top, False) for s in reversed(module.body)]
    while work:
        node, scope, loop = work.pop()
        note = _NOTES.get(node.__class__)
        if note is not None:
            note(checked, node, scope, loop)
        visit = _VISITS.get(node.__class__)
        if visit is None:
            work += [(child, scope, loop) for child in reversed(n.children(node))]
        else:
            visit(checked, node, scope, loop, work)
    return checked


_Work = list[tuple[n.Node, _Scope, bool]]
"""What is still to be looked at: a node, the scope that it stands in, and whether in a loop."""


def _check_place(checked: Checked, node: n.Node, scope: _Scope, loop: bool) -> None:
    """Whether a statement may stand where it does. Raises SyntaxFault (E0160, E0161)."""
    code = said = help = ""
    if isinstance(node, n.Return) and not scope.function:
        code, said = "E0160", "`return` outside a function"
        help = "to show a value, write print(...); the last expression is the result"
    elif isinstance(node, n.Yield) and not scope.function:
        code, said = "E0160", "`yield` outside a function"
        help = "a list is made with [x for x in items], or by append in a loop"
    elif isinstance(node, n.Break | n.Continue) and not loop:
        word = type(node).__name__.lower()
        code, said = "E0161", f"`{word}` outside a loop"
        help = f"`{word}` stands in the body of a while or for"
    if code:
        raise SyntaxFault(code, said, checked.source, node.start, node.end, help=help)


def _note_name(checked: Checked, node: n.Name, scope: _Scope, _loop: bool) -> None:
    """A variable of the program where a scope binds it, else a name from outside."""
    if node.id == "__name__":
        return
    binding = scope.binds(node.id)
    if binding is not None:
        checked.variables.add(id(node))
        if binding.prefix:
            checked.renamed[id(node)] = f"{binding.prefix}{node.id}"
        if node.id in binding.counters and not scope.binds("range"):
            checked.counters.add(id(node))
    elif node.id not in checked.modules and node.id not in checked.imported:
        checked.outer.setdefault(node.id, node)


def _note_call(checked: Checked, node: n.Call, scope: _Scope, _loop: bool) -> None:
    """A name that is called, and is not the program's own, is a function's."""
    if isinstance(node.func, n.Name) and not scope.binds(node.func.id):
        checked.called.add(node.func.id)


def _note_compare(checked: Checked, node: n.Compare, _scope: _Scope, _loop: bool) -> None:
    if len(node.ops) > MOST_COMPARED:
        said = f"more than {MOST_COMPARED:,} comparisons in a row"
        fault = LimitFault("E0604", said, help="write all(...) of a list, or a loop")
        raise located(fault, checked.source, node.start, node.left.end)


def _note_long(checked: Checked, node: n.Sum | n.Data, _scope: _Scope, _loop: bool) -> None:
    checked.data |= isinstance(node, n.Data)
    if isinstance(node, n.Sum):
        checked.sums = max(checked.sums, len(node.terms))


def _visit_function(
    checked: Checked, node: n.Def | n.Lambda, scope: _Scope, loop: bool, work: _Work
) -> None:
    """A function's body in a scope of its own; its defaults and decorators in the one around."""
    _count(checked, node)
    names = {p.name for p in node.params}
    body: tuple[n.Node, ...]
    decorators: tuple[n.Expr, ...] = ()
    counters: Iterable[str] = ()
    if isinstance(node, n.Def):
        own = _assigned(node.body)
        counters = _counting(node.body, own - names)
        names |= own
        body, decorators = node.body, node.decorators
    else:
        body = (node.body,)
    inner = _Scope(names, scope.outside, True, counters)
    work += [(p.default, scope, loop) for p in reversed(node.params) if p.default is not None]
    work += [(s, inner, False) for s in reversed(body)]
    in_class = scope.outside is not scope
    work += [
        (d, scope, loop) for d in decorators
        if not (in_class and isinstance(d, n.Name) and d.id in METHOD_MARKS)
    ]  # fmt: skip


def _visit_class(
    checked: Checked, node: n.ClassDef, scope: _Scope, loop: bool, work: _Work
) -> None:
    _count(checked, node)
    inner = _Scope(_assigned(node.body), scope, False)
    inner.prefix = checked.prefixes[id(node)] = f"c{checked.functions}_"
    inner.outside = scope.outside
    work += [(s, inner, False) for s in reversed(node.body)]
    work += [(s, scope, loop) for s in (*node.bases, *node.decorators)]


def _visit_annotation(
    _checked: Checked, node: n.Annotation, scope: _Scope, loop: bool, work: _Work
) -> None:
    work += [(part, scope, loop) for part in (node.target, node.value) if part is not None]


def _visit_comprehension(
    checked: Checked, node: n.Comprehension, scope: _Scope, _loop: bool, work: _Work
) -> None:
    """All of it but what the first clause goes over stands in a scope of its own."""
    for _ in node.clauses:
        _count(checked, node)
    inner = _Scope(
        {t.id for c in node.clauses for t in n.walk(c.target) if isinstance(t, n.Name)},
        scope.outside, scope.function, _counted_by(node.clauses),
    )  # fmt: skip
    if id(node) in checked.in_place:
        inner.prefix = f"c{checked.functions}_"
    work.append((node.element, inner, False))
    for i, clause in enumerate(node.clauses):
        work.append((clause.iter, scope if i == 0 else inner, False))
        work += [(c, inner, False) for c in (clause.target, *clause.conditions)]


def _visit_loop(
    _checked: Checked, node: n.While | n.For, scope: _Scope, loop: bool, work: _Work
) -> None:
    """The ``else`` of a loop is no part of it."""
    work += [(child, scope, loop) for child in reversed(node.orelse)]
    later = {id(child) for child in node.orelse}
    inside = [child for child in n.children(node) if id(child) not in later]
    work += [(child, scope, True) for child in reversed(inside)]


METHOD_MARKS = ("staticmethod", "classmethod", "property")
"""The decorators that say what kind of method stands under them."""


def _note_outer(checked: Checked, node: n.Outer, scope: _Scope, _loop: bool) -> None:
    """Check ``global`` and ``nonlocal``: each name is bound where they say."""
    top = scope
    while top.parent is not None:
        top = top.parent
    for name in node.names:
        found = scope.binds(name)
        wanted = found is top if node.word == "global" else found not in (None, top)
        if not wanted:
            what = "the top of the program" if node.word == "global" else "a function around it"
            said = f"`{node.word} {name}` means no variable of {what}"
            mend = "choose another name, or give the value as a parameter"
            raise SyntaxFault("E0165", said, checked.source, node.start, node.end, help=mend)


_NOTES: dict[type, Callable[[Checked, Any, _Scope, bool], None]] = {
    n.Name: _note_name, n.Call: _note_call, n.Sum: _note_long, n.Data: _note_long,
    n.Outer: _note_outer, n.Compare: _note_compare,
    **dict.fromkeys((n.Return, n.Yield, n.Break, n.Continue), _check_place),
}  # fmt: skip
"""The nodes that say something, or may not stand everywhere."""
_VISITS: dict[type, Callable[[Checked, Any, _Scope, bool, _Work], None]] = {
    n.Annotation: _visit_annotation,
    n.While: _visit_loop, n.For: _visit_loop, n.Def: _visit_function, n.Lambda: _visit_function,
    n.ClassDef: _visit_class,
    **dict.fromkeys((n.ListComp, n.SetComp, n.DictComp, n.GeneratorExp), _visit_comprehension),
}  # fmt: skip
"""The nodes whose children do not all stand in the scope around."""


def _aliased(module: n.Module, before: Checked | None) -> n.Module:
    """The program with ``F = torch.nn.functional`` read as ``import torch.nn.functional as F``.

    Only where nothing else binds F, and torch is bound by imports alone.
    """
    known: dict[str, str] = {} if before is None else dict(before.modules)
    body = list(module.body)
    bound: dict[str, int] | None = None
    one: Any
    for i, one in enumerate(body):
        if one.__class__ is n.Import:
            root = one.module.partition(".")[0]
            known[one.alias or root] = one.module if one.alias else root
            continue
        root, _, rest = _path(one).partition(".")
        if root not in known or rest in (namespace(known[root]) or ()):
            continue
        whole, name = f"{known[root]}.{rest}", one.targets[0].id
        if namespace(whole) is None:
            continue
        bound = _times_bound(module) if bound is None else bound
        if bound[name] == 1 and not bound.get(root):
            body[i] = n.Import(whole, name, one.start, one.end)
            known[name] = whole
            del bound[name]
    return module if bound is None else n.Module(tuple(body), module.start, module.end)


def _path(node: n.Statement) -> str:
    """``"torch.nn.functional"`` where that is given to a single name, else an empty string."""
    if node.__class__ is not n.Assign or len(node.targets) != 1:
        return ""
    if node.targets[0].__class__ is not n.Name or node.value.__class__ is not n.Attribute:
        return ""
    return n.dotted_text(node.value)


def _times_bound(module: n.Module) -> dict[str, int]:
    """How many places of a program bind each name, imports of a whole module apart."""
    found: dict[str, int] = {}
    for node in n.walk(module):
        names = [target.id for target in _targets(node) if isinstance(target, n.Name)]
        if isinstance(node, n.Def | n.ClassDef | n.FunctionClass | n.Param):
            names.append(node.name)
        elif isinstance(node, n.FromImport):
            names += [alias or name for name, alias in node.names]
        for name in names:
            found[name] = found.get(name, 0) + 1
    return found


_PREFIXES = {
    "torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "np": "numpy",
    "numpy": "numpy", "math": "math",
    **{name: f"torch.{name}" for name in ("linalg", "special", "fft", "masked")},
}  # fmt: skip
_NAMED_SO_TOO = frozenset(_PREFIXES) - {"torch", "np", "numpy", "math"}
"""Those of them that a variable may be called as well."""


def _implied(source: Source, module: n.Module, single: bool) -> dict[str, str]:
    """The usual prefixes by which functions are called: ``np.sin(x)``.

    What the program binds is no prefix. ``F`` may be a variable: before the name of a method, and
    in a program, it is no prefix.
    """
    found: dict[str, str] = {}
    if not any(f"{prefix}." in source.text for prefix in _PREFIXES):
        return found
    for node in n.walk(module):
        path: list[str] = []
        inner: Any = node
        while inner.__class__ is n.Attribute and len(path) < 4:
            path.append(inner.name)
            inner = inner.value
        if path and inner.__class__ is n.Name and inner.id in _PREFIXES:
            prefix = _PREFIXES[inner.id]
            known = ".".join(reversed(path)) in (namespace(prefix) or ())
            if inner.id not in _NAMED_SO_TOO:
                known = True
            elif single:
                known = known or not hasattr(Tensor, path[-1])
            else:
                known = known and inner.id not in ("F", "nn")
            if known:
                found[inner.id] = prefix
    bound = _times_bound(module) if found and not single else {}
    return {name: prefix for name, prefix in found.items() if name not in bound}


def _imports(checked: Checked, statements: Iterable[n.Statement]) -> None:
    for node in statements:
        if isinstance(node, n.Import):
            if namespace(node.module) is None:
                said = f"there is no module `{node.module}` here"
                help = _module_help(node.module)
                raise SyntaxFault("E0163", said, checked.source, node.start, node.end, help=help)
            name = node.alias or node.module.partition(".")[0]
            checked.modules[name] = node.module if node.alias else name
            checked.imported.pop(name, None)
        elif isinstance(node, n.FromImport):
            table = namespace(node.module) or {}
            for name, alias in node.names:
                if name in table:
                    checked.imported[alias or name] = table[name]
                    checked.modules.pop(alias or name, None)
                elif namespace(f"{node.module}.{name}") is not None:
                    checked.modules[alias or name] = f"{node.module}.{name}"
                else:
                    mend = did_you_mean(name, table, _module_help(name), "`{}`")
                    raise SyntaxFault(
                        "E0163", f"`{node.module}` has no `{name}` here", checked.source,
                        node.start, node.end, help=mend,
                    )  # fmt: skip


MOST_COMPARED = 1000
"""The most comparisons of one chain: each is a statement of generated code."""
MOST_FUNCTIONS = 2000
"""The most functions, lambdas and clauses of comprehensions of one program: CPython's own compiler
takes the square of their number, and recurses on the C stack from one clause to the next."""


def _count(checked: Checked, node: n.Node) -> None:
    checked.functions += 1
    if checked.functions > MOST_FUNCTIONS:
        fault = LimitFault(
            "E0604", f"the program has more than {MOST_FUNCTIONS:,} functions, lambdas and lists "
            "with for, each `for` counted",
            help="write one function with parameters, or a loop",
        )  # fmt: skip
        raise located(fault, checked.source, node.start, node.start + 1)


def _module_help(dotted: str) -> str:
    from gradcli.language.diagnostics.foreign_names import module_help  # needed after an error only

    return module_help(dotted) or "torch, numpy and math can be imported"


def _assigned(body: Iterable[n.Statement]) -> set[str]:
    """The names that statements bind in their own scope, not in functions defined inside."""
    names: set[str] = set()
    outer: set[str] = set()
    for node in n.statements(body):
        for target in _targets(node):
            if isinstance(target, n.Name):
                names.add(target.id)
        if isinstance(node, n.Def | n.ClassDef | n.FunctionClass):
            names.add(node.name)
        elif isinstance(node, n.Outer):
            outer.update(node.names)
    return names - outer


def _counting(body: Iterable[n.Statement], names: set[str]) -> set[str]:
    """Those of ``names`` that nothing but ``for name in range(...)`` binds in a body."""
    found = set(names)
    for node in n.statements(body):
        if isinstance(node, n.Def | n.ClassDef):
            # What it declares nonlocal it may bind.
            for inner in n.walk(node):
                if isinstance(inner, n.Outer):
                    found -= set(inner.names)
        if isinstance(node, n.Def | n.ClassDef | n.FunctionClass):
            found.discard(node.name)
        elif not (isinstance(node, n.For) and _over_range(node)):
            found -= {t.id for t in _targets(node) if isinstance(t, n.Name)}
    return found


def _counted_by(clauses: Iterable[n.Clause]) -> list[str]:
    """The names that clauses of a comprehension bind to numbers of a range, each once."""
    clauses = list(clauses)
    targets = [t.id for c in clauses for t in _targets(c) if isinstance(t, n.Name)]
    ranged = [c.target.id for c in clauses if isinstance(c.target, n.Name) and _over_range(c)]
    return [name for name in ranged if targets.count(name) == 1]


def _over_range(loop: Any) -> bool:
    """Whether a loop or a clause has one name that goes over a call of ``range``."""
    return isinstance(loop.target, n.Name) and n.called(loop.iter) == "range"


def _targets(node: n.Node) -> list[n.Expr]:
    """The single targets that a statement or a clause binds, tuples opened."""
    if isinstance(node, n.Assign | n.Del):
        found = list(node.targets)
    elif isinstance(node, n.AugAssign | n.For | n.Annotation | n.Clause):
        found = [node.target]
    elif isinstance(node, n.With):
        found = [item.target for item in node.items if item.target is not None]
    elif isinstance(node, n.Try):
        found = [one.name for one in node.handlers if one.name is not None]
    else:
        return []
    single = []
    while found:
        target = found.pop()
        if isinstance(target, n.Tuple | n.List):
            found += target.items
        elif isinstance(target, n.Starred):
            found.append(target.value)
        else:
            single.append(target)
    return single
