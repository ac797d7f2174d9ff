"""``gradcli.utils.data``: data sets, and their rows in batches, shuffled as PyTorch shuffles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine import Tensor
from gradcli.engine.creation.factories import as_tensor, empty, tensor
from gradcli.engine.creation.generator import Generator
from gradcli.engine.creation.sampling import randperm
from gradcli.engine.dtypes import int64
from gradcli.functions.overloads import stack
from gradcli.ops.errors import AssertionFault, UnwrittenFault, bad_argument, bad_type, bad_value
from gradcli.ops.memory_budget import step

__all__ = [
    "DataLoader", "Dataset", "Subset", "TensorDataset", "default_collate", "default_convert",
    "random_split",
]  # fmt: skip


class Dataset:
    """What has rows by number: a subclass writes ``__getitem__`` and ``__len__``."""

    def __getitem__(self, index: int) -> Any:
        """The row of that number; to be written by the subclass."""
        raise UnwrittenFault("E0304", "Subclasses of Dataset should implement __getitem__.")


class TensorDataset(Dataset):
    """Rows of tensors of one length: ``TensorDataset(x, y)[3]`` is ``(x[3], y[3])``.

    Raises AssertionFault (E0301) for lengths that differ.
    """

    def __init__(self, *tensors: Tensor) -> None:
        if len({t.shape[0] for t in tensors}) > 1:
            raise AssertionFault("E0301", "Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class Subset(Dataset):
    """Some rows of another data set."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset]:
    """A data set in parts of those lengths, or of those shares of it, its rows in random order."""
    count = len(dataset)
    if abs(sum(lengths) - 1) < 1e-9 and count != 1:
        sizes = [int(count * share) for share in lengths]
        for i in range(count - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
    if sum(lengths) != count:
        raise bad_argument("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(count, generator=generator).tolist()
    parts: list[Any] = []
    start: Any = 0
    for length in lengths:
        parts.append(Subset(dataset, order[start : start + length]))
        start += length
    return parts


def default_collate(batch: Sequence[Any]) -> Any:
    """Rows as one batch: tensors and numbers stacked, tuples and dicts part by part.

    Raises TypeFault (E0303) for what is none of these, RuntimeFault (E0304) for unequal lengths.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch), 0)
    if isinstance(first, np.ndarray | np.generic):
        return tensor(np.stack(batch))
    if isinstance(first, float):
        return tensor(list(batch), dtype="float64")
    if isinstance(first, int):
        return tensor(list(batch))
    if isinstance(first, dict):
        return {key: default_collate([row[key] for row in batch]) for key in first}
    if isinstance(first, tuple | list):
        if len({len(row) for row in batch}) > 1:
            raise bad_value("each element in list of batch should be of equal size")
        columns = [default_collate(column) for column in zip(*batch, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    if isinstance(first, str | bytes):
        return batch
    said = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists;"
    raise bad_type(f"{said} found {type(first)}")


def default_convert(row: Any) -> Any:
    """A row that is a batch already, with tensors for its arrays, and lists for its tuples."""
    if isinstance(row, np.ndarray):
        return as_tensor(row)
    if isinstance(row, dict):
        return {key: default_convert(value) for key, value in row.items()}
    if isinstance(row, tuple) and hasattr(row, "_fields"):
        return type(row)(*map(default_convert, row))
    return [default_convert(value) for value in row] if isinstance(row, tuple | list) else row


class DataLoader:
    """The rows of a data set in batches.

    shuffle     in an order that ``generator`` draws anew for each pass
    drop_last   without the last batch where it is short
    collate_fn  what makes a batch of rows

    Example:
        >>> import gradcli as torch
        >>> rows = TensorDataset(torch.arange(5))
        >>> [batch for (batch,) in DataLoader(rows, batch_size=2)]
        [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Any = None, batch_sampler: Any = None, num_workers: int = 0,
        collate_fn: Callable | None = None, pin_memory: bool = False, drop_last: bool = False,
        timeout: float = 0, worker_init_fn: Any = None, generator: Generator | None = None,
    ) -> None:  # fmt: skip
        if num_workers:
            raise bad_argument(f"num_workers={num_workers}: rows are read in this process")
        if timeout < 0:
            raise bad_argument("timeout option should be non-negative")
        if sampler is not None and shuffle:
            raise bad_argument("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                said = "is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                raise bad_argument(f"batch_sampler option {said}")
            batch_size = None
        elif batch_size is None and drop_last:
            said = "batch_size=None option disables auto-batching and is mutually exclusive with"
            raise bad_argument(f"{said} drop_last")
        elif batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
            raise bad_argument(f"batch_size should be a positive integer, got {batch_size}")
        self.dataset, self.batch_size = dataset, batch_size
        self.shuffle, self.drop_last = bool(shuffle), drop_last
        self.num_workers, self.pin_memory, self.timeout = num_workers, pin_memory, timeout
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        whole = batch_size is None and batch_sampler is None
        self.collate_fn = collate_fn or (default_convert if whole else default_collate)

    def __len__(self) -> int:
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        count = len(self.dataset if self.sampler is None else self.sampler)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def _order(self) -> Iterator[int]:
        if self.sampler is not None or not self.shuffle:
            yield from range(len(self.dataset)) if self.sampler is None else self.sampler
            return
        count = len(self.dataset)
        source = self.generator
        if source is None:  # a seed of its own, drawn from everybody's numbers
            source = Generator().manual_seed(empty((), dtype=int64).random_().item())
        yield from randperm(count, generator=source).tolist()
        randperm(count, generator=source)  # PyTorch draws at the end, too: the next pass knows

    def __iter__(self) -> Iterator[Any]:
        # PyTorch draws a seed for workers here, wanted or not; the numbers after it are the same.
        empty((), dtype=int64).random_(generator=self.generator)
        return self._batches()

    def _batches(self) -> Iterator[Any]:
        if self.batch_sampler is not None:
            for places in self.batch_sampler:
                yield self.collate_fn([self.dataset[i] for i in places])
            return
        if self.batch_size is None:
            for i in self._order():
                step()
                yield self.collate_fn(self.dataset[i])
            return
        rows: list = []
        for i in self._order():
            step()
            rows.append(i)
            if len(rows) == self.batch_size:
                yield self.collate_fn([self.dataset[i] for i in rows])
                rows = []
        if rows and not self.drop_last:
            yield self.collate_fn([self.dataset[i] for i in rows])
