"""graftsim: a differentiable rigid-body simulator that learns from a real machine's logs."""
