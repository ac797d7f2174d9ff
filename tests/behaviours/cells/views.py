"""Cells on views, strides, indexing and rearranging."""

# The cells stand as a notebook has them.

import torch

# %% view
x = torch.arange(12)
print(x.view(3, 4), x.view(4, -1), x.view((2, 6)).shape, x.view(-1).shape)

# %% view shares
x = torch.zeros(4)
y = x.view(2, 2)
y[0, 0] = 5
print(x, y, x.data_ptr() == y.data_ptr())

# %% a view that cannot be
x = torch.arange(6).view(2, 3)
try:
    x.t().view(6)
except RuntimeError:
    print("use reshape")
print(x.t().reshape(6), x.t().contiguous().view(6))
try:
    x.view(4, 2)
except RuntimeError:
    print("invalid shape")

# %% t shares and is not contiguous
x = torch.arange(6).view(2, 3)
y = x.t()
print(y.shape, y.stride(), x.stride(), y.is_contiguous(), x.is_contiguous())
y[0, 1] = 100
print(x)

# %% strides
x = torch.zeros(2, 3, 4)
print(x.stride(), x.stride(0), x.transpose(0, 2).stride(), x[:, ::2].stride(), x.storage_offset())
print(x.expand(2, 3, 4).stride(), torch.ones(3, 1).expand(3, 4).stride(), x[1].storage_offset())

# %% view after transpose that fits
x = torch.zeros(2, 3, 4)
print(x.transpose(0, 1).view(3, 2, 2, 2).shape, x[:, :, :2].view(2, 3, 2, 1).shape)
try:
    x.transpose(0, 1).view(6, 4)
except RuntimeError:
    print("not this one")

# %% reshape copies where it must
x = torch.arange(4).view(2, 2)
y = x.t().reshape(4)
y[0] = 100
print(x, y)
z = x.reshape(4)
z[0] = 100
print(x)

# %% contiguous
x = torch.arange(6).view(2, 3)
print(x.contiguous() is x, x.t().contiguous().stride(), x.T.is_contiguous())

# %% squeeze and unsqueeze
x = torch.zeros(1, 3, 1)
print(x.squeeze().shape, x.squeeze(0).shape, x.squeeze(1).shape, x.squeeze(-1).shape)
print(x.unsqueeze(0).shape, x.unsqueeze(-1).shape, torch.tensor(1.0).unsqueeze(0))
print(x.squeeze((0, 2)).shape, torch.squeeze(x).shape, torch.unsqueeze(x, 1).shape)

# %% in place shapes
x = torch.arange(6.0).view(1, 2, 3)
print(x.squeeze_(0).shape, x.t_().shape, x.unsqueeze_(0).shape, x.transpose_(0, 1).shape)

# %% axes
x = torch.zeros(2, 3, 4)
print(x.permute(2, 0, 1).shape, x.transpose(0, 1).shape, x.movedim(0, -1).shape, x.mT.shape)
print(torch.movedim(x, (0, 1), (1, 2)).shape, x.moveaxis(2, 0).shape, x.swapdims(0, 2).shape)
print(x.swapaxes(0, 1).shape, torch.permute(x, (1, 0, 2)).shape, torch.transpose(x, 1, 2).shape)
print(x.flip(0).shape, torch.t(torch.ones(2, 3)).shape, torch.ones(3).t().shape, x.mH.shape)

# %% flatten and unflatten
x = torch.zeros(2, 3, 4)
print(x.flatten().shape, x.flatten(1).shape, x.flatten(0, 1).shape, torch.flatten(x, 1, -1).shape)
print(x.unflatten(2, (2, 2)).shape, x.unflatten(-1, (-1, 2)).shape, x.ravel().shape)

# %% expand and repeat
x = torch.tensor([[1], [2]])
print(x.expand(2, 3), x.expand(-1, 2), x.repeat(1, 2), x.repeat(2, 1), x.tile((2,)))
print(x.expand_as(torch.zeros(2, 2)), x.view_as(torch.zeros(1, 2)), x.reshape_as(torch.ones(2)))
print(torch.broadcast_to(x, (2, 2)), torch.tensor([1, 2]).repeat_interleave(2))
print(torch.broadcast_tensors(torch.zeros(2, 1), torch.ones(3))[1].shape)

