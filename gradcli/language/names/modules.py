"""``torch.nn``, ``torch.nn.init`` and ``torch.nn.utils`` for programs.

Each layer is a subclass of the Python module that checks the arguments of its calls. A class of the
program that derives from ``nn.Module`` or a layer is a record (``records.ClassRecord``); what it
makes is an instance of one fixed subclass of that layer, which asks the record for ``forward`` and
the other methods. Attributes are looked up in the record, in the fields that the program assigned,
among parameters, buffers and modules, and in the tables: never as attributes of a Python object.

Each table imports what it holds when a program first asks for it.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from typing import Any

from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.limits.sizes import SHORT, WALKED, Lazy, as_list, check_nested
from gradcli.language.names import argument_checks, attributes, mappings
from gradcli.language.names.calling import called, checking, named
from gradcli.language.names.context_managers import CONTEXTS
from gradcli.language.names.exceptions import UnknownAttribute, unknown
from gradcli.language.names.records import NOTHING, text_of
from gradcli.ops.errors import TypeFault, bad_type
from gradcli.ops.memory_budget import step

_CALLED = (
    "zero_grad", "train", "eval", "requires_grad_", "double", "float", "half", "cpu", "to",
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "reset_parameters", "reset_running_stats", "apply",
    "state_dict", "load_state_dict", "register_buffer", "register_parameter", "add_module",
    "register_module", "get_submodule", "get_parameter", "extra_repr", "type", "forward",
    "has_uninitialized_params",
)  # fmt: skip
_LISTED = (
    "parameters", "named_parameters", "buffers", "named_buffers", "children", "named_children",
    "modules", "named_modules", "keys", "values", "items",
)  # fmt: skip
_OF_LISTS = ("append", "extend", "insert", "pop", "update", "clear")
_HELD = {
    "_parameters": "register_parameter", "_buffers": "register_buffer", "_modules": "add_module",
}  # fmt: skip
_RESERVED = frozenset((
    *_HELD, "_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks",
    "_not_saved",
))  # fmt: skip
"""What a Module keeps under its own attributes: no program assigns them."""
_RECORD, _FIELDS = "__gradcli_record__", "__gradcli_fields__"
_PLAIN = (bool, int, float, str, type(None), tuple)


def _option(value: Any) -> Any:
    """An argument of a layer: numbers, short lists of them, words, tensors, other layers."""
    return argument_checks.checked_option(
        as_list(value) if value.__class__ in (range, Lazy) else value
    )


def _made(kind: Any) -> type:
    """``kind`` for programs: its calls are looked at, its attributes are in the tables."""

    name = kind.__name__

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        checking(functools.partial(kind.__init__, self), _option)(*args, **options)

    def __call__(self: Any, *args: Any, **options: Any) -> Any:
        look = checking(functools.partial(kind.__call__, self), lambda a: _input(a, name))
        return look(*args, **options)

    body = {
        "__init__": __init__, "__call__": __call__, "__module__": kind.__module__,
        "__gradcli_layer__": True,  # it prints as itself; one that holds others is walked over
        "__gradcli_get__": _attribute, "__gradcli_set__": _assign, "__gradcli_del__": _delete,
        "__gradcli_made_by__": staticmethod(lambda: nn()[name]),
    }  # fmt: skip
    if hasattr(kind, "becomes"):  # a lazy layer after its first call
        body["becomes"] = _kind(kind.becomes.__name__)
    if name in ("Sequential", "ModuleList"):  # model[:2] is a Sequential of the tables, too
        body["_of"] = lambda self, items: _parts(_kind(name), items)
    made = type(name, (kind,), body)
    attributes.CALL[made] = {
        **{name: getattr(kind, name) for name in _CALLED if hasattr(kind, name)},
        **{name: _walked(getattr(kind, name)) for name in _LISTED if hasattr(kind, name)},
        **{name: getattr(kind, name) for name in _OF_LISTS if hasattr(kind, name)},
        "apply": _apply,
    }
    return made


def _parts(kind: Any, items: Any) -> Any:
    if kind.__name__ == "ModuleList":
        return kind([module for _, module in items])
    return kind(OrderedDict(items))


# ---- Attributes ----------------------------------------------------------------------------------


def _attribute(self: Any, name: str) -> Any:
    """``layer.name``: of the program's class, the fields, what the layer holds, the tables."""
    own = self.__dict__
    record = own.get(_RECORD)
    fields = own.get(_FIELDS, ())
    if record is not None and (name in fields or record.find(name) is not NOTHING):
        return record.of_instance(self, fields, name)
    if name in fields:
        return fields[name]
    return _native(self, name)


