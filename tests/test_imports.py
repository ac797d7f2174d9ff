"""Importing a module of gradcli changes nothing in the process but what is imported.

What the command line wants of the process (the collector at rest, OpenBLAS's threads asleep) its
``main()`` sets when it runs.
"""

from __future__ import annotations

import subprocess
import sys

_WALK = """
import gc, importlib, json, os, pkgutil, signal, sys, warnings

def walk():
    import gradcli
    for found in pkgutil.walk_packages(gradcli.__path__, "gradcli."):
        yield found.name
        importlib.import_module(found.name)
"""

_LIST = (
    _WALK
    + """
before = set(sys.modules)
list(walk())
print(json.dumps([m for m in sys.modules if m not in before and m.partition(".")[0] != "gradcli"]))
"""
)

_COMPARE = (
    _WALK
    + """
import builtins, contextlib, threading
for name in json.load(sys.stdin):
    with contextlib.suppress(ModuleNotFoundError):  # what extension modules put there by hand
        importlib.import_module(name)
import numpy as np

def state():
    return {
        "gc": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()),
        "environ": dict(os.environ),
        "warnings": (list(warnings.filters), warnings.showwarning, warnings.formatwarning),
        "sys": [getattr(sys, name) for name in (
            "stdin", "stdout", "stderr", "excepthook", "displayhook", "unraisablehook", "path",
            "breakpointhook", "dont_write_bytecode", "pycache_prefix",
        )] + [list(sys.path), list(sys.meta_path), list(sys.path_hooks)],
        "limits": (
            sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits(),
            threading.stack_size(), sys.gettrace(), sys.getprofile(), threading.excepthook,
        ),
        "signals": {s: signal.getsignal(s) for s in signal.valid_signals()},
        "numpy": (np.geterr(), np.geterrcall(), np.get_printoptions()),
        "threads": threading.active_count(),
        "directory": os.getcwd(),
    }

def contents(module):
    return {k: id(v) for k, v in vars(module).items() if not k.startswith("__")}

others = {name: m for name, m in sys.modules.items() if m is not sys.modules["__main__"]}
inside = {name: contents(m) for name, m in others.items()}
before = state()

def compare(name):
    for module, known in inside.items():
        now = contents(others[module])
        changed = [k for k, v in known.items() if now.get(k) != v]
        lazy = "__getattr__" in vars(others[module])  # it fills itself
        added = [
            k for k in now if k not in known and not lazy and f"{module}.{k}" not in sys.modules
        ]
        assert not changed and not added, (name, module, changed, added)
    for module in [m for m in sys.modules if m.partition(".")[0] == "gradcli" and m not in inside]:
        others[module] = sys.modules[module]
        inside[module] = contents(others[module])

for number, name in enumerate(walk()):
    after = state()
    for part in before:
        assert before[part] == after[part], (name, part, before[part], after[part])
    if number % 20 == 0:  # each comparison looks at all names of all modules
        compare(name)
compare(name)
print(sum(name.partition(".")[0] == "gradcli" for name in inside))
"""
)

_AT_ONCE = """
import importlib, random, sys, threading
sys.setswitchinterval(1e-5)
names = '''
    autograd autograd.forward_ad autograd.function autograd.functional autograd.graph batch func
    nn nn.functional nn.init nn.utils nn.utils.parametrize optim optim.lr_scheduler fft linalg
    masked random return_types special testing utils.checkpoint utils.data jit language symbolic
    engine functions ops surface symbolic.closed_form transforms
'''.split()
ready = threading.Barrier(8)
failed = []

def work(turn):
    order = random.Random(turn).sample(names, len(names))
    ready.wait()
    for name in order:
        try:
            importlib.import_module("gradcli." + name)
        except Exception as error:
            failed.append((name, error))

threads = [threading.Thread(target=work, args=(turn,)) for turn in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not failed, failed
"""


def _python(code: str, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], input=given, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    return done.stdout


def test_importing_changes_nothing_else():
    assert int(_python(_COMPARE, _python(_LIST))) > 300


def test_a_star_brings_what_is_loaded_late_too():
    names = {}
    exec("from gradcli import *\nfrom gradcli.func import *", names)
    assert names["unravel_index"] and names["sin"] and names["functional_call"]
    assert "LATER" not in names and "public_operators" not in names


def test_threads_import_public_modules_at_once():
    for _ in range(3):
        _python(_AT_ONCE)
