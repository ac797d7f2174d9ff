"""What a backward pass costs beside its forward pass, operator by operator, worst first.

Run as ``python -m tests.benchmarks.backward [PATTERN]``. Entrywise operators take a million entries
from the ranges of the operators' test table; the calls below a million too, or matrices of 300 x
300. Forward is a recorded call, backward the gradient by every float input with a cotangent of
ones; both are the least of a few rounds. The bound is a ratio of 4.

What is beyond it by nature: a view (``x[::2]``, ``diagonal``, ``split``) and a reduction (``sum``,
``amax``) write little or nothing forwards and a whole array backwards; ``det`` is one elimination,
its gradient at any rank a decomposition; the gradient of ``matrix_exp`` is an exponential of twice
the size. ``logcumsumexp`` of one long vector (10) is one call of ``logaddexp.accumulate`` forwards
and two linear recurrences backwards, and ``cross`` of slices (5.4) sends each cotangent back
through a view.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import gradcli as torch
import gradcli.nn.functional as F
from gradcli.ops.operator import OPERATORS
from tests.ops.rows import Draw
from tests.ops.table import ROWS

BOUND = 4.0
ROUNDS = 3
MANY, SIDE, SMALL = 1_000_000, 1000, 300
RNG = np.random.default_rng(0)


def leaf(*shape: int, low: float = 0.1, high: float = 2.0) -> torch.Tensor:
    """Numbers from a range, to be differentiated by."""
    return torch.from_numpy(RNG.uniform(low, high, shape)).requires_grad_()


def whole(high: int, *shape: int) -> torch.Tensor:
    """Whole numbers below ``high``."""
    return torch.from_numpy(RNG.integers(0, high, shape))


INPUTS: dict[str, Callable[[], torch.Tensor]] = {
    "x": lambda: leaf(MANY, low=-2.0), "y": lambda: leaf(MANY, low=-2.0),
    "m": lambda: leaf(SIDE, SIDE, low=-2.0), "p": lambda: leaf(SIDE, SIDE, low=0.9, high=1.1),
    "k": lambda: leaf(SIDE, SIDE, low=-2.0),
    "v": lambda: leaf(SIDE, low=-2.0), "w": lambda: leaf(SIDE, low=-2.0),
    "A": lambda: leaf(SMALL, SMALL, low=-1.0), "B": lambda: leaf(SMALL, SMALL, low=-1.0),
    "b": lambda: leaf(SMALL, low=-1.0), "T": lambda: leaf(2 * SMALL, SMALL, low=-1.0),
    "S": lambda: (leaf(SMALL, SMALL, low=-0.01, high=0.01)
                  + torch.diag(torch.arange(SMALL).double() + 1)).detach().requires_grad_(),
    "i": lambda: whole(MANY, MANY), "r": lambda: whole(SIDE, SIDE),
    "j": lambda: whole(SIDE, SIDE, SIDE), "t": lambda: torch.from_numpy(RNG.random(MANY) < 0.5),
    "c": lambda: leaf(8, 8, 125, 125), "f": lambda: leaf(8, 8, 3, 3),
    "s": lambda: leaf(8, 8, 15625), "g": lambda: leaf(8, 8, 3),
    "q": lambda: leaf(1, 4, 64, 64, 64), "h": lambda: leaf(4, 4, 3, 3, 3),
    "a": lambda: leaf(8, 4, 128, 64), "z": lambda: leaf(MANY // 64, 64),
    "o": lambda: whole(MANY // 64, MANY // 64),
    "e": lambda: leaf(4, 2, 125, 125, 2, low=-0.9, high=0.9),
}  # fmt: skip
"""The tensors of the calls, each made when a call first names it."""

CALLS = """
torch.sum(m) torch.sum(m,0) torch.sum(m,1) torch.mean(m,0) torch.nansum(m,0) torch.prod(p)
torch.prod(p,0) torch.prod(p,1) torch.var(m) torch.var(m,0) torch.std(m,1) torch.std_mean(m,0)[0]
torch.norm(m) torch.norm(m,1) torch.norm(m,3,0) torch.linalg.vector_norm(m,float("inf"),1)
torch.amax(m) torch.amax(m,0) torch.amin(m,1) torch.aminmax(m,dim=0).max torch.max(m,0).values
torch.min(m,1).values torch.logsumexp(m,0) torch.logsumexp(m,1) torch.softmax(m,1)
torch.log_softmax(m,0) F.softmin(m,1) torch.cumsum(m,0) torch.cumsum(x,0) torch.cumprod(p,0)
torch.cumprod(p,1) torch.logcumsumexp(m,0) torch.logcumsumexp(x,0) torch.cummax(m,0).values
torch.cummin(x,0).values torch.diff(m,dim=0) torch.trapezoid(m,dim=1)
torch.cumulative_trapezoid(m,dim=0) torch.gradient(m,dim=0)[0] torch.median(m,1).values
torch.median(x) torch.nanmedian(m,0).values torch.mode(m.round(),1).values
torch.quantile(m,0.3,dim=1) torch.nanquantile(m,0.3,dim=0) torch.kthvalue(m,5,1).values
torch.sort(m,1).values torch.sort(m,0).values torch.sort(x).values torch.topk(m,10,1).values
torch.topk(x,1000).values torch.msort(m) torch.renorm(m,2,0,1.0) torch.dist(x,y,3)
torch.cov(m[:100]) torch.corrcoef(m[:100]) torch.trace(m) torch.gather(m,1,j) torch.gather(m,0,j)
torch.take_along_dim(m,j,1) torch.take(x,i) torch.index_select(m,0,r) torch.index_select(m,1,r)
m[r] m[:,r] m[r,r] x[i] m[j,r] x[::2] m[:,::3] x[t] torch.masked_select(x,t)
torch.masked_fill(x,t,1.0) torch.where(t,x,y) torch.scatter(m,1,j,k) torch.scatter_add(m,0,j,k)
torch.scatter_add(m,1,j,k) torch.scatter_reduce(m,0,j,k,"sum")
torch.scatter_reduce(m,0,j,k,"mean") torch.scatter_reduce(p,0,j,p,"prod")
torch.scatter_reduce(m,0,j,k,"amax") torch.index_add(m,0,r,k) torch.index_copy(m,0,r,k)
torch.index_fill(m,0,r,1.0) torch.index_reduce(m,0,r,k,"amin") torch.index_put(x,(i,),y)
torch.index_put(x,(i,),y,accumulate=True) torch.put(x,i,y) torch.put(x,i,y,accumulate=True)
torch.masked_scatter(x,t,y) torch.select_scatter(m,v,0,3) torch.slice_scatter(m,k[:500],0,0,500)
torch.diagonal_scatter(m,v) torch.bincount(i,y) F.embedding(o,z) F.embedding_bag(o,z,o[:1]*0)
torch.reshape(m,(500,2000)) torch.transpose(m,0,1)*1.0 torch.flip(m,(0,)) torch.roll(m,3,0)
torch.rot90(m) torch.tril(m) torch.triu(m) torch.diag(m) torch.diag_embed(v) torch.diagonal(m)
torch.expand_copy(v,(1000,1000)) torch.tile(v,(1000,)) torch.repeat_interleave(v,1000)
torch.repeat_interleave(x,whole(3,MANY)) torch.cat((x,y)) torch.stack((x,y),1) torch.hstack((m,k))
torch.split(m,100)[3] torch.chunk(m,4,1)[0] torch.unbind(m)[0] torch.unfold_copy(x,0,8,4)
x.unfold(0,8,4)*1.0 torch.as_strided(x,(500,500),(2,1))*1.0 F.pad(m,(2,2))
F.pad(c,(2,2,2,2),mode="reflect") F.pad(c,(2,2,2,2),mode="replicate")
F.pad(c,(2,2,2,2),mode="circular") torch.clone(x) x.float() torch.meshgrid(v,w)[0]*1.0
torch.cartesian_prod(v,w) torch.combinations(v) torch.block_diag(m,k) torch.vander(v,N=100)
torch.clamp(x,-1,1) torch.lerp(x,y,0.3) torch.addcmul(x,x,y) torch.addcdiv(x,x,y)
torch.nan_to_num(x) torch.logaddexp2(x,y) torch.heaviside(x,y)+x torch.matmul(A,B) A@b
torch.dot(x,y) torch.outer(v,w) torch.kron(A[:30,:30],B[:30,:30]) torch.einsum("ij,jk->ik",A,B)
torch.einsum("ij,ij->i",m,k) torch.tensordot(A,B,1) torch.bmm(a[0],a[1].mT) torch.addmm(A,A,B)
torch.cross(z[:,:3],z[:,3:6],dim=1) torch.cdist(m[:300,:8],k[:300,:8])
torch.cdist(m[:300,:8],k[:300,:8],1.0) F.pdist(m[:500,:8]) torch.linalg.det(A)
torch.linalg.slogdet(A)[1] torch.linalg.inv(S) torch.linalg.solve(S,B) torch.linalg.solve(S,b)
torch.linalg.solve_triangular(torch.triu(S),B,upper=True) torch.linalg.cholesky(S)
torch.linalg.qr(A).R torch.linalg.qr(T).Q torch.linalg.eigh(S).eigenvectors
torch.linalg.eigvalsh(S) torch.linalg.eig(S).eigenvalues torch.linalg.eigvals(S)
torch.linalg.svd(A).U torch.linalg.svd(T,False).Vh torch.linalg.svdvals(A) torch.linalg.pinv(T)
torch.linalg.lstsq(T,T[:,:5]).solution torch.linalg.lu(S).U torch.linalg.lu_factor(S).LU
torch.lu_solve(B,*torch.linalg.lu_factor(S)) torch.linalg.matrix_exp(A*0.01)
torch.linalg.matrix_power(A*0.1,5) torch.linalg.matrix_norm(A,2) torch.linalg.matrix_norm(A,"nuc")
torch.linalg.cond(S) torch.linalg.multi_dot((A,B,A)) torch.cholesky_inverse(torch.tril(S))
torch.cholesky_solve(B,torch.tril(S)) torch.linalg.householder_product(T,b) torch.ormqr(T,b,T)
torch.linalg.tensorinv(S,ind=1) torch.triangular_solve(B,S).solution torch.fft.fft(m).real
torch.fft.rfft(m).imag torch.fft.fft2(m).real torch.fft.irfft(torch.fft.rfft(x))
torch.stft(x,512,return_complex=True).real F.conv1d(s,g) F.conv2d(c,f)
F.conv2d(c,f,padding=1,stride=2) F.conv_transpose2d(c,f) F.conv3d(q,h) F.unfold(c,3)
F.fold(F.unfold(c,3),(125,125),3) F.max_pool1d(s,3) F.max_pool2d(c,2) F.max_pool3d(q,2)
F.avg_pool2d(c,2) F.avg_pool3d(q,2) F.adaptive_avg_pool2d(c,7) F.adaptive_max_pool2d(c,7)
F.lp_pool2d(c,2,2) F.max_unpool2d(*F.max_pool2d(c[:,:,:124,:124],2,return_indices=True),2)
F.fractional_max_pool2d(c,2,output_ratio=0.5) F.interpolate(c,scale_factor=2)
F.interpolate(c,scale_factor=2,mode="bilinear") F.interpolate(c,size=(60,60),mode="bicubic")
F.interpolate(c,size=60,mode="area") F.grid_sample(c[:4,:4],e[:,0])
F.grid_sample(c[:4,:4],e[:,0],mode="nearest") F.affine_grid(leaf(4,2,3),(4,1,300,300))
F.pixel_shuffle(c[:,:4],2) F.pixel_unshuffle(c[:,:,:124,:124],2) F.channel_shuffle(c,2)
F.batch_norm(c,None,None,training=True) F.layer_norm(m,(1000,)) F.group_norm(c,2)
F.instance_norm(c) F.rms_norm(m,(1000,)) F.local_response_norm(c,3) F.normalize(m) F.linear(A,B)
F.bilinear(A[:,:30],B[:,:30],leaf(5,30,30)) F.scaled_dot_product_attention(a,a,a) F.dropout(x)
F.alpha_dropout(x) F.rrelu(x,training=True) F.prelu(m,v) F.glu(m) F.gumbel_softmax(m)
F.cross_entropy(m,r) F.nll_loss(m,r) F.mse_loss(x,y) F.l1_loss(x,y) F.smooth_l1_loss(x,y)
F.huber_loss(x,y) F.kl_div(m,k) F.binary_cross_entropy(torch.sigmoid(x),torch.sigmoid(y))
F.binary_cross_entropy_with_logits(x,y) F.poisson_nll_loss(x,y) F.gaussian_nll_loss(m,k,p)
F.margin_ranking_loss(x,y,t.double()) F.hinge_embedding_loss(x,t*2.0-1) F.soft_margin_loss(x,y)
F.multi_margin_loss(m,r) F.multilabel_margin_loss(m[:50,:100],j[:50,:100]%100)
F.multilabel_soft_margin_loss(m,(k>0).double()) F.triplet_margin_loss(m,k,p)
F.cosine_embedding_loss(m,k,r.sign()) F.cosine_similarity(m,k) F.pairwise_distance(m,k)
F.ctc_loss(torch.log_softmax(leaf(60,16,40),-1),whole(39,16,20)+1,(60,)*16,(20,)*16)
F.linear_cross_entropy(m[:,:100],k[:50,:100],r%50) torch.complex(x,y).abs() torch.polar(x,y).real
torch.view_as_real(torch.complex(x,y)) torch.histogram(v,10,weight=w).hist
torch.masked.softmax(x,0,mask=t) torch.masked.sum(x,mask=t) torch.masked.std(x,mask=t)
torch.masked.logsumexp(x,mask=t) torch.masked.amax(x,mask=t) torch.special.polygamma(1,p)
torch.special.zeta(p+2,p) torch.special.multigammaln(p+3,2) torch.floor_divide(x,y)+x
torch.histc(v,10)+v[:10] torch.tensor_split(m,3)[0] torch.column_stack((v,w)) torch.dstack((v,w))
torch.broadcast_to(v,(1000,1000))*1.0 torch.movedim(m,0,1)*1.0 torch.squeeze(m)*1.0
torch.unsqueeze(m,0)*1.0 torch.float_power(p,2.5) torch.copysign(x,y) torch.ldexp(x,r[0])
torch.frexp(x)[0] torch.rsub(x,y) torch.sgn(x)+x torch.svd_lowrank(A,5)[1]
torch.pca_lowrank(A,5)[1]
"""


def calls() -> Iterator[tuple[str, Callable[[], Any], list[torch.Tensor]]]:
    """A name, what it computes, and the tensors to differentiate by."""
    for name, row in ROWS.items():
        op = OPERATORS[name]
        case = next((c for c in row.cases if _plain(c.args)), None)
        if not (op.public and op.entrywise and row.elementwise and row.wrt and case):
            continue
        args = [leaf(MANY, low=max(a.low, -50), high=min(a.high, 50)) for a in case.args]
        yield name, lambda op=op, args=args, case=case: op(*args, **case.params), args
    made: dict[str, torch.Tensor] = {}
    scope: dict[str, Any] = {"torch": torch, "F": F, "whole": whole, "MANY": MANY, "leaf": leaf}
    for text in CALLS.split():
        code = compile(text, text, "eval")
        for name in code.co_names:
            if name in INPUTS and name not in made:
                made[name] = scope[name] = INPUTS[name]()
        leaves = [made[n] for n in code.co_names if n in made and made[n].requires_grad]
        yield text, lambda code=code: eval(code, scope), list(dict.fromkeys(leaves))


def _plain(args: tuple) -> bool:
    return all(isinstance(a, Draw) and not a.complex and a.shape == (3,) for a in args)


def measured(function: Callable[[], Any], leaves: list[torch.Tensor]) -> tuple[float, float]:
    """The least seconds of a forward and of a backward pass."""
    forward = backward = float("inf")
    for round in range(ROUNDS):
        if round and forward + backward > 0.5:
            break  # long enough to be sure
        start = time.perf_counter()
        out = function()
        forward = min(forward, time.perf_counter() - start)
        if out.is_complex():
            out = torch.view_as_real(out)
        ones = torch.ones_like(out)
        start = time.perf_counter()
        torch.autograd.grad(out, leaves, ones, allow_unused=True)
        backward = min(backward, time.perf_counter() - start)
        del out
    return forward, backward


def main(pattern: str = "", verbose: str = "") -> None:
    """Print a line for each call, worst first."""
    found = []
    gc.disable()
    with np.errstate(all="ignore"):
        for name, function, leaves in calls():
            if pattern in name:
                try:
                    forward, backward = measured(function, leaves)
                except Exception as fault:
                    print(f"failed {name}: {str(fault).splitlines()[0]}", file=sys.stderr)
                    continue
                if verbose:
                    print(f"{forward:.3f} {backward:.3f} {name}", file=sys.stderr, flush=True)
                found.append((backward / forward, forward, backward, name))
    found.sort(reverse=True)
    for ratio, forward, backward, name in found:
        mark = "" if ratio <= BOUND else "beyond the bound"
        print(f"{ratio:6.2f}  {forward * 1e3:8.2f} ms  {backward * 1e3:8.2f} ms  {name}  {mark}")
    beyond = sum(1 for ratio, *_ in found if ratio > BOUND)
    print(f"{len(found)} calls, {beyond} beyond {BOUND:g} times the forward pass")


if __name__ == "__main__":
    main(*sys.argv[1:])
