"""Operators that take a matrix apart: eigenvalues, singular values, QR and LU factors."""
