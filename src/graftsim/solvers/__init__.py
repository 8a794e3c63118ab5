"""Matrices in, numbers out; no robot. Plain traced arithmetic, never a LAPACK call inside a step."""