# %% broadcasting
print(torch.ones(2, 1) + torch.tensor([10, 20, 30]))
try:
    torch.ones(2) + torch.ones(3)
except RuntimeError:
    print("sizes differ")

# %% indexing
x = torch.arange(12).view(3, 4)
print(x[0], x[0, 1], x[:, 1], x[1:, ::2], x[-1], x[..., 0], x[None].shape)
print(x[torch.tensor([0, 2])], x[[0, 2]], x[[0, 1], [1, 2]], x[x > 5], x[:, [0, -1]])
print(x[x % 2 == 0].sum(), x[1][2], x[2, -1].item(), x[torch.tensor(1)])

# %% out of range
x = torch.zeros(2, 3)
for index in (2, (0, 3), (0, 0, 0)):
    try:
        x[index]
    except IndexError:
        print("no such index")

# %% iteration
for row in torch.arange(4).view(2, 2):
    print(row)
for i, v in enumerate(torch.tensor([1.0, 2.0])):
    print(i, v, v.item())
a, b = torch.tensor([1, 2])
print(a, b, 2 in torch.tensor([1, 2]))

# %% writing by index
x = torch.zeros(3, 3)
x[0] = 1
x[1, 1] = 5
x[:, 2] = torch.tensor([7.0, 8.0, 9.0])
x[x == 0] = -1
print(x)
x[[0, 2]] = x[[2, 0]]
print(x)

# %% named selections
x = torch.arange(6).view(2, 3)
print(x.select(1, 0), x.narrow(1, 1, 2), torch.index_select(x, 1, torch.tensor([0, 2])))
print(x.masked_select(x > 2), torch.take(x, torch.tensor([0, 5])), x.diagonal(), torch.diag(x))
print(x.gather(1, torch.tensor([[0, 0], [2, 1]])), x.index_select(0, torch.tensor([1])))
print(torch.take_along_dim(x, torch.tensor([[0], [1]]), 1), torch.narrow(x, 0, 0, 1))

# %% masked fill and where
x = torch.tensor([1.0, -2.0, 3.0])
print(x.masked_fill(x < 0, 0), torch.where(x > 0, x, -x), torch.where(x > 0, 1, 0))
print(x.where(x > 0, torch.tensor(9.0)), torch.where(x > 2), x.masked_fill_(x > 2, 10.0), x)

# %% scatter and index_add
x = torch.zeros(3)
print(x.scatter(0, torch.tensor([0, 2]), torch.tensor([5.0, 6.0])))
print(x.scatter_add(0, torch.tensor([0, 0]), torch.ones(2)))
print(x.index_add(0, torch.tensor([1, 1]), torch.ones(2)), x.index_fill(0, torch.tensor([0]), 3))
print(x.index_copy(0, torch.tensor([2]), torch.tensor([4.0])))

# %% nonzero and unique
x = torch.tensor([3, 0, 3, 1])
print(x.nonzero(), torch.nonzero(x), torch.unique(x), x.unique(return_counts=True))
print(torch.nonzero(x, as_tuple=True), torch.bincount(x), torch.argwhere(x))

# %% sort, topk and kin
x = torch.tensor([3.0, 1.0, 2.0])
print(torch.sort(x))
print(x.sort(descending=True).values, x.argsort(), torch.argsort(x, descending=True))
print(torch.topk(x, 2))
print(x.topk(2, largest=False).indices, torch.kthvalue(x, 2), x.msort())

# %% roll, flip and rot90
x = torch.arange(4).view(2, 2)
print(x.roll(1), torch.roll(x, 1, 0), x.flip([0, 1]), torch.flip(x, (1,)), torch.rot90(x))
print(torch.fliplr(x), torch.flipud(x))

# %% triangles
x = torch.ones(3, 3)
print(torch.tril(x), torch.triu(x, diagonal=1), x.tril(-1), torch.diag_embed(torch.ones(2)))
print(torch.diag(torch.tensor([1, 2])), torch.tril_indices(2, 2), torch.block_diag(x[:1], x[:1]))

# %% meshgrid and products of sets
a, b = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing="ij")
print(a, b, torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4])))
print(torch.combinations(torch.tensor([1, 2, 3])))

# %% dimension out of range
try:
    torch.ones(2, 3).sum(dim=5)
except IndexError:
    print("no such dimension")
try:
    torch.ones(2, 3).t().squeeze(7)
except IndexError:
    print("nor that one")