class _Held(dict):
    """``layer._modules`` and the like: what is assigned to a name there is checked, and kept."""

    __slots__ = ("add", "module")
    add: Any
    module: Any

    def __setitem__(self, name: Any, value: Any) -> None:
        self.add(name, value)
        super().__setitem__(name, value)

    def __delitem__(self, name: Any) -> None:
        super().__delitem__(name)
        delattr(self.module, name)


WALKED.add(_Held)
_Held.__name__ = "dict"
attributes.CALL[_Held] = {
    name: mappings.DICT_METHODS[name] for name in ("keys", "values", "items", "get")
}


def _held(self: Any, name: str) -> _Held:
    found = _Held(self.__dict__[name])
    found.module, found.add = self, getattr(self, _HELD[name])
    return found


def _native(self: Any, name: str) -> Any:
    """The same without what the program's class and its fields hold."""
    own = self.__dict__
    if name in _HELD and name in own:
        return _held(self, name)
    for held in _HELD:
        if name in own.get(held, ()):
            return own[held][name]
    kind: Any = type(self)
    # The class of a parametrised layer is made for it alone.
    method = (attributes.CALL.get(kind) or attributes.CALL[kind.__base__]).get(name)
    if method is not None:
        return lambda *args, **options: method(
            self, *map(argument_checks.checked_option, args), **options
        )
    if name in own and name[:1] != "_":
        held = own[name]
        if isinstance(held, _PLAIN) or hasattr(held, "__gradcli_rank__"):
            return held
    if _computed(self, name):
        return getattr(self, name)
    raise UnknownAttribute(type(self), name, self._get_name())


def _computed(self: Any, name: str) -> bool:
    """Whether a parametrization computes what the layer has under that name."""
    held = self.__dict__.get("_modules", {}).get("parametrizations")
    return held is not None and name in held and isinstance(getattr(type(self), name), property)


def _assign(self: Any, name: str, value: Any) -> None:
    """``layer.name = value``: a parameter, buffer or module where it is one, else a field."""
    own = self.__dict__
    record = own.get(_RECORD)
    if name in _RESERVED or name[:2] == "__":
        raise TypeFault("E0204", f"attribute `{name}` cannot be assigned", help="rename it")
    if record is not None and record.set_property(self, name, value):
        return
    kinds = (nn_module(), _parameters())
    kind: Any = type(self)
    if _computed(self, name):
        setattr(self, name, argument_checks.checked_data(value, name))
    elif isinstance(value, kinds) or any(name in own.get(held, ()) for held in _HELD):
        own.get(_FIELDS, {}).pop(name, None)
        kind.__setattr__(self, name, value)
    elif name == "training" and "training" in own:
        own[name] = bool(value)
    elif name in own and type(own[name]) is float and type(value) in (float, int):
        own[name] = float(value)
    elif record is None and hasattr(value, "__gradcli_rank__") and not hasattr(type(self), name):
        own[name] = value  # in the place of a parameter that was deleted
    else:
        own.setdefault(_FIELDS, {})[name] = value


def _delete(self: Any, name: str) -> None:
    """``del layer.name``."""
    fields = self.__dict__.get(_FIELDS, {})
    if name in fields:
        del fields[name]
    elif any(name in self.__dict__.get(held, ()) for held in _HELD):
        kind: Any = type(self)
        kind.__delattr__(self, name)
    else:
        raise UnknownAttribute(type(self), name, self._get_name())


def _apply(self: Any, function: Any) -> Any:
    return nn_module().apply(self, called(function, "what apply takes"))


def nn_module() -> Any:
    """``gradcli.nn.Module``, once a program has layers."""
    from gradcli.nn.modules.module import Module

    return Module


# ---- Classes of the program ----------------------------------------------------------------------


