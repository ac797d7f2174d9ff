"""The undo log: memory before its first write, saved values before their release."""

import numpy as np

import gradcli as g
from gradcli.engine.grad_mode import next_number
from gradcli.engine.undo_log import UndoLog, open_log


def logged(*tensors):
    """A log of these tensors' memory, open in this thread."""
    log = UndoLog([t.array for t in tensors], next_number())
    open_log(log)
    return log


def test_every_way_of_writing_is_undone():
    writes = (
        lambda x: x.mul_(2), lambda x: x.__setitem__(0, 9.0), lambda x: x[1:].zero_(),
        lambda x: x.view(2, 2).t().add_(1), lambda x: x.uniform_(), lambda x: g.sin(x, out=x),
        lambda x: g.nn.init.ones_(x),
    )  # fmt: skip
    for write in writes:
        x = g.arange(4.0)
        log = logged(x)
        write(x)
        assert not np.array_equal(x.array, np.arange(4.0))
        open_log(None)
        log.undo()
        assert np.array_equal(x.array, np.arange(4.0))


def test_parts_are_copied_until_they_are_many():
    x = g.zeros(100, 100)
    log = logged(x)
    x[3] = 1
    x[4, 5:7] = 2
    assert log.nbytes == (100 + 2) * x.array.itemsize
    x[3] = 5
    for i in range(100):
        x[i] = i
    assert log.nbytes < 2 * x.array.nbytes
    x[0, 0] = 7
    open_log(None)
    log.undo()
    assert not x.array.any()


def test_memory_that_was_not_there_is_not_copied():
    x = g.zeros(3)
    log = logged(x)
    y = x.clone()
    y.mul_(2)
    assert not log.written
    x.detach().add_(1)
    x.add_(1)
    assert log.nbytes == x.array.nbytes
    open_log(None)


def test_a_graph_can_be_gone_through_again():
    x = g.tensor([1.0, 2.0], requires_grad=True)
    y = (x.exp() * x).sum()
    log = logged(x)
    y.backward()
    (x * x).sum().backward()
    assert len(log.released) == 2  # exp and mul, not the nodes made since
    open_log(None)
    log.undo()
    y.backward()
