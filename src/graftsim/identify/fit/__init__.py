"""The fit: local solver, global search, growing windows."""
