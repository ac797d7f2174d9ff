"""A family of small cases as one test, or as one test a group: all run, and all that fail are told.

A test costs some milliseconds besides what it does, in collecting, reporting and handing it to a
worker; a case of a family mostly takes less than that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from gradcli.engine import dtypes


def family(
    names: str,
    cases: Iterable[Any],
    *,
    by: Callable[..., object] | None = None,
    long: Iterable[Any] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with every case inside one test, or inside one test for each value of ``by``.

    ``names`` and ``cases`` are those of ``pytest.mark.parametrize``; ``by`` takes a case's values
    and gives the name of its group. ``long`` are more cases, for ``-m long`` alone. Fixtures are
    set up once a group, so that a case has to leave them as they were; only the default dtype is
    put back after each case. ``check`` and ``cases`` of the test are for who wants one case alone.

    Raises at the end of a group: an exception group of what the cases raised, each with a note
    that names its case.
    """
    parts = [part.strip() for part in names.split(",")]

    def values(case: Any) -> tuple:
        return tuple(case) if len(parts) > 1 else (case,)

    groups: dict[str, list[tuple]] = {}
    every = [*map(values, cases)]
    for case in every:
        groups.setdefault(str(by(*case)) if by else "all", []).append(case)
    assert groups, "a family without cases checks nothing"
    params = [pytest.param(group, id=name) for name, group in groups.items()]
    if long is not None:
        params.append(pytest.param([*map(values, long)], id="long", marks=pytest.mark.long))

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(check)
        others = [p for name, p in signature.parameters.items() if name not in parts]

        def test(**given: Any) -> None:
            group = given.pop("group") if len(params) > 1 else params[0].values[0]
            _run(group, lambda case: check(**dict(zip(parts, case, strict=True)), **given))

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        test.__module__, test.__qualname__ = check.__module__, check.__qualname__
        test.__dict__.update(check.__dict__)
        test.check, test.cases = check, every
        if len(params) == 1:
            test.__signature__ = signature.replace(parameters=others)
            return test
        own = inspect.Parameter("group", inspect.Parameter.KEYWORD_ONLY)
        test.__signature__ = signature.replace(parameters=[*others, own])
        return pytest.mark.parametrize("group", params)(test)

    return decorate


def _run(group: list[tuple], check: Callable[[tuple], None]) -> None:
    before = dtypes.get_default_dtype()
    failures = []
    for case in group:
        try:
            check(case)
        except pytest.skip.Exception:
            pass  # as of a test: it is not for this case
        except (Exception, pytest.fail.Exception) as failure:
            failure.add_note(f"case: {case!r}")
            failures.append((case, failure))
        dtypes.set_default_dtype(before)
    if failures:
        lines = [f"{case!r}: {type(f).__name__}: {str(f).strip()[:200]}" for case, f in failures]
        raise BaseExceptionGroup(
            "\n".join([f"{len(failures)} of {len(group)} cases fail", *lines]),
            [failure for _, failure in failures],
        )
