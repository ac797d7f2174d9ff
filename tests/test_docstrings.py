"""The examples in docstrings run and give what they show."""

from __future__ import annotations

import doctest
import functools
import importlib
import pkgutil

import gradcli
from gradcli.engine import dtypes
from tests.support.families import family
from tests.support.recorded import difference

MODULES = [
    "gradcli",
    *sorted(
        module.name
        for module in pkgutil.walk_packages(gradcli.__path__, "gradcli.")
        if module.name not in ("gradcli.__main__", "gradcli.language.syntax.tables")
    ),
]


class Checker(doctest.OutputChecker):
    """An example gives what it shows, but for a last digit."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, got, optionflags) or not difference(got, want)


@functools.cache
def examples(name):
    """The docstrings with examples that a module itself defines."""
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    return [t for t in finder.find(module, name, module=module) if t.examples]


def test_there_are_examples():
    assert sum(len(examples(name)) for name in MODULES) >= 20


@family("name", MODULES, by=lambda name: ".".join(name.split(".")[:2]))
def test_examples_of_a_module(name):
    before = dtypes.get_default_dtype()
    runner = doctest.DocTestRunner(Checker(), verbose=False)
    said: list[str] = []
    for test in examples(name):
        runner.run(test, out=said.append)
    dtypes.set_default_dtype(before)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
