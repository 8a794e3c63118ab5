"""MJCF, read and written; MuJoCo compiles what is read."""
