"""Matrices in, numbers out; no robot. Plain traced arithmetic, no LAPACK call inside a step."""
