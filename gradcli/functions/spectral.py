"""Short-time Fourier transforms: ``stft`` and its inverse, of windows that slide over a signal.

And the windows that are usual there, made in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.creation.factories import finish, ones
from gradcli.engine.dtypes import dtype_of, get_default_dtype, to_dtype
from gradcli.engine.record.arguments import Anything, Asked
from gradcli.engine.record.composite import bottom, called
from gradcli.engine.record.composite import named as named_function
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.record.out import may_be
from gradcli.functions import arithmetic, fft, scatter
from gradcli.functions.nn.padding import pad
from gradcli.functions.nn.windows import places
from gradcli.ops.errors import bad_dtype, bad_shape, bad_type, bad_value
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import is_complex
from gradcli.ops.torch_messages import not_a, nothing_largest


def _window(window: Any, length: int, n_fft: int, like: Any) -> Any:
    """The window in the middle of ``n_fft`` entries; ones where none is given."""
    if not 0 < length <= n_fft:
        raise bad_value(f"stft: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is None:
        window = ones(length, dtype=dtype_of(np.empty(0, like.dtype.numpy).real))
    elif tuple(window.shape) != (length,):
        raise bad_shape(f"stft: expected a 1D window tensor of size equal to win_length={length}")
    return _around(window, length, n_fft)


def _around(values: Any, length: int, n_fft: int) -> Any:
    """``values`` amid as many zeros as a window of ``length`` entries lacks to ``n_fft``."""
    left = (n_fft - length) // 2
    return pad(values, (left, n_fft - length - left)) if length < n_fft else values


def stft(
    input: Asked, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: Anything= True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """The Fourier transforms of windows of a signal ``(L,)`` or ``(N, L)``: ``(N, freqs, frames)``.

    Windows of ``n_fft`` entries begin ``hop_length`` apart (a quarter of that if left out), the
    first one centred at the signal's start where ``center``; else ``align_to_window`` has a window
    that is shorter than ``n_fft`` begin there. With ``return_complex=False`` parts are a last
    dimension. Raises RuntimeFault (E0304) for sizes that do not fit.

    Example:
        >>> import gradcli
        >>> gradcli.stft(gradcli.ones(8), 4, center=False, return_complex=True).shape
        gradcli.Size([3, 5])
    """
    if return_complex is None and not (input.is_complex() or is_complex(window)):
        said = "stft requires the return_complex parameter be given for real inputs"
        raise bad_value(said, help="return_complex=True")
    if len(input.shape) not in (1, 2):
        raise bad_shape("stft: expected a 1D or 2D tensor")
    if input.dtype.kind < 2:
        raise bad_dtype("stft: expected a tensor of floating point or complex values")
    if center and align_to_window is not None:
        raise bad_value("stft align_to_window should only be set when center = false")
    hop = n_fft // 4 if hop_length is None else hop_length
    signal = input if len(input.shape) == 2 else O["unsqueeze"](input, 0)
    if center:
        edge = n_fft // 2
        signal = O["squeeze"](pad(O["unsqueeze"](signal, 1), (edge, edge), pad_mode), 1)
    length = signal.shape[-1]
    if not 0 < n_fft <= length:
        raise bad_value(f"stft: expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise bad_value(f"stft: expected hop_length > 0, but got hop_length={hop}")
    width = n_fft if win_length is None else win_length
    shape = _window(window, width, n_fft, input)
    if align_to_window:
        signal = _around(signal, width, n_fft)
    frames = scatter.unfold(signal, -1, n_fft, hop) * shape
    if onesided and frames.is_complex():
        raise bad_value("Cannot have onesided output if window or input is complex")
    whole = frames.is_complex() or onesided is False
    found = (fft.fft if whole else fft.rfft)(frames, norm="ortho" if normalized else None)
    found = called(O["transpose"](found, -1, -2), "TransposeBackward1", found)
    if len(input.shape) == 1:
        found = called(O["squeeze"](found, 0), "SqueezeBackward4", found)
    return arithmetic.view_as_real(found) if return_complex is False else found


def istft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, normalized: bool = False,
    onesided: bool | None = None, length: int | None = None, return_complex: bool = False,
) -> Any:  # fmt: skip
    """The signal of a short-time Fourier transform: ``stft``'s inverse, by least squares.

    See Griffin and Lim, Signal estimation from modified short-time Fourier transform, 1984. Raises
    RuntimeFault (E0304) where windows leave a part of the signal out.
    """
    if not return_complex and is_complex(window):
        raise bad_value("Complex windows are incompatible with return_complex=False")
    hop = n_fft // 4 if hop_length is None else hop_length
    spectra = input if len(input.shape) == 3 else O["unsqueeze"](input, 0)
    if not input.is_complex():
        said = "istft requires a complex-valued input tensor matching the output from stft with"
        raise bad_dtype(f"{said} return_complex=True.", help="write view_as_complex(x)")
    if len(spectra.shape) != 3:
        raise bad_shape("istft: expected a tensor with 2 or 3 dimensions")
    if not 0 < hop <= (n_fft if win_length is None else win_length):
        raise bad_value("istft: expected 0 < hop_length <= win_length")
    half = spectra.shape[1] != n_fft if onesided is None else onesided
    size = n_fft // 2 + 1 if half else n_fft
    if spectra.shape[1] != size:
        said = f"to be {size}, but got {spectra.shape[1]}"
        raise bad_shape(f"istft: expected the frequency dimension (3rd to the last) {said}")
    turned, norm = O["transpose"](spectra, -1, -2), "ortho" if normalized else None
    if return_complex:
        frames = fft.ifft(turned, norm=norm)
    else:  # of a whole spectrum too its first half says all
        frames = fft.irfft(O["getitem"](turned, (..., slice(n_fft // 2 + 1))), n_fft, norm=norm)
    shape = _window(window, n_fft if win_length is None else win_length, n_fft, frames)
    count = frames.shape[1]
    whole = n_fft + hop * (count - 1)
    charge_shape((frames.shape[0], whole))
    index, _ = places((whole,), (n_fft,), (hop,), (1,), False)
    total = O["scatter"](frames * shape, (frames.shape[0], whole), index)
    weights = O["expand"](shape * shape, (count, n_fft))
    weight = O["scatter"](weights, (whole,), index)
    start = n_fft // 2 if center else 0
    end = whole - start if length is None else start + length
    kept = (Ellipsis, slice(start, min(end, whole)))
    weight = O["getitem"](weight, kept)
    if not weight.numel():
        raise nothing_largest("min", None)
    if bool((np.abs(bottom(weight).array) < 1e-11).any()):
        raise bad_value("window overlap add min: 1", help="a window without zeros")
    found = O["getitem"](total, kept) / weight
    found = found if len(input.shape) == 3 else O["squeeze"](found, 0)
    return pad(found, (0, end - whole)) if end > whole else found


def _tapered(name: str, doc: str, shape: Any, **defaults: float) -> Any:
    """A window by name: ``shape(places, steps, *numbers)`` at places from 0 to ``steps``."""

    def create(
        window_length: int, periodic: bool = True, *numbers: float, dtype: Any = None,
        layout: Any = None, device: Any = None, pin_memory: Any = False,
        requires_grad: bool = False, **named: float,
    ) -> Any:  # fmt: skip
        if len(numbers) > len(defaults) or not named.keys() <= defaults.keys():
            raise bad_type(f"{name}() takes {', '.join(defaults) or 'no numbers'}")
        target = get_default_dtype() if dtype is None else to_dtype(dtype)
        if target.kind != 2:
            raise bad_dtype(f"{name} expects floating point dtypes, got: {target.name}")
        if window_length < 0:
            raise bad_value(f"{name} requires non-negative window_length, got {window_length}")
        charge_shape((window_length,), 8)
        given = {**defaults, **dict(zip(defaults, numbers, strict=False)), **named}
        for place, (option, value) in enumerate(given.items(), 3):
            if not isinstance(value, float | int):
                raise not_a("float", name, option, place, value)
        steps = window_length - (not periodic)
        made = np.ones(window_length)
        if window_length > 1:
            made = shape(np.arange(window_length), steps, *given.values())
        return finish(made.astype(target.numpy), target, requires_grad, device)

    may_be("none", create)
    return named_function(create, name, doc)


def _cosines(x: Any, steps: int, *weights: float) -> Any:
    """Cosines of no, one, two ... rounds over the window, their signs alternating."""
    return sum((-1) ** k * w * np.cos(2 * np.pi * k * x / steps) for k, w in enumerate(weights))


hann_window = _tapered(
    "hann_window", "One round of a cosine, raised: from 0 to 1 and back.",
    lambda x, steps: _cosines(x, steps, 0.5, 0.5),
)  # fmt: skip
hamming_window = _tapered(
    "hamming_window", "``alpha`` less ``beta`` times one round of a cosine.",
    _cosines, alpha=0.54, beta=0.46,
)  # fmt: skip
blackman_window = _tapered(
    "blackman_window", "Two cosines, which leave less beside the main lobe than one.",
    lambda x, steps: _cosines(x, steps, 0.42, 0.5, 0.08),
)  # fmt: skip
bartlett_window = _tapered(
    "bartlett_window", "A triangle: from 0 to 1 and back.",
    lambda x, steps: 1 - np.abs(2 * x / steps - 1),
)  # fmt: skip
kaiser_window = _tapered(
    "kaiser_window", "A Bessel function over half an ellipse; ``beta`` makes it narrow.",
    lambda x, steps, beta: np.i0(beta * np.sqrt(1 - (2 * x / steps - 1) ** 2)) / np.i0(beta),
    beta=12.0,
)  # fmt: skip


may_be("none", istft)
