"""P2 and P3: hostile and malformed programs end in a Fault, in bounded time and memory.

They run in a process of their own whose address space is limited: a hole fails the test, not the
machine.
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
import select
import subprocess
import sys
import time

import pytest

from gradcli.language.runtime.run import Limits, prepare
from gradcli.ops.errors import Fault, LimitFault
from tests.language.attacks.exhaustion import EXHAUSTION, MALFORMED
from tests.language.attacks.families import MORE as FAMILIES
from tests.language.attacks.forms import FORMS, HARMLESS, TAKEN_IN, UNCATCHABLE
from tests.language.attacks.functions_and_contexts import HELD
from tests.language.attacks.further import FRESH
from tests.language.attacks.program_objects import GROWS, REACHES
from tests.language.attacks.targets import OUTSIDE
from tests.support.families import family

MORE = {
    "objects": REACHES,
    **{name: [t for t in texts if t not in TAKEN_IN] for name, texts in FAMILIES.items()},
    **FORMS,
}  # fmt: skip
ROOT = pathlib.Path(__file__).resolve().parents[3]
TURNS = 3 * 10**8
"""The most processor time that one attack may take, in turns of an empty loop: 3 to 6 seconds."""
ADDRESSES = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
"""Address space is what is limited: an arena of the allocator reserves 64 MiB, one a thread."""
HANGS = 30.0
"""When a worker is given up."""
ENDING = {**OUTSIDE, **HELD, **FRESH, "taken in": HARMLESS, "objects": GROWS}
"""Texts that may end in a value where they are harmless."""

WORKER = """
import json, resource, sys, time
import gradcli
from gradcli.language.runtime.run import Limits, prepare
from gradcli.ops.errors import Fault
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 30), size + (1 << 30)))
for line in sys.stdin:
    text = json.loads(line)
    begin = time.process_time()
    try:
        x = gradcli.tensor([1.0, 2.0], requires_grad=True) * 1
        limits = Limits(steps=1_000, memory=8 << 20, output=1 << 20)
        prepare(text, "file").run({"x": x}, limits=limits)
        said = "ran"
    except Fault as fault:
        said = fault.code + " " + str(fault)
    except BaseException as problem:
        said = "RAW " + type(problem).__name__ + ": " + str(problem)[:200]
    sys.stdout.write(json.dumps([round(time.process_time() - begin, 2), said[:3000]]) + "\\n")
    sys.stdout.flush()
