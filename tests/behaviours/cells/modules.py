"""Attention and paddings as modules; first values that are drawn."""

# ruff: noqa

# %% attention with several heads
import torch
from torch import nn


def show(*values):
    for t in values:
        print(
            None if t is None else t.detach().flatten()[:12], None if t is None else tuple(t.shape)
        )


torch.manual_seed(0)
x, y = torch.randn(5, 3, 8), torch.randn(4, 3, 8)
m = nn.MultiheadAttention(8, 2)
print(m, [n for n, _ in m.named_parameters()])
show(*m(x, x, x), *m(y, x, x, need_weights=False), *m(y, x, x, average_attn_weights=False))
mask = torch.full((5, 5), float("-inf")).triu(1)
print(mask)
padded = torch.tensor([[False, True, False, False, True]] * 3)
show(*m(x, x, x, attn_mask=mask), *m(x, x, x, key_padding_mask=padded, attn_mask=mask < 0))
show(*m(x[:, 0], x[:, 0], x[:, 0], key_padding_mask=padded[0]))
m = nn.MultiheadAttention(8, 2, bias=False, batch_first=True, kdim=6, vdim=4)
show(*m(x, torch.randn(5, 7, 6), torch.randn(5, 7, 4)))

# %% paddings of one to three dimensions
import torch
from torch import nn


def show(*values):
    for t in values:
        print(
            None if t is None else t.detach().flatten()[:12], None if t is None else tuple(t.shape)
        )


flat = torch.arange(2 * 4 * 4.0).reshape(1, 2, 4, 4)
deep = torch.arange(2 * 3 * 2.0).reshape(1, 1, 2, 3, 2)
for n, value in ((1, flat[0]), (2, flat), (3, deep)):
    for name in ("ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"):
        m = getattr(nn, f"{name}{n}d")(1)
        print(m)
        show(m(value), getattr(nn, f"{name}{n}d")((1, 0) * n)(value))
    m = getattr(nn, f"ConstantPad{n}d")(1, 3.5)
    print(m)
    show(m(value))
show(nn.Softmax2d()(flat / 8), nn.InstanceNorm3d(1)(deep))

# %% first values of matrices
import torch
from torch import nn

torch.manual_seed(0)
w = torch.empty(3, 5)
print(nn.init.orthogonal_(w), nn.init.orthogonal_(torch.empty(4, 2, 2), gain=2))
print(nn.init.trunc_normal_(w), nn.init.trunc_normal_(w, a=1.0, b=1.5))
print(nn.init.dirac_(torch.empty(6, 2, 3), 3)[:, :, 1])
print(nn.RReLU(0.1, 0.3), nn.RReLU(0.1, 0.3)(w - 1.2))
m = nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1)
print(m(w[None], output_size=(6, 10)).shape, m(w[None, None], output_size=(1, 1, 5, 9)).shape)
for size in ((9, 9), (8,)):
    try:
        m(w[None], output_size=size)
    except ValueError as fault:
        print(fault)

# %% tensors that are close, and what is said of those that are not
import torch
from torch import testing, tensor


def say(*pair, **options):
    try:
        testing.assert_close(*pair, **options)
        print("close")
    except Exception as fault:
        print(next(c.__name__ for c in type(fault).__mro__ if c.__module__ == "builtins"), fault)


a = tensor([1.0, 2.0])
say(a, tensor([1.0, 2.0 + 1e-6]))
say(a, tensor([1.0, 2.5]))
say(a, a.double())
say(a, a.double(), check_dtype=False)
say(tensor([1, 2]), tensor([1, 4]))
say(a, a[None])
say(tensor(1.0), tensor(2.0))
say(1.0, 2.0)
say([1.0, tensor(2.0)], [1.0, tensor(4.0)])
say({"a": tensor(1.0)}, {"a": tensor(2.0)})
say({"a": 1}, {"b": 1})
say([1], [1, 2])
say(tensor([float("nan")]), tensor([float("nan")]), equal_nan=True)
say(a, a + 1, rtol=0.1)
say(a, a + 0.125, rtol=0, atol=0.2)
say(a, a + 1, rtol=0, atol=0.5, msg="other words")
say(a, a + 1, msg=lambda text: "mine: " + text)
say(a, [1.0, 2.0])
say(tensor([True]), tensor([False]))
say(torch.zeros(2, 3).t(), torch.zeros(3, 2), check_stride=True)
say("a", "a")

