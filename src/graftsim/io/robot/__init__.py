"""What robot formats share: XML with line numbers, meshes, poses, numbers, what is feasible."""
