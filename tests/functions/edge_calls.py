"""Calls at the edges of what functions take: one entry, none, ties, infinities, odd parameters.

Each is a text that runs under PyTorch and under gradcli, with ``torch`` and ``F`` the library and
``x`` the array that stands before it, which it is differentiated by, twice. ``record_edges``
records what PyTorch gives; ``APART`` says where gradcli differs on purpose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

INF, NAN = float("inf"), float("nan")

# fmt: off
CALLS: tuple[tuple[np.ndarray | None, tuple[str, ...]], ...] = (
    (np.array(2.0), (
        "torch.sum(x,0)", "torch.mean(x,0)", "torch.prod(x,0)", "torch.cumsum(x,0)",
        "torch.cumprod(x,0)", "torch.max(x,0)", "torch.min(x,-1)", "torch.sort(x,0)",
        "torch.argsort(x)", "torch.median(x,0)", "torch.mode(x,0)", "torch.kthvalue(x,1)",
        "torch.topk(x,1)", "torch.logsumexp(x,0)", "torch.softmax(x,0)", "torch.log_softmax(x,-1)",
        "torch.norm(x)", "torch.var(x)", "torch.std(x,correction=0)", "torch.unique(x)",
        "torch.flip(x,())", "torch.cummax(x,0)", "torch.logcumsumexp(x,0)", "torch.quantile(x,0.5)",
        "torch.nanmedian(x)", "torch.amax(x,())", "torch.flatten(x)", "torch.atleast_2d(x)",
        "torch.squeeze(x)", "torch.where(x>1,x,x*2)", "torch.linalg.vector_norm(x)",
        "torch.dist(x,x)", "torch.nan_to_num(x)", "torch.renorm(x.reshape(1,1),2,0,1.0)",
        "torch.tile(x,(2,))", "torch.repeat_interleave(x,3)", "torch.stack([x,x])",
        "torch.clamp(x,3,1)", "torch.diag_embed(x.reshape(1))",
    )),
    (np.array([5.0]), (
        "torch.var(x)", "torch.std(x)", "torch.var(x,correction=0)", "torch.std(x,correction=0)",
        "torch.std(x,correction=1)", "torch.var_mean(x)", "torch.std_mean(x,correction=2)",
        "torch.quantile(x,0.3)", "torch.diff(x)", "torch.diff(x,n=0)", "torch.trapezoid(x)",
        "torch.median(x)", "F.softmax(x,0)", "F.normalize(x,dim=0)", "torch.cov(x)",
        "torch.cumsum(x,0)", "torch.kthvalue(x,1)", "torch.logsumexp(x,0)", "F.layer_norm(x,(1,))",
        "torch.corrcoef(torch.stack([x,x]).reshape(2,1))",
    )),
    (np.zeros((0, 3)), (
        "x.sum(0)", "x.sum(1)", "x.mean(0)", "x.mean(1)", "x.prod(0)", "x.prod(1)", "x.var(0)",
        "x.std(1)", "x.logsumexp(0)", "x.logsumexp(1)", "x.softmax(0)", "x.softmax(1)",
        "x.cumsum(0)", "x.cumprod(1)", "x.norm(dim=0)", "x.norm(dim=1)", "x.sort(0)[0]",
        "x.amax(1)", "x.max(1)[0]", "x.t() @ x", "x @ x.t()", "x.flip(0)", "torch.cat([x,x])",
        "torch.cdist(x,x)", "x.all(0)", "x.any(1)", "x.nansum(0)", "x.median(1)[0]",
        'torch.einsum("ij,ij->j",x,x)', 'torch.einsum("ij,kj->ik",x,x)', "x.topk(0,1)[0]",
        "x.diff(dim=1)", "x.reshape(3,0).sum(1)", "torch.linalg.vector_norm(x,2,0)",
        "torch.linalg.vector_norm(x,2,1)", "torch.count_nonzero(x,0)", "x.expand(2,0,3).sum(0)",
        "torch.kron(x,x)", "x.unsqueeze(0).mean((1,2))", "x.prod()", "x.repeat(2,2)", "F.relu(x)",
        'F.cross_entropy(x,torch.zeros(0,dtype=torch.long),reduction="none")',
        'F.cross_entropy(x,torch.zeros(0,dtype=torch.long),reduction="sum")',
        "F.cross_entropy(x,torch.zeros(0,dtype=torch.long))", "F.mse_loss(x,x)",
        'F.mse_loss(x,x,reduction="sum")', "F.linear(x,torch.ones(2,3,dtype=x.dtype))",
        "x.masked_select(x>0)", "x[x>0].sum()", "x.gather(0,torch.zeros(0,3,dtype=torch.long))",
        "x.index_select(0,torch.zeros(0,dtype=torch.long))", "torch.stack([x,x]).amax(0)",
        "x.nonzero()", "x.unique()", "torch.tensordot(x,x,dims=([0],[0]))", "x.cummax(0)[0]",
        "torch.nn.functional.pad(x,(1,1))",
    )),
    (np.zeros((0, 0)), (
        "torch.det(x)", "torch.linalg.inv(x)", "torch.trace(x)", "torch.linalg.slogdet(x)",
        "torch.matrix_exp(x)", "torch.linalg.matrix_power(x,0)", "torch.linalg.eigvalsh(x)",
        "torch.linalg.cholesky(x)", "torch.linalg.norm(x)",
    )),
    (np.array([[-INF, -INF], [-INF, 0.0], [INF, 0.0], [0.0, 0.0]]), (
        "torch.softmax(x,1)", "torch.log_softmax(x,1)", "torch.logsumexp(x,1)",
        "torch.logsumexp(x,(0,1))", "F.softmin(x,1)", "torch.cumsum(x,1)",
        "torch.logcumsumexp(x,1)", "torch.logaddexp(x[:,0],x[:,1])",
        "torch.logaddexp2(x[:,0],x[:,1])",
        'F.cross_entropy(x,torch.zeros(4,dtype=torch.long),reduction="none")',
        'F.cross_entropy(x,torch.ones(4,dtype=torch.long),reduction="none")', "torch.amax(x,1)",
        "torch.cummin(x,1)", "torch.diff(x)", "torch.mean(x,1)", "torch.var(x,1)",
        "torch.median(x,1)", "torch.nanmedian(x,1)", "torch.aminmax(x,dim=1)",
        "torch.nan_to_num(x)", "torch.clamp(x,-1,1)", "F.normalize(x)",
        "torch.linalg.vector_norm(x,dim=1)", "torch.linalg.vector_norm(x,1,1)",
        'torch.linalg.vector_norm(x,float("inf"),1)', "torch.quantile(x,0.5,1)",
        "torch.cumprod(x,1)", "torch.prod(x,1)", "torch.nansum(x,1)", "F.logsigmoid(x)",
        "F.softplus(x)", "F.gelu(x)", "F.silu(x)", "F.mish(x)", "F.hardswish(x)", "torch.erf(x)",
        "torch.special.expit(x)", "torch.special.log_ndtr(x)", "torch.tanh(x)",
        "torch.atan2(x[:,0],x[:,1])", "torch.hypot(x[:,0],x[:,1])", "torch.copysign(x[:,0],x[:,1])",
        "torch.nextafter(x[:,0].detach(),x[:,1].detach())", "torch.frexp(x.detach())",
    )),
    (np.array([0.0, 0.0, 0.0]), (
        "torch.linalg.vector_norm(x,0)", "torch.linalg.vector_norm(x,1)",
        "torch.linalg.vector_norm(x,2)", "torch.linalg.vector_norm(x,3)",
        'torch.linalg.vector_norm(x,float("inf"))', 'torch.linalg.vector_norm(x,-float("inf"))',
        "torch.linalg.vector_norm(x,-1)", "torch.linalg.vector_norm(x,0.5)",
        "torch.linalg.vector_norm(x,4)", "torch.norm(x,1)", 'torch.norm(x,p=float("inf"))',
        "F.normalize(x,dim=0)", "F.normalize(x,p=1.0,dim=0)", "F.cosine_similarity(x,x,0)",
        "F.cosine_similarity(x,torch.ones_like(x),0)", "F.pairwise_distance(x,x)",
        "F.pairwise_distance(x,x,p=1.0)", "torch.dist(x,x)", "torch.dist(x,x,1)", "torch.std(x)",
        "torch.var(x)", "torch.prod(x)", "torch.cumprod(x,0)", "torch.max(x)", "torch.min(x)",
        "torch.amax(x)", "torch.median(x)", "torch.sqrt(x)", "x**0", "x**1", "x**2", "x**0.5",
        "x**1.5", "0**x", "x**x", "torch.pow(x,torch.zeros_like(x))", "torch.xlogy(x,x)",
        "torch.special.xlog1py(x,x-1)", "torch.special.entr(x)", "torch.sinc(x)", "torch.angle(x)",
        "torch.sgn(x)", "torch.abs(x)", "torch.relu(x)", "F.hardtanh(x,0,1)", "F.leaky_relu(x)",
        "F.prelu(x,torch.tensor([0.25],dtype=x.dtype))", "F.elu(x)", "F.hardshrink(x,0.0)",
        "F.softshrink(x,0.0)", "F.threshold(x,0.,5.)", "torch.clamp(x,0,1)", "torch.clamp(x,min=0)",
        "torch.atan2(x,x)", "torch.hypot(x,x)", "torch.rsqrt(x)", "torch.log(x)",
        "torch.reciprocal(x)", "torch.digamma(x)", "torch.lgamma(x)", "torch.sign(x)",
        "F.smooth_l1_loss(x,x)", "F.smooth_l1_loss(x,torch.ones_like(x),beta=0.0)",
        "F.huber_loss(x,x+1,delta=1.0)", "F.l1_loss(x,x)", "F.layer_norm(x,(3,))",
        "torch.cdist(x.reshape(3,1),x.reshape(3,1))",
        "torch.cdist(x.reshape(3,1),x.reshape(3,1),p=1.0)", "F.pdist(x.reshape(3,1))",
        "torch.renorm(x.reshape(1,3),2,0,1.0)", "torch.kthvalue(x,2)", "torch.sort(x)[0]",
        "torch.cummax(x,0)[0]", "torch.maximum(x,x)", "torch.fmin(x,x)",
        "torch.heaviside(x.detach(),torch.tensor(0.5,dtype=x.dtype))", "torch.logit(x,eps=1e-3)",
        "torch.special.logit(x)", "torch.erfinv(x)", "torch.i0(x)", "torch.special.i1(x)",
        "torch.special.ndtri(x+0.5)", "torch.fmod(x,2)", "torch.remainder(x,2)", "x/x",
        "torch.mode(x)[0]", "torch.unique(x)",
    )),
    (np.array([1.0, NAN, 3.0, 2.0, 2.0]), (
        "torch.clamp(x,0,2)", "torch.clamp(x,min=torch.full_like(x,2))", "torch.clamp_max(x,2)",
        "torch.maximum(x,torch.ones_like(x))", "torch.fmax(x,torch.ones_like(x))", "torch.max(x)",
        "torch.median(x)", "torch.nanmedian(x)", "torch.sort(x)", "torch.sort(x,descending=True)",
        "torch.topk(x,2)", "torch.kthvalue(x,5)", "torch.cummax(x,0)", "torch.cummin(x,0)",
        "torch.cumsum(x,0)", "torch.cumprod(x,0)", "torch.nansum(x)", "torch.nanmean(x)",
        "torch.nanquantile(x,0.5)", "torch.quantile(x,0.5)", "torch.argmax(x)", "torch.argmin(x)",
        "torch.aminmax(x)", "torch.nan_to_num(x,nan=7.0)",
        "torch.where(torch.isnan(x),torch.zeros_like(x),x)", "torch.relu(x)", "F.leaky_relu(x)",
        "F.elu(x)", "F.hardtanh(x)", "F.relu6(x)", "torch.sign(x)", "torch.sgn(x)",
        "torch.logsumexp(x,0)", "torch.softmax(x,0)", "torch.all(x)", "torch.any(x)",
        "torch.isclose(x,x,equal_nan=True)", "torch.unique_consecutive(x)", "torch.floor(x)",
        "torch.round(x)", "torch.searchsorted(torch.tensor([1.,2.,3.],dtype=x.dtype),x.detach())",
        "torch.bucketize(x.detach(),torch.tensor([1.,2.],dtype=x.dtype))", "torch.signbit(x)",
        "torch.eq(x,x)", "x.to(torch.int64)[:1]", "x.bool()", "torch.nan_to_num(x).prod()",
        "torch.logical_not(x)", "torch.count_nonzero(x)", "x.masked_fill(x.isnan(),0.)",
        "torch.special.xlogy(torch.zeros_like(x),x)", "torch.mul(x,0)", "torch.lerp(x,x,0.5)",
        "torch.amin(x)", 'torch.linalg.vector_norm(x,float("inf"))',
        "torch.linalg.vector_norm(x,0)",
    )),
    (np.array([5e-324, 1e-310, 1e-200, 1e+200, 1.7e+308, -1.7e+308]), (
        "x*x", "x/x", "torch.sqrt(x.abs())", "torch.log(x.abs())", "torch.exp(x)",
        "torch.rsqrt(x.abs())", "torch.hypot(x,x)", "torch.linalg.vector_norm(x)",
        "torch.linalg.vector_norm(x,3)", "torch.norm(x,1)", "torch.mean(x)", "torch.sum(x)",
        "torch.var(x)", "torch.logsumexp(x,0)", "torch.softmax(x,0)", "torch.cumsum(x,0)",
        "torch.sigmoid(x)", "torch.tanh(x)", "torch.square(x)", "x**3", "x**-1", "torch.atan2(x,x)",
        "torch.log1p(x.abs())", "torch.expm1(x)", "torch.lgamma(x.abs())", "torch.digamma(x.abs())",
        "torch.asinh(x)", "torch.acosh(x.abs())", "torch.atan(x)", "torch.fmod(x,3.0)",
        "torch.remainder(x,3.0)", "F.softsign(x)", "F.softplus(x)", "F.normalize(x,dim=0)",
        "torch.ldexp(x,torch.tensor(2))", "torch.frexp(x.detach())", "torch.trunc(x)",
        "torch.round(x,decimals=3)", "torch.logaddexp(x,x)", "torch.special.erfcx(x)",
        "torch.nextafter(x.detach(),torch.zeros_like(x))", "x-x", "torch.clamp(x,-1e300,1e300)",
        "x.float()", "x.half()", "F.mse_loss(x,-x)", "F.huber_loss(x,-x)", "F.smooth_l1_loss(x,-x)",
        "torch.dot(x,x)", "torch.prod(x)", "torch.cumprod(x,0)", "torch.reciprocal(x)",
    )),
    (np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]]), (
        "F.cross_entropy(x,torch.tensor([-100,-100]))",
        'F.cross_entropy(x,torch.tensor([-100,-100]),reduction="sum")',
        'F.cross_entropy(x,torch.tensor([-100,-100]),reduction="none")',
        "F.cross_entropy(x,torch.tensor([0,-100]))",
        "F.cross_entropy(x,torch.tensor([0,2]),ignore_index=2)",
        "F.cross_entropy(x,torch.tensor([0,1]),weight=torch.tensor([0.,0.,1.],dtype=x.dtype))",
        "F.cross_entropy(x,torch.tensor([0,1]),label_smoothing=0.2,weight=torch.tensor([0.,1.,"
        "1.],dtype=x.dtype))", "F.cross_entropy(x,torch.softmax(x,1).detach(),label_smoothing=0.1)",
        "F.cross_entropy(x,torch.tensor([2,1]),label_smoothing=1.0)",
        "F.cross_entropy(x,torch.tensor([0,-100]),label_smoothing=0.3)",
        "F.nll_loss(x,torch.tensor([0,1]),weight=torch.zeros(3,dtype=x.dtype))",
        'F.nll_loss(x,torch.tensor([-100,1]),reduction="none")',
        "F.multi_margin_loss(x,torch.tensor([0,2]))",
        "F.multi_margin_loss(x,torch.tensor([0,2]),p=2,margin=0.5)",
        "F.multilabel_margin_loss(x,torch.tensor([[0,-1,1],[-1,0,1]]))",
        "F.multilabel_soft_margin_loss(x,(x>0).to(x.dtype))",
        "F.soft_margin_loss(x,x.sign().detach())", "F.hinge_embedding_loss(x,torch.ones_like(x))",
        "F.hinge_embedding_loss(x,-torch.ones_like(x))",
        "F.margin_ranking_loss(x[0],x[1],torch.tensor([1.,-1.,1.],dtype=x.dtype))",
        "F.triplet_margin_loss(x,x,x)", "F.triplet_margin_loss(x,x,x+1,swap=True)",
        "F.cosine_embedding_loss(x,x*0,torch.tensor([1,-1]))",
        "F.cosine_embedding_loss(x,x,torch.tensor([1,-1]),margin=0.5)",
        "F.gaussian_nll_loss(x,x*2,torch.zeros_like(x))",
        "F.gaussian_nll_loss(x,x*2,x.abs(),full=True)", "F.poisson_nll_loss(x,x.abs(),full=True)",
        "F.poisson_nll_loss(x.abs(),x.abs(),log_input=False,full=True)",
        "F.kl_div(x,x.abs(),log_target=True)",
        'F.kl_div(x,torch.zeros_like(x),reduction="batchmean")',
        "F.binary_cross_entropy(torch.tensor([0.,1.,.5],dtype=x.dtype)+0*x[0],torch.tensor("
        "[0.,1.,1.],dtype=x.dtype))",
        "F.binary_cross_entropy(torch.tensor([1.,0.,.5],dtype=x.dtype)+0*x[0],torch.tensor("
        "[0.,1.,1.],dtype=x.dtype))",
        "F.binary_cross_entropy_with_logits(x*1000,(x>0).to(x.dtype),pos_weight=torch.tensor("
        "[2.,0.,1.],dtype=x.dtype))", "F.huber_loss(x,x.flip(1),delta=0.5)",
        "F.smooth_l1_loss(x,x.flip(1),beta=0.0)",
        "F.ctc_loss(x.log_softmax(1).unsqueeze(1),torch.tensor([[1]]),torch.tensor([2]),"
        "torch.tensor([1]))",
        "F.ctc_loss(x.log_softmax(1).unsqueeze(1),torch.tensor([[1,1]]),torch.tensor([2]),"
        "torch.tensor([2]))",
        "F.ctc_loss(x.log_softmax(1).unsqueeze(1),torch.tensor([[1,1]]),torch.tensor([2]),"
        "torch.tensor([2]),zero_infinity=True)",
        "F.ctc_loss(x.log_softmax(1).unsqueeze(1),torch.tensor([[1,2]]),torch.tensor([2]),"
        "torch.tensor([0]))",
        'F.ctc_loss(x.log_softmax(1).unsqueeze(1),torch.tensor([[1,2]]),torch.tensor([2]),'
        'torch.tensor([2]),reduction="sum")', "F.glu(torch.cat([x,x],1))",
        "F.local_response_norm(x.reshape(1,2,3),2)", "F.batch_norm(x,None,None,training=True)",
        "F.batch_norm(x*0,None,None,training=True)", "F.instance_norm(x.reshape(1,2,3))",
        "F.group_norm(x.reshape(1,2,3),2)", "F.group_norm(x.reshape(1,2,3)*0,1)",
        "F.embedding(torch.tensor([0,0,1]),x)",
        "F.embedding(torch.tensor([0,0,1]),x,padding_idx=0)",
        "F.embedding(torch.tensor([0,1]),x,max_norm=1.0)",
        "F.embedding_bag(torch.tensor([0,1,1]),x,torch.tensor([0,0,2]))",
        'F.embedding_bag(torch.tensor([0,1,1]),x,torch.tensor([0,1]),mode="max")',
        "F.one_hot(torch.tensor([0,2]),4)", "F.max_pool1d(x.reshape(1,2,3),2,ceil_mode=True)",
        "F.max_pool1d(x.reshape(1,2,3),2,padding=1)",
        "F.avg_pool1d(x.reshape(1,2,3),2,padding=1,count_include_pad=False)",
        "F.avg_pool1d(x.reshape(1,2,3),2,ceil_mode=True)",
        "F.adaptive_avg_pool1d(x.reshape(1,2,3),2)", "F.adaptive_max_pool1d(x.reshape(1,2,3),2)",
        "F.lp_pool1d(x.reshape(1,2,3)*0,2,2)",
        'F.interpolate(x.reshape(1,2,3),size=5,mode="linear")',
        'F.interpolate(x.reshape(1,2,3),size=5,mode="linear",align_corners=True)',
        'F.interpolate(x.reshape(1,2,3),size=1,mode="linear",align_corners=True)',
        "F.interpolate(x.reshape(1,2,3),size=2)",
        'F.interpolate(x.reshape(1,1,2,3),size=(3,5),mode="bicubic")', "F.pad(x,(1,-1))",
        'F.pad(x.reshape(1,2,3),(2,1),mode="reflect")',
        'F.pad(x.reshape(1,2,3),(2,1),mode="circular")',
        'F.pad(x.reshape(1,2,3),(2,1),mode="replicate")',
        "F.conv1d(x.reshape(1,2,3),torch.ones(1,2,2,dtype=x.dtype),padding=1,dilation=2)",
        "F.conv_transpose1d(x.reshape(1,2,3),torch.ones(2,1,2,dtype=x.dtype),stride=2,"
        "output_padding=1)", "F.unfold(x.reshape(1,1,2,3),2)",
        "F.grid_sample(x.reshape(1,1,2,3),torch.tensor([[[[-1.,-1.],[1.5,0.]]]]," "dtype=x.dtype))",
        "F.scaled_dot_product_attention(x.unsqueeze(0),x.unsqueeze(0),x.unsqueeze(0),"
        "attn_mask=torch.zeros(1,2,2,dtype=torch.bool))",
        "F.scaled_dot_product_attention(x.unsqueeze(0),x.unsqueeze(0),x.unsqueeze(0),"
        "is_causal=True)", "F.dropout(x,0.0)", "F.alpha_dropout(x,0.0)",
        "x.scatter(1,torch.tensor([[0,0],[2,2]]),5.0)",
        "x.scatter_add(1,torch.tensor([[0,0],[2,2]]),x[:,:2])",
        'x.scatter_reduce(1,torch.tensor([[0,0],[2,2]]),x[:,:2],"prod")',
        'x.scatter_reduce(1,torch.tensor([[0,0],[2,2]]),x[:,:2],"amax",include_self=False)',
        'x.scatter_reduce(1,torch.tensor([[0,0],[2,2]]),x[:,:2],"mean",include_self=False)',
        "x.index_add(1,torch.tensor([0,0]),x[:,:2],alpha=2)",
        'x.index_reduce(1,torch.tensor([0,0]),x[:,:2],"mean")',
        "x.index_copy(1,torch.tensor([2]),x[:,:1])",
        'x.index_fill(1,torch.tensor([0]),float("nan"))', "x.take(torch.tensor([0,0,5,-1]))",
        "x.put(torch.tensor([0,0]),torch.ones(2,dtype=x.dtype),accumulate=True)",
        "x.masked_scatter(x>0,torch.arange(6,dtype=x.dtype))", "x[...,-1:]", "x[[0,0,1],[1,1,2]]",
        "x[:,None,::2]", "x[torch.tensor([True,False])]",
        "torch.take_along_dim(x,torch.tensor([[0],[2]]),1)", "x.gather(1,torch.tensor([[0,0,2]]))",
        "x.roll(-4,1)", "x.roll((1,1),(0,1))", "x.rot90(3)", "x.tril(-1)", "x.triu(5)", "x.diag(1)",
        "torch.diag(x[0],-1)", "x.diagonal(5)", "torch.diagflat(x)", "x.unfold(1,3,1)",
        "x.unfold(1,1,2)", "x.narrow(1,3,0)", "x.split([0,3],1)", "x.chunk(5,1)",
        "torch.tensor_split(x,5,1)", "x.movedim(0,1)", "x.swapaxes(0,1)",
        "x.repeat_interleave(torch.tensor([0,2,1]),1)", "torch.block_diag(x,x)",
        "torch.cartesian_prod(x[0],x[1])", "torch.combinations(x[0],2)",
        "torch.combinations(x[0],2,True)", "torch.vander(x[0],0)",
        "torch.vander(x[0],2,increasing=True)", 'torch.meshgrid(x[0],x[1],indexing="xy")',
        "torch.histc(x,3,0,0)", "torch.histogram(x.detach(),3)",
        "torch.bincount(torch.tensor([],dtype=torch.int64))",
        "torch.bincount(torch.tensor([1,1]),minlength=4)", "torch.unique(x,dim=1)",
        "torch.isin(x,torch.tensor([2.,3.],dtype=x.dtype))",
        "torch.searchsorted(x[0].sort()[0].detach(),x[1].detach(),right=True)",
        "torch.cross(x,x.flip(1),dim=1)", "torch.cumulative_trapezoid(x)",
        "torch.trapezoid(x,dx=0.0)", "torch.gradient(x[0])",
        "torch.gradient(x[0],spacing=2.0,edge_order=2)", "torch.diff(x,n=3,dim=1)",
        "torch.diff(x,prepend=x[:,:1])",
        'torch.quantile(x,torch.tensor([0.,1.,.5],dtype=x.dtype),1,interpolation="midpoint")',
        'torch.quantile(x,0.25,interpolation="higher")', "torch.quantile(x,0.,1,keepdim=True)",
        "torch.cov(x,correction=0)", "torch.cov(x,fweights=torch.tensor([1,0,2]))",
        "torch.corrcoef(x*0)", "torch.cosine_similarity(x,x*0)", "torch.std(x,1,correction=3)",
        "torch.var(x,(0,1),correction=7)", "torch.std_mean(x,1)", "torch.logsumexp(x*1e5,1)",
        "torch.median(x,1)", "torch.mode(x.round(),1)", "torch.kthvalue(x,2,1,keepdim=True)",
        "torch.topk(x,0)", "torch.topk(x,3,sorted=True,largest=False)", "torch.aminmax(x)",
        "torch.nansum(x,())", "x.mean(())", "x.sum((0,1),keepdim=True)", "torch.amax(x,(0,1))",
        "torch.prod(x,1,keepdim=True)", "torch.cumsum(x,-1,dtype=torch.float32)",
        "torch.sum(x,dtype=torch.float32)", "x.sum(1,dtype=torch.complex128)",
        "torch.clamp(x,torch.tensor([0.,1.,2.],dtype=x.dtype),torch.tensor(1.0,dtype=x.dtype))",
        "torch.bucketize(x,torch.tensor([0.,2.],dtype=x.dtype),right=True)",
        "torch.addmm(x,x[:,:2],x,beta=0)", "torch.addmv(x[:,0],x,x[0],alpha=0)",
        'torch.baddbmm(x.unsqueeze(0)*float("nan"),x.unsqueeze(0)[:,:,:2],x.unsqueeze(0),'
        'beta=0)', "torch.addcdiv(x,x,x*0)", "torch.lerp(x,x+1,torch.tensor(2.0,dtype=x.dtype))",
        "torch.true_divide(x,0)", "x.fmod(0)", "x.remainder(0)", "torch.floor_divide(x,0.)",
        "torch.floor_divide(x,-0.7)", "torch.logit(x)", "torch.polygamma(1,x)",
        "torch.mvlgamma(x+5,3)", "torch.special.multigammaln(x.abs()+2,2)",
        "torch.special.zeta(x.abs()+1.5,0.5)", "torch.igamma(x.abs().detach(),x.abs())",
        "torch.special.log_softmax(x,0)", "torch.special.softmax(x,1,dtype=torch.float32)",
        "torch.ldexp(x,torch.tensor([-1,0,2000]))", "torch.float_power(x,0.5)", "torch.pow(-2.0,x)",
        "torch.pow(x,torch.tensor([2,0,-1]))", "torch.sinc(x*1e-9)", "torch.kron(x[0],x)",
        "torch.tensordot(x,x,2)", 'torch.einsum("ij->",x)', 'torch.einsum("ii->i",x[:,:2])',
        'torch.einsum("...j,j->...",x,x[0])', "torch.renorm(x,1,1,1.0)", "torch.cdist(x,x,p=0.0)",
        'torch.cdist(x,x,p=float("inf"))', "torch.cdist(x,x,p=3.0)",
        'F.pairwise_distance(x,x.flip(1),p=float("inf"))', "torch.dist(x,x.flip(1),0)",
        'torch.linalg.norm(x,"nuc")', "torch.linalg.norm(x,2)", "torch.linalg.norm(x,-1)",
        'torch.linalg.matrix_norm(x,float("inf"))', "torch.linalg.cond(x[:,:2])",
        "torch.linalg.matrix_rank(x)", "torch.linalg.pinv(x)", "torch.linalg.pinv(x*0)",
        "torch.linalg.svdvals(x)", "torch.linalg.qr(x)[1].abs()",
        "torch.linalg.lstsq(x.t(),x.t()[:,:1])[0]", "torch.linalg.multi_dot([x,x.t(),x])",
        "torch.linalg.matrix_power(x[:,:2],0)", "torch.linalg.matrix_power(x[:,:2],-2)",
        "torch.matrix_exp(x[:,:2]*0)",
        "torch.linalg.eigvalsh(torch.eye(2,dtype=x.dtype)+0*x[:,:2])",
        "torch.linalg.det(x[:,:2]*0)",
        "torch.linalg.cholesky(torch.eye(2,dtype=x.dtype)*4+0*x[:,:2])",
        "torch.linalg.solve_triangular(x[:,:2],x,upper=True)", "torch.linalg.vander(x[0])",
        "torch.linalg.vecdot(x,x)", "torch.linalg.cross(x,x+1)",
        "torch.linalg.householder_product(x.t(),x[:,0])", "torch.linalg.inv_ex(x[:,:2])",
        "torch.chain_matmul(x,x.t())",
    )),
    (np.array([-1.0, -0.5, 0.0, 2.0, -0.0]), (
        "torch.view_as_real(torch.sqrt(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.log(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.acos(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.asin(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.atan(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.acosh(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.asinh(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.atanh(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.exp(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.tan(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.tanh(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.sgn(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.log10(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.log2(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.rsqrt(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.reciprocal(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.sigmoid(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.log1p(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.expm1(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.square(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.sinh(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.cosh(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.sin(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.cos(torch.complex(x,0*x)))",
        "torch.view_as_real(torch.sqrt(torch.complex(x,-0.0*x.abs())))",
        "torch.view_as_real(torch.log(torch.complex(x,-0.0*x.abs())))",
        "torch.view_as_real(torch.acos(torch.complex(x,-0.0*x.abs())))",
        "torch.view_as_real(torch.asin(torch.complex(x,-0.0*x.abs())))",
        "torch.view_as_real(torch.acosh(torch.complex(x,-0.0*x.abs())))",
        "torch.view_as_real(torch.atanh(torch.complex(x,-0.0*x.abs())))",
        "torch.abs(torch.complex(x,0*x))", "torch.angle(torch.complex(x,0*x))",
        "torch.view_as_real(torch.complex(x,x)**0)",
        "torch.view_as_real(torch.complex(x,0*x)**0.5)",
        "torch.view_as_real(torch.polar(x.abs(),x))",
        "torch.view_as_real(torch.complex(x,x).conj()*2)", "torch.view_as_real(torch.fft.fft(x))",
        "torch.view_as_real(torch.fft.rfft(x))", "torch.view_as_real(torch.fft.fft(x,n=3))",
        "torch.fft.irfft(torch.complex(x,x))", "torch.fft.irfft(torch.complex(x,x),n=5)",
        "torch.fft.hfft(torch.complex(x,x))", "torch.fft.fftfreq(1)", "torch.fft.rfftfreq(4,0.5)",
        "torch.view_as_real(torch.fft.fftshift(torch.complex(x,x)))",
    )),
    (None, (
        "torch.arange(5,0,-2)", "torch.arange(0)", "torch.arange(0.,1.,0.3)",
        "torch.arange(1,-1,-0.5)", "torch.linspace(0,1,0)", "torch.linspace(0,1,1)",
        "torch.linspace(1,0,3)", "torch.logspace(0,2,1)", "torch.eye(0)", "torch.eye(2,3)",
        "torch.full((0,),2)", "torch.tensor([1,2])//torch.tensor([-2,3])",
        "torch.tensor([-7,7])%torch.tensor([3,-3])", "torch.tensor([7])>>1",
        "torch.tensor([-7])>>1", "torch.tensor([1])<<3", "torch.bitwise_not(torch.tensor([0,-1]))",
        "~torch.tensor([True,False])", "torch.tensor([True,True]).sum()",
        "torch.tensor([True,False]).cumsum(0)", "torch.tensor([2**62,2**62]).sum()",
        "torch.tensor([2**63-1])+1", "torch.tensor([-2**63]).abs()",
        "torch.tensor([3,1,2]).median()", "torch.tensor([1,2]).float().mean()",
        "torch.tensor([1,2])/0", "torch.tensor([0])/torch.tensor([0])", "torch.tensor([1,2])**2",
        "torch.tensor([2])**torch.tensor([63])", "torch.tensor(5)*0.5", "torch.tensor([1,2])*True",
        "torch.tensor([250],dtype=torch.uint8)+10", "torch.tensor([-128],dtype=torch.int8).abs()",
        "torch.tensor([1.5,2.5,-0.5]).round()", "torch.tensor([0.1],dtype=torch.float16)*3",
        "torch.tensor([65504.],dtype=torch.float16)*2",
        "torch.tensor([6e-8],dtype=torch.float16)/2", "torch.tensor([1e5]).half()",
        "torch.tensor([2048.],dtype=torch.float16)+1",
        "torch.tensor([1.,2.],dtype=torch.float16).sum()",
        "torch.ones(3000,dtype=torch.float16).sum()",
        "torch.ones(3000,dtype=torch.float16).cumsum(0)[-1]",
        "torch.tensor([1.],dtype=torch.float16).exp()",
        "torch.full((10,),60000.,dtype=torch.float16).mean()",
        "torch.tensor([300.],dtype=torch.float16).square()",
        "torch.tensor([1],dtype=torch.int32)+torch.tensor([1],dtype=torch.int64)",
        "torch.tensor([1],dtype=torch.int64)+torch.tensor(1.5,dtype=torch.float16)",
        "torch.tensor([1.],dtype=torch.float16)+torch.tensor([1.],dtype=torch.float32)",
        "torch.tensor([1.])+torch.tensor(1,dtype=torch.complex64)", "torch.tensor(3)/2",
        "torch.tensor(7)//2", "torch.tensor(-7)//2", "torch.tensor(-7).remainder(3)",
        "torch.tensor(-7).fmod(3)", "torch.tensor([1.,2.]).to(torch.bool)",
        "torch.tensor([-1.9,1.9]).to(torch.int64)", "torch.tensor([300.]).to(torch.uint8)",
        "torch.tensor([-1]).to(torch.uint8)", "torch.nextafter(torch.tensor(0.),torch.tensor(1.))",
        "torch.nextafter(torch.tensor(1.,dtype=torch.float64),torch.tensor(2.,"
        "dtype=torch.float64))", "torch.signbit(torch.tensor([-0.,0.]))",
        "torch.gcd(torch.tensor([0,0,-4]),torch.tensor([0,5,6]))",
        "torch.lcm(torch.tensor([0,4]),torch.tensor([5,6]))", "torch.tensor([1,2,3]).prod()",
        "torch.tensor([],dtype=torch.int64).prod()", "torch.tensor([],dtype=torch.int64).sum()",
        "torch.tensor([]).any()", "torch.tensor([]).all()", "torch.tensor([3,3,1]).argmax()",
        "torch.tensor([1,3,3]).topk(2)", "torch.tensor([2,2,1]).mode()",
        "torch.tensor([2,2,1]).unique(return_counts=True)", "torch.tensor([1,2,3]).clamp(max=2)",
        "torch.tensor([1,2,3]).clamp(1.5)", "torch.where(torch.tensor([True,False]),1,2.0)",
        "torch.where(torch.tensor([True,False]),torch.tensor(1),torch.tensor(2.5))",
        "torch.isclose(torch.tensor([1]),torch.tensor([1]))",
        "torch.trapezoid(torch.tensor([1,2,3]))", "torch.cov(torch.tensor([1,2,3]))",
        "torch.bincount(torch.tensor([1,2]),torch.tensor([.5,.5]))", "torch.tril_indices(0,3)",
        "torch.heaviside(torch.tensor([0,1]),torch.tensor([5,5]))",
        "torch.maximum(torch.tensor([True]),torch.tensor([False]))", "torch.tensor([True])*2.5",
        "torch.tensor([True])+torch.tensor([True])", "torch.tensor(True)&torch.tensor(2)",
        "torch.sign(torch.tensor([True,False]))", "torch.sin(torch.tensor([1,2]))",
        "torch.exp(torch.tensor(True))", "torch.floor(torch.tensor([1,2]))",
        "torch.atan2(torch.tensor([0.,-0.]),torch.tensor([-1.,-1.]))",
        "torch.pow(torch.tensor([-8.]),1/3)", "torch.pow(torch.tensor(0),0)",
        "torch.pow(torch.tensor([0.,-0.]),-1)",
        'torch.tensor([2.,-2.])**torch.tensor([float("inf")])',
        "torch.special.zeta(torch.tensor([1.,2.]),torch.tensor([1.,0.]))",
        "torch.polygamma(1,torch.tensor([0.,-1.]))", "torch.lgamma(torch.tensor([0.,-1.,-1.5]))",
        "torch.digamma(torch.tensor([0.,-0.,-1.]))", "torch.erfinv(torch.tensor([1.,-1.,2.]))",
        "torch.special.ndtri(torch.tensor([0.,1.,2.]))", "torch.special.i0e(torch.tensor([1e5]))",
        "torch.special.entr(torch.tensor([-1.,0.,1.]))", "torch.acosh(torch.tensor([0.5]))",
        "torch.atanh(torch.tensor([1.,-1.,2.]))", "torch.logit(torch.tensor([0.,1.,1.5]))",
        'torch.frac(torch.tensor([-1.5,float("inf")]))',
        'torch.fmod(torch.tensor([5.,float("inf")]),torch.tensor([0.,2.]))',
        "torch.tensor([5.])//0", 'torch.tensor([float("inf")])//2',
        "torch.tensor([1e20]).to(torch.int32)*0", "torch.tensor(1.)==torch.tensor(1)",
        "torch.cumprod(torch.tensor([True,False]),0)", "torch.var(torch.tensor([1.]),correction=0)",
        "torch.median(torch.tensor([4.,1.,3.,2.]))", "torch.histc(torch.tensor([1.,1.,1.]),4)",
        'torch.bucketize(torch.tensor([float("nan")]),torch.tensor([1.,2.]))',
        'torch.count_nonzero(torch.tensor([float("nan"),0.]))',
        "torch.tensor([1,2]).logical_and(torch.tensor([0,1]))",
        "torch.triu(torch.ones(2,2,dtype=torch.bool))", "torch.tensor([1,2]).logsumexp(0)",
        "torch.tensor([1,2]).erf()", "torch.full((2,),True)", "torch.tensor([1,2.5])",
        "torch.tensor([1,True])", "torch.as_tensor([1j,2])",
    )),
)
# fmt: on

APART: tuple[tuple[str, str, str], ...] = (
    (
        r"norm|normalize|hypot|atan2|dist|cosine|renorm|elu\(|angle|sgn",
        "curve",
        "where there is no second derivative it is that of the side chosen, or 0; NaN there",
    ),
    (r"hypot|xlogy|xlog1py|poisson", "slope|curve", "0/0 at the origin: 0 here"),
    (
        r"0\*\*x|x\*\*x|torch.pow|torch.logit|torch.sinc|torch.det|linalg.det",
        "curve",
        "0*inf in its second derivative",
    ),
    (r"torch.var", "curve", "the slope is NaN already; 0 there"),
    (r"log_ndtr|logit|ldexp", "slope", "the limit, the formula's slope, a power of whole numbers"),
    (
        r"logaddexp|logcumsumexp|cumprod|torch.prod|asinh|softsign",
        "slope|curve",
        "infinities, NaN and huge numbers multiplied in another order",
    ),
    (r"copysign", "slope|curve", "inf/inf: the slope is a sign"),
    (r"hardswish|torch.sign|torch.sgn", "value0", "-inf*0 is 0, and the sign of NaN stays NaN"),
    (r"kthvalue", "value1|slope", "which one of several equal entries is not said"),
    (r"amin|vector_norm\(x,float", "slope", "NaN wins, and gets the gradient"),
    (r"vector_norm\(x,3\)|torch.var\(x\)", "slope", "its powers overflow"),
    (r"torch.(mean|sum)\(x\)|log1p|lstsq", "value0", "added in another order; a subnormal"),
    (r"huber_loss", "curve", "at delta the quadratic side"),
    (r"ctc_loss", "slope", "what cannot be has no slope; NaN there"),
    (r"batch_norm|det|acos\(|log1p", "value0", "the sign of a zero"),
    (r"dtype=torch.float32", "slope|curve", "its gradient is rounded to float32"),
    (r"baddbmm", "slope", "0*NaN, though its value leaves the NaN out"),
    (r"polygamma", "value0", "its reflection formula leaves the poles by rounding"),
    (r"acosh", "slope|curve", "below the cut it has the slope of above; conj(acosh(conj(z))) here"),
)
"""Calls (a pattern of their text), parts, and why gradcli differs."""


def evaluate(lib: Any, text: str, x: np.ndarray | None) -> dict[str, np.ndarray]:
    """Values as ``value0`` ..., the gradient of the first one's weighted sum as ``slope``, and the
    gradient of that one's as ``curve``; without what the library refuses."""
    lib.manual_seed(0)
    leaf = None if x is None else lib.tensor(x, requires_grad=True)
    outs = _flat(eval(text, {"torch": lib, "F": lib.nn.functional, "x": leaf}))
    found = {
        f"value{i}": np.asarray(getattr(o, "detach", lambda o=o: o)()) for i, o in enumerate(outs)
    }
    first = next((out for out in outs if getattr(out, "requires_grad", False)), None)
    if first is None or leaf is None:
        return found
    try:
        slope = _pulled_back(lib, first, leaf, 2.0)
        found["slope"] = np.asarray(slope.detach())
        found["curve"] = np.zeros(x.shape)
        if slope.requires_grad:
            found["curve"] = np.asarray(_pulled_back(lib, slope, leaf, -0.7).detach())
    except (RuntimeError, NotImplementedError):
        found.pop("curve", None)
    return found


def _flat(outs: Any) -> list[Any]:
    return [one for out in outs for one in _flat(out)] if isinstance(outs, tuple | list) else [outs]


def _pulled_back(lib: Any, out: Any, leaf: Any, last: float) -> Any:
    size = int(np.prod(out.shape))
    weights = lib.tensor(np.linspace(1, last, size).reshape(tuple(out.shape)), dtype=out.dtype)
    (found,) = lib.autograd.grad(
        out, leaf, weights, create_graph=True, allow_unused=True, materialize_grads=True
    )
    return found


def same(part: str, got: np.ndarray, want: np.ndarray) -> bool:
    """Whether two results are one, but for rounding; of values the sign of a zero counts too."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if want.dtype.kind not in "fc":
        return bool(np.all(got == want))
    rtol = {2: 2e-3, 4: 1e-5, 8: 1e-9}[want.real.dtype.itemsize]
    near = (got == want) | (np.isnan(got) & np.isnan(want))
    near |= np.abs(got - want) <= rtol * np.abs(want) + (0 if part == "value0" else 1e-13)
    if part.startswith("value") and want.dtype.kind == "f":
        near &= ~((got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want)))
    return bool(np.all(near))
