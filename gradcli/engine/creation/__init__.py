"""Making tensors: of data, filled, ranges, random numbers."""