class Layers:
    """What makes the instances of the program's classes that derive from one layer."""

    __slots__ = ("kind",)

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def make(self, record: Any, args: tuple, options: dict[str, Any]) -> Any:
        """An instance of a class of the program."""
        made: Any = self.kind.__new__(self.kind)
        made.__dict__[_RECORD] = record
        made.__dict__[_FIELDS] = {}
        init = record.method("__init__")
        if init is None:
            self.kind.__init__(made, *args, **options)  # type: ignore[misc]
        elif init(made, *args, **options) is not None:
            raise bad_type("__init__() should return None", help="leave out return")
        return made

    def of_super(self, instance: Any, name: str) -> Any:
        """``super().name`` where the class before is the layer itself."""
        if name in ("__init__", "__repr__"):
            function = getattr(self.kind if name == "__init__" else nn_module(), name)
            return lambda *args, **options: function(instance, *args, **options)
        if name == "forward":
            base = self.kind.__mro__[2]  # behind the subclass and the one that checks
            return lambda *args, **options: base.forward(
                instance, *[_input(a, name) for a in args], **options
            )
        if name == "__call__":
            return lambda *args, **options: self.kind.__call__(instance, *args, **options)
        return _native(instance, name)

    def of_class(self, name: str) -> Any:
        """``Net.name`` that no class of the program holds."""
        if name not in ("__init__", "forward", "__call__", *attributes.CALL[self.kind]):
            raise unknown("type", name)
        return lambda instance, *args, **options: self.of_super(instance, name)(*args, **options)


@functools.cache
def _layers(name: str) -> Layers:
    """What makes the classes that derive from the layer of that name."""
    made = _kind(name)
    base: Any = made.__mro__[1]

    def forward(self: Any, *args: Any, **options: Any) -> Any:
        method = self.__dict__[_RECORD].method("forward")
        if method is None:
            return base.forward(self, *[_input(a, name) for a in args], **options)
        return method(self, *args, **options)

    def __call__(self: Any, *args: Any, **options: Any) -> Any:
        if "_forward_hooks" not in self.__dict__:
            raise UnknownAttribute(type(self), "_forward_hooks", self._get_name())
        return base.__call__(self, *args, **options)

    def text(method: str, otherwise: Callable) -> Callable:
        def made_text(self: Any) -> str:
            function = self.__dict__[_RECORD].method(method)
            return text_of(otherwise(self) if function is None else function(self), method)

        return made_text

    def right_inverse(self: Any) -> Callable:  # of a parametrization
        method = self.__dict__[_RECORD].method("right_inverse")
        if method is None:
            raise AttributeError("right_inverse")
        return lambda value: method(self, value)

    def operator(method: str) -> Callable:
        def apply(self: Any, *args: Any) -> Any:
            function = self.__dict__[_RECORD].method(method)
            if function is None and hasattr(base, method):
                return getattr(base, method)(self, *args)
            if function is None:
                mend = f"give its class a method def {method}(self, ...):"
                raise bad_type(f"a {self._get_name()} has no {method}", help=mend)
            return function(self, *args)

        return apply

    kind = type(
        base.__name__, (made,),
        {
            "forward": forward, "__call__": __call__, "__module__": base.__module__,
            "extra_repr": text("extra_repr", base.extra_repr),
            "__repr__": text("__repr__", base.__repr__),
            "right_inverse": property(right_inverse),
            # While a copy is made, it has no fields yet.
            "_get_name": lambda self: getattr(self.__dict__.get(_RECORD), "__name__", name),
            **{one: operator(one) for one in ("__len__", "__getitem__", "__iter__")},
        },
    )  # fmt: skip
    attributes.CALL[kind] = attributes.CALL[made]
    return Layers(kind)


def _input(value: Any, name: str) -> Any:
    """What a layer computes on: a tensor, or a tuple of them such as the state of an LSTM."""
    if value.__class__ is tuple:
        check_nested(value, SHORT)
        return tuple([argument_checks.checked_data(v, name) for v in value])
    return value if value is None else argument_checks.checked_data(value, name)


def _walked(walk: Callable) -> Callable:
    """A method that walks a module, item by item."""

    def call(self: Any, *args: Any, **options: Any) -> Lazy:
        return Lazy("generator", walk(self, *args, **options))

    return named(call, walk.__name__)


def _constructor(name: str) -> Callable:
    def make(*args: Any, **options: Any) -> Any:
        return _kind(name)(*args, **options)

    def kind() -> type:
        from gradcli import nn

        found: type = getattr(nn, name)
        return found

    make.__name__ = name
    make.__gradcli_kind__ = kind  # type: ignore[attr-defined]
    make.__gradcli_base__ = lambda: _layers(name)  # type: ignore[attr-defined]
    return make


