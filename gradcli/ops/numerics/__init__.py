"""What operators compute with on plain arrays: accurate sums, quadrature and series."""
