"""Where the composed functions are, by name: a module is loaded when one of its names is used.

``HOMES`` holds the functions that a program may call with any tensor: all are pure. ``LATER`` holds
those of layers, of losses and of decompositions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any


class Home:
    """The names that a module of composed functions has for others.

    methods  functions that are methods too; with a trailing underscore, forms in place alone
    both     those of which a method writes in place as well: ``x.clamp_(0)``
    alone    functions only: the method differs, or there is none
    turned   those of which a form in place gives the tensor itself another shape: ``x.t_()``
    aliases  further names, each with the function's own: methods where that is one
    """

    __slots__ = ("aliases", "alone", "methods", "turned")

    def __init__(
        self,
        methods: str = "",
        *,
        both: str = "",
        alone: str = "",
        turned: str = "",
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        pairs = [name for one in both.split() for name in (one, f"{one}_")]
        self.methods = [*methods.split(), *pairs]
        self.alone = alone.split()
        self.turned = turned.split()
        self.aliases = aliases or {}

    def functions(self) -> Iterator[tuple[str, str]]:
        """Every name of a function, with the function's own name."""
        for name in (*self.methods, *self.alone):
            if not name.endswith("_"):
                yield name, name
        yield from self.aliases.items()


HOMES = {
    "arithmetic": Home(
        (
            "add sub rsub div addcmul addcdiv lerp clip_ float_power resolve_conj resolve_neg "
            "positive angle conj fill is_conj is_neg"
        ),
        both=(
            "pow clamp clamp_min clamp_max nan_to_num round deg2rad rad2deg sgn copysign mvlgamma "
            "logit conj_physical"
        ),
        alone="polygamma cdist polar real view_as_real",
        aliases={"subtract": "sub", "divide": "div", "true_divide": "div", "clip": "clamp"},
    ),
    "reductions": Home(
        "sum amax amin mean prod nansum var std norm dist softmax log_softmax logcumsumexp diff "
        "sum_to_size",
        both="cumsum cumprod",
        alone="var_mean std_mean trapezoid cumulative_trapezoid",
        aliases={"trapz": "trapezoid"},
    ),
    "products": Home(
        "mm mv bmm vdot inner kron cross",
        both="addmm addmv baddbmm",
        alone="chain_matmul tensordot",
    ),
    "bitwise": Home(
        both="bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift "
        "bitwise_right_shift gcd lcm"
    ),
    "indexing": Home(
        "select narrow index_select masked_select masked_fill take take_along_dim gather",
        both="scatter scatter_add scatter_reduce index_add index_copy index_fill index_reduce",
        alone="broadcast_tensors",
    ),
    "reshaping": Home(
        (
            "split split_with_sizes chunk unsafe_split unsafe_split_with_sizes unsafe_chunk "
            "unbind tensor_split movedim unflatten expand_as view_as reshape_as repeat_interleave "
            "fliplr flipud rot90 nonzero nonzero_static argwhere is_same_size equal allclose t "
            "transpose swapaxes unsqueeze"
        ),
        alone=(
            "hstack vstack dstack column_stack permute where meshgrid cartesian_prod combinations "
            "block_diag unravel_index"
        ),
        turned="t transpose swapaxes swapdims unsqueeze",
        aliases={"moveaxis": "movedim", "swapdims": "transpose", "row_stack": "vstack"},
    ),
    "sorting": Home("sort argsort msort topk kthvalue median aminmax"),
    "counting": Home(
        "unique unique_consecutive bincount histogram cov corrcoef frexp", alone="histogramdd"
    ),
    "statistics": Home(
        (
            "cummax cummin quantile nanquantile nanmean nanmedian mode isposinf isneginf isreal "
            "histc logaddexp2"
        ),
        both="ldexp",
        alone="isin searchsorted bucketize",
    ),
    "scatter": Home(
        "put select_scatter slice_scatter diagonal_scatter diagonal diag diag_embed diagflat "
        "hsplit vsplit dsplit ravel",
        both="index_put masked_scatter addr addbmm renorm",
        alone="vander atleast_1d atleast_2d atleast_3d view_as_complex",
    ),
    "strided": Home(
        "as_strided as_strided_scatter",
        alone="gradient empty_strided empty_permuted",
        turned="as_strided",
    ),
    "matrices": Home("matrix_power adjoint cholesky"),
    "copies": Home(
        "narrow_copy",
        alone=(
            "alias_copy detach_copy view_copy expand_copy slice_copy as_strided_copy "
            "diagonal_copy permute_copy select_copy split_copy split_with_sizes_copy squeeze_copy "
            "t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy view_as_complex_copy "
            "view_as_real_copy"
        ),
    ),
    "overloads": Home(aliases={"concatenate": "cat"}),
}
"""The modules in ``gradcli.functions``, each with its names."""
_FAMILIES = {
    "decompositions": (
        "cholesky_inverse cholesky_solve geqrf ormqr triangular_solve lu_unpack pca_lowrank "
        "svd_lowrank"
    ),
    "spectral": (
        "stft istft hann_window hamming_window blackman_window bartlett_window kaiser_window"
    ),
    "segments": "segment_reduce",
    "nn.padding": "constant_pad_nd",
    "nn.layers": (
        "native_batch_norm native_group_norm native_layer_norm bilinear group_norm layer_norm "
        "rms_norm"
    ),
    "nn.numbered_losses": (
        "binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss hinge_embedding_loss "
        "kl_div margin_ranking_loss poisson_nll_loss triplet_margin_loss"
    ),
    "nn.activations": (
        "celu celu_ hardshrink native_dropout prelu rrelu rrelu_ selu selu_ threshold threshold_"
    ),
    "nn.convolution": (
        "channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d "
        "conv_transpose3d pixel_shuffle pixel_unshuffle"
    ),
    "nn.pooling": (
        "adaptive_avg_pool1d avg_pool1d max_pool1d max_pool1d_with_indices max_pool2d max_pool3d"
    ),
    "nn.pair_losses": "cosine_similarity pairwise_distance pdist",
}
LATER = {
    **{name: f"{home}.{name}" for home, names in _FAMILIES.items() for name in names.split()},
    **{name: f"decompositions.torch_{name}" for name in ("lu", "lu_solve", "qr", "svd")},
    **{name: f"nn.layers.torch_{name}" for name in ("batch_norm", "instance_norm")},
    **{
        name: f"nn.activations.torch_{name}"
        for name in ("alpha_dropout", "dropout", "feature_alpha_dropout")
    },
    "embedding": "nn.embedding.torch_embedding",
    "adaptive_max_pool1d": "nn.pooling.adaptive_max_pool1d_with_indices",
    "orgqr": "linalg.householder_product",
    "grid_sampler": "nn.resampling.grid_sampler",
    "grid_sampler_2d": "nn.resampling.grid_sampler",
    "grid_sampler_3d": "nn.resampling.grid_sampler",
}
"""Functions of layers, of losses and of decompositions, each with its path for ``found``."""
LATER_METHODS = (
    "cholesky_inverse", "cholesky_solve", "geqrf", "ormqr", "triangular_solve", "lu", "lu_solve",
    "qr", "svd", "orgqr", "stft", "istft", "hardshrink", "prelu",
)  # fmt: skip
"""Those that are methods too."""


def found(path: str) -> Any:
    """``"reshaping.split"``: the function of a module in ``gradcli.functions``."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(f"gradcli.functions.{module}"), name)