"""


@functools.cache
def patience():
    """Seconds of ``TURNS``, by the quickest of some shorter loops."""
    found = []
    for _ in range(5):
        begin = time.process_time()
        for _ in range(TURNS // 100):
            pass
        found.append(100 * (time.process_time() - begin))
    return min(found)


@pytest.fixture(scope="module")
def results():
    """A function of texts: what a limited process says to each, (seconds, words). All are of one
    process, as long as it lives.
    """
    worker = None

    def ended():
        if worker is not None:
            worker.kill()
            worker.communicate()

    def said_to(text):
        nonlocal worker
        if worker is None:
            worker = subprocess.Popen(
                [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True, cwd=ROOT, env={**os.environ, **ADDRESSES},
            )  # fmt: skip
        worker.stdin.write(json.dumps(text) + "\n")
        worker.stdin.flush()
        said = HANGS, "HANGS"
        if select.select([worker.stdout], [], [], HANGS)[0]:
            line = worker.stdout.readline()
            if line:
                return tuple(json.loads(line))
            said = 0.0, f"DIES {worker.wait()}"
        ended()
        worker = None
        return said

    yield lambda texts: [said_to(text) for text in texts]
    ended()


LIMITED = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="needs /proc and RLIMIT_AS"
)


@LIMITED
@pytest.mark.parametrize(
    "texts",
    [
        *(pytest.param(texts, id=name) for name, texts in MORE.items() if name != "texts"),
        pytest.param(MORE["texts"][29::48], id="some texts"),
        pytest.param(MORE["texts"], id="texts", marks=pytest.mark.long),
    ],
)
def test_each_family_ends_in_a_fault(texts, results):
    wrong = []
    for text, (seconds, said) in zip(texts, results(texts), strict=True):
        good = said.startswith("E0") and "enough memory" not in said and "<locals>" not in said
        if not good or seconds > patience():
            wrong.append((text[:160], seconds, said[:160]))
    assert not wrong


@LIMITED
@pytest.mark.parametrize(
    "every", [pytest.param(3, id="a third"), pytest.param(1, id="all", marks=pytest.mark.long)]
)
def test_exhaustion_ends_in_a_fault(every, results):
    wrong = []
    texts = [text for text in EXHAUSTION if text not in TAKEN_IN][::every]
    if every > 1:  # of those that take long to read, some
        large = [text for text in texts if len(text) > 10_000]
        texts = [text for text in texts if text not in large[1::3] + large[2::3]]
    for text, (seconds, said) in zip(texts, results(texts), strict=True):
        if not said.startswith("E0") or seconds > patience() or "enough memory" in said:
            wrong.append((text[:160], seconds, said[:160]))
    assert not wrong


@family("text", UNCATCHABLE)
def test_no_program_catches_a_limit(text):
    import gradcli

    out = []
    x = gradcli.tensor([1.0, 2.0], requires_grad=True) * 1
    limits = Limits(steps=2_000, memory=64 << 20, output=1 << 20)
    with pytest.raises(LimitFault):
        prepare(text, "file").run({"x": x}, limits=limits, write=out.append)
    assert "caught" not in "".join(out)


@family("text", [text for text in MALFORMED if text not in TAKEN_IN])
def test_malformed_text_is_a_fault(text):
    import gradcli

    x = gradcli.tensor([1.0, 2.0], requires_grad=True) * 1
    with pytest.raises(Fault) as caught:
        prepare(text, "file").run({"x": x})
    assert caught.value.code.startswith("E0")
    assert "v_" not in str(caught.value) and "Traceback" not in str(caught.value)


def test_the_corpus_is_large():
    assert len(set(EXHAUSTION)) == len(EXHAUSTION) > 200
    assert len(set(MALFORMED)) == len(MALFORMED) > 300
    assert all(len(set(texts)) == len(texts) for texts in MORE.values())
    assert sum(map(len, MORE.values())) > 900
    assert all(len(set(texts)) == len(texts) for texts in OUTSIDE.values())
    assert sum(map(len, OUTSIDE.values())) > 700
    assert all(len(set(texts)) == len(texts) > 50 for texts in HELD.values())
    assert all(len(set(texts)) == len(texts) > 50 for texts in FRESH.values())
    assert len(set(GROWS)) == len(GROWS) > 150
    assert len(ENDING) == len(OUTSIDE) + len(HELD) + len(FRESH) + 2


@LIMITED
@pytest.mark.parametrize(
    "texts",
    [
        *(pytest.param(texts, id=name) for name, texts in ENDING.items() if name != "nesting"),
        pytest.param(ENDING["nesting"][2::24], id="some nesting"),
        pytest.param(ENDING["nesting"], id="nesting", marks=pytest.mark.long),
    ],
)
def test_each_family_from_outside_ends(texts, results):
    """In a fault or, where it is harmless here, in a value; never by the system's own limit."""
    wrong = []
    for text, (seconds, said) in zip(texts, results(texts), strict=True):
        good = said == "ran" or (said.startswith("E0") and "E0999" not in said)
        if not good or seconds > patience() or "enough memory" in said or "<locals>" in said:
            wrong.append((text[:160], seconds, said[:160]))
    assert not wrong


CHAINS = (
    "g = [1]\nfor i in range(100000): g = (a for a in g)\ng = 0",
    "def w(h): return (a for _ in [0] for a in h)\ng = [1]\n"
    "for i in range(100000): g = w(g)\ng = 0",
    "def w(h):\n    yield 0\n    yield from h\ng = [1]\nfor i in range(100000):\n    g = w(g)\n"
    "    next(g)\ng = 0",
    "from collections import deque\nd = deque()\nfor i in range(100000): d = deque([d])\nd = 0",
    "from collections import defaultdict\nd = defaultdict(list)\nfor i in range(100000):\n"
    "    d = defaultdict(list, {1: d})\nd = 0",
    "e = ValueError(1)\nfor i in range(100000): e = ValueError(e)\ne = 0",
    "class A: pass\na = A()\nfor i in range(100000):\n    b = A()\n    b.a = a\n    a = b\na = 0",
)
"""What links a hundred thousand values: CPython frees some of its own kinds by recursion in C."""


@pytest.mark.long
@LIMITED
def test_long_chains_are_freed():
    worker = WORKER.replace("steps=1_000, memory=8 << 20", "steps=2_000_000, memory=1 << 30")
    for text in CHAINS:
        ran = subprocess.run(
            [sys.executable, "-c", worker], input=json.dumps(text) + "\n", text=True, cwd=ROOT,
            capture_output=True, timeout=100,
        )  # fmt: skip
        assert ran.returncode == 0, text
        said = json.loads(ran.stdout)[1]
        assert said == "ran" or said.startswith(("E0605", "E0606")), (text, said)