@functools.cache
def _kind(name: str) -> type:
    from gradcli import nn

    return _made(getattr(nn, name))


def parameter(data: Any, requires_grad: bool = True) -> Any:
    """``nn.Parameter``. Raises TypeFault (E0303) for what is no tensor."""
    from gradcli.nn.parameter import Parameter

    if not isinstance(data, Tensor):
        raise bad_type(
            "a Parameter is made of a tensor", help="write nn.Parameter(torch.tensor(...))"
        )
    return Parameter(data, requires_grad)


def _parameters() -> type:
    from gradcli.nn.parameter import Parameter

    return Parameter


parameter.__name__ = "Parameter"
parameter.__gradcli_kind__ = _parameters  # type: ignore[attr-defined]


@functools.cache
def nn() -> dict[str, Any]:
    """``torch.nn``: its layers and losses by name."""
    from gradcli.nn.modules import HOME

    table = {name: _constructor(name) for name in HOME}
    return {**table, "Parameter": parameter}


def _checked(function: Callable) -> Callable:
    """A function of ``nn.utils``, ``nn.init`` or of data: of lists of tensors and numbers."""
    return named(checking(function, _option), function.__name__)


@functools.cache
def package(name: str) -> dict[str, Any]:
    """``torch.nn.init`` or ``torch.nn.utils``."""
    face = import_module(f"gradcli.nn.{name}")
    return {key: _checked(getattr(face, key)) for key in face.__all__}


CLASS = 1000
"""How many turns of a program's loop a class takes to make."""


@functools.cache
def parametrize() -> dict[str, Any]:
    """``torch.nn.utils.parametrize``: what it makes joins the tables."""
    from gradcli.nn.utils import parametrize as face

    CONTEXTS.add(face.cached)
    listed = _made(face.ParametrizationList)

    def register(module: Any, tensor_name: str, parametrization: Any, **options: Any) -> Any:
        step(CLASS)
        if not isinstance(tensor_name, str) or tensor_name[:1] == "_":
            raise bad_type("a parameter is named by a word such as 'weight'")
        face.register_parametrization(module, tensor_name, parametrization, **options)
        held = module._modules["parametrizations"]
        held.__class__ = _kind("ModuleDict")
        held[tensor_name].__class__ = listed
        return module

    register.__name__ = "register_parametrization"
    made = {name: _checked(getattr(face, name)) for name in (
        "is_parametrized", "remove_parametrizations")}  # fmt: skip
    return {**made, "register_parametrization": register, "cached": face.cached}


# ---- Data sets -----------------------------------------------------------------------------------


@functools.cache
def data() -> dict[str, Any]:
    """``torch.utils.data``: rows and batches; ``Dataset`` is a base for classes."""
    from gradcli.utils import data as face

    kinds: tuple[Any, ...] = (face.DataLoader, face.TensorDataset, face.Subset)
    WALKED.update(kinds)
    attributes.READ[face.DataLoader] = ("dataset", "batch_size", "drop_last")
    attributes.READ[face.TensorDataset] = ("tensors",)
    attributes.READ[face.Subset] = ("indices", "dataset")

    def loader(dataset: Any, *args: Any, **options: Any) -> Any:
        dataset = as_list(dataset) if dataset.__class__ is Lazy else dataset
        collate = options.get("collate_fn")
        if collate is not None:
            options["collate_fn"] = called(collate, "collate_fn")
        return face.DataLoader(dataset, *args, **options)

    def dataset(*_args: Any) -> Any:
        raise bad_type("Dataset is a base: write class Name(Dataset):")

    dataset.__gradcli_base__ = lambda: None  # type: ignore[attr-defined]
    made: dict[str, Any] = {
        "DataLoader": loader, "Dataset": dataset, "TensorDataset": _checked(face.TensorDataset),
        "Subset": _checked(face.Subset), "random_split": _checked(face.random_split),
        "default_collate": _checked(face.default_collate),
    }  # fmt: skip
    for name, function in made.items():
        function.__name__ = name
    for kind in kinds:
        made[kind.__name__].__gradcli_kind__ = functools.partial(lambda found: found, kind)
    return made
