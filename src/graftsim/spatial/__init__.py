"""Spatial algebra: rotations, transforms, 6-D vectors, inertias, and functions safe at zero.

Pure mathematics with no notion of a robot. Motion vectors are (angular; linear), force vectors
(moment; force), quaternions w, x, y, z, after Featherstone, Rigid Body Dynamics Algorithms (2008),
cited as RBDA.
"""
