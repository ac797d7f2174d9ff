"""Results of several tensors that print under PyTorch's names: ``torch.return_types.max(...)``."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

FIELDS = {
    name: tuple(fields.split())
    for names, fields in (
        ("cummax cummin kthvalue max median min mode nanmedian sort topk", "values indices"),
        ("aminmax", "min max"),
        ("frexp", "mantissa exponent"),
        ("geqrf", "a tau"),
        ("histogram histogramdd", "hist bin_edges"),
        ("linalg_cholesky_ex", "L info"),
        ("linalg_eig linalg_eigh", "eigenvalues eigenvectors"),
        ("linalg_inv_ex", "inverse info"),
        ("linalg_ldl_factor", "LD pivots"),
        ("linalg_ldl_factor_ex", "LD pivots info"),
        ("linalg_lstsq", "solution residuals rank singular_values"),
        ("linalg_lu lu_unpack", "P L U"),
        ("linalg_lu_factor", "LU pivots"),
        ("linalg_lu_factor_ex _lu_with_info", "LU pivots info"),
        ("linalg_qr qr", "Q R"),
        ("linalg_slogdet slogdet", "sign logabsdet"),
        ("linalg_solve_ex", "result info"),
        ("linalg_svd", "U S Vh"),
        ("svd", "U S V"),
        ("triangular_solve", "solution cloned_coefficient"),
        ("TensorMetadata", "shape dtype device is_nested_tensor is_cpp_nested_tensor"),
    )
    for name in names.split()
}
"""The places of what a function gives, by its name."""


class Results(tuple[Any, ...]):
    """A tuple whose places have names; each class is that of one function, and has its name."""

    __slots__ = ()
    fields: tuple[str, ...] = ()
    n_unnamed_fields = 0

    def __new__(cls, places: Iterable[Any]) -> Results:
        """Raises TypeError for more or fewer places than there are names."""
        out = super().__new__(cls, places)
        if (n := len(cls.fields)) != len(out):
            name = f"gradcli.return_types.{cls.__name__}()"
            raise TypeError(f"{name} takes a {n}-sequence ({len(out)}-sequence given)")
        return out

    def __repr__(self) -> str:
        places = ",\n".join(f"{f}={v!r}" for f, v in zip(self.fields, self, strict=True))
        return f"gradcli.return_types.{type(self).__name__}(\n{places})"

    __str__ = __repr__


_made: dict[str, type[Results]] = {}


def return_type(name: str) -> type[Results]:
    """The class of what the function ``name`` gives. Raises KeyError for one of no such class."""
    kind = _made.get(name)
    if kind is None:
        fields = FIELDS[name]
        body: dict[str, Any] = {
            "fields": fields, "__module__": "gradcli.return_types", "__slots__": (),
        }  # fmt: skip
        body["n_fields"] = body["n_sequence_fields"] = len(fields)
        for i, field in enumerate(fields):
            body[field] = property(itemgetter(i), doc="A place of the tuple.")
        kind = _made.setdefault(name, type(name, (Results,), body))
    return kind


def results(name: str, **places: Any) -> Results:
    """The results of the function ``name``, in the order of its ``FIELDS``.

    Example:
        >>> results("linalg_slogdet", sign=1.0, logabsdet=0.5).sign
        1.0
    """
    return return_type(name)(places.values())
