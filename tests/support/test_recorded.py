"""The comparison of recorded texts passes a last digit, and nothing else."""

from __future__ import annotations

from tests.support.families import family
from tests.support.recorded import difference

ALIKE = [
    ("loss 0.4235 at 3", "loss 0.4234 at 3"),
    ("tensor([1.0000e-04, nan])", "tensor([9.9999e-05, nan])"),
    ("tensor([10.0000,  1.5000])", "tensor([ 9.9999,  1.5000])"),
    ("tensor([ 0.0000, -1.5000])", "tensor([-0.0000, -1.5000])"),
    ("0.0000", "-0.0000"),
    ("1.0000-0.5001j", "1.0000-0.5000j"),
    ("1.0000-0.0000j", "1.0000+0.0000j"),
    (") -6.514802932739258", ") -6.514801025390625"),
    ("1.9999998807907104", "2.0"),
    ("[0.         0.84147096] [1. 1.]", "[0.       0.841471] [1. 1.]"),
    ("x = 0.30000000000000004", "x = 0.3"),
    ("version 2.13.0, float32, 1e-05", "version 2.13.0, float32, 1e-05"),
]
APART = [
    ("loss 0.4236", "loss 0.4234"),  # two units
    ("tensor([0.0001])", "tensor([-0.0001])"),
    ("loss 0.42341", "loss 0.4234"),  # more places
    ("loss 4.234e-01", "loss 0.4234"),
    ("cost 0.4234", "loss 0.4234"),  # another word
    ("at 4", "at 3"),
    ("tensor([4.])", "tensor([3.])"),
    ("tensor([0.])", "tensor([-0.])"),
    ("version 2.13.1", "version 2.13.0"),
    ("inf", "-inf"),
    ("nan", "0.4234"),
    ("loss  0.4234", "loss 0.4235"),  # another layout
    ("tensor([0.4234,0.4234])", "tensor([0.4234, 0.4235])"),
    ("0.4234\n", "0.4234"),
    ("0.4234 0.4234", "0.4234"),
    ("-6.514867", "-6.514801025390625"),  # 1e-5 of an item
    ("-6.514866352081299", "-6.514801025390625"),
    ("0.30000000001", "0.3"),  # 3e-11 in float64
    ("0.30000001192092896", "0.3"),  # float32 for float64
    ("0.6", "0.5"),
    ("1e-17", "0.0"),
    ("+0.4234", "0.4234"),
]


@family("got, recorded", ALIKE)
def test_a_last_digit_passes(got, recorded):
    assert difference(got, recorded) == difference(recorded, got) == ""
    assert difference(recorded, recorded) == ""


@family("got, recorded", APART)
def test_anything_more_does_not(got, recorded):
    assert difference(got, recorded)
    assert difference(recorded, got)


def test_it_says_where():
    assert difference("a\nb 0.1236", "a\nb 0.1234") == "line 2: 0.1236, recorded 0.1234"
    assert difference("a\nb", "a") == "2 lines, recorded 1"