# %% pooling, shuffling and resampling as modules
import torch
from torch import nn


def show(n, f):
    found = f()
    for t in found if isinstance(found, tuple) else (found,):
        print(n, tuple(t.shape), t.detach().flatten()[:12])


torch.manual_seed(0)
x1 = torch.randn(2, 4, 12)
x2 = torch.randn(2, 4, 6, 6)
x3 = torch.randn(1, 4, 4, 4, 4)
ms = [
    (nn.MaxPool3d(2), x3),
    (nn.MaxPool3d((2, 1, 2), stride=1, padding=(1, 0, 1), ceil_mode=True), x3),
    (nn.AvgPool3d(2), x3),
    (nn.AdaptiveAvgPool3d((2, None, 3)), x3),
    (nn.AdaptiveMaxPool3d(2), x3),
    (nn.AdaptiveAvgPool2d((None, 3)), x2),
    (nn.AdaptiveMaxPool2d((3, None)), x2),
    (nn.AdaptiveMaxPool1d(3, return_indices=True), x1),
    (nn.LPPool1d(2, 3), x1),
    (nn.LPPool2d(1.2, (2, 3), stride=1), x2),
    (nn.LPPool3d(2, 2), x3),
    (nn.ChannelShuffle(2), x2),
    (nn.PixelShuffle(2), x2),
    (nn.PixelUnshuffle(2), x2),
    (nn.Fold((4, 5), (2, 2)), torch.randn(1, 8, 12)),
    (nn.Unfold(2, padding=1), x2),
    (nn.Upsample(scale_factor=2), x2),
    (nn.Upsample(size=(3, 9), mode="bilinear"), x2),
    (nn.Upsample(scale_factor=(2, 1), mode="bilinear", align_corners=True), x2),
    (nn.UpsamplingNearest2d(scale_factor=2), x2),
    (nn.UpsamplingBilinear2d(size=9), x2),
    (nn.Upsample(scale_factor=1.5, mode="linear"), x1),
    (nn.Upsample(scale_factor=2, mode="trilinear"), x3),
    (nn.Upsample(scale_factor=2, mode="bicubic"), x2),
    (nn.LocalResponseNorm(2), x2),
    (nn.Dropout3d(), x3),
    (nn.AlphaDropout(0.3), x1),
    (nn.FeatureAlphaDropout(), x2),
    (nn.Dropout3d().eval(), x3),
    (nn.AlphaDropout().eval(), x1),
    (nn.ConvTranspose3d(4, 2, 2, stride=2), x3),
]
for m, x in ms:
    print(m)
    torch.manual_seed(1)
    show(type(m).__name__, lambda: m(x))
torch.manual_seed(2)
show("frac", lambda: nn.FractionalMaxPool2d(2, output_size=(3, 3))(x2))
print(nn.FractionalMaxPool2d(2, output_size=(3, 3)))
p = nn.MaxPool2d(2, return_indices=True)
o, i = p(x2)
print(nn.MaxUnpool2d(2))
show("un", lambda: nn.MaxUnpool2d(2)(o, i))
show("un", lambda: nn.MaxUnpool2d(2)(o, i, output_size=(7, 7)))
p = nn.MaxPool1d(2, stride=2, return_indices=True)
o, i = p(x1)
print(nn.MaxUnpool1d(2, 2))
show("un", lambda: nn.MaxUnpool1d(2, 2)(o, i))
a, b, c = torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 4)
show(
    "tm",
    lambda: nn.TripletMarginWithDistanceLoss(distance_function=nn.PairwiseDistance(p=1))(a, b, c),
)
show("ml", lambda: nn.MultiLabelMarginLoss()(a, torch.tensor([[3, 0, -1, 1]] * 3)))
lp = torch.randn(10, 2, 5).log_softmax(2)
show(
    "ctc",
    lambda: nn.CTCLoss()(
        lp, torch.randint(1, 5, (2, 4)), torch.tensor([10, 10]), torch.tensor([3, 4])
    ),
)
print(nn.CTCLoss(), nn.MultiLabelMarginLoss())
