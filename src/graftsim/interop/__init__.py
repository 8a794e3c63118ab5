"""The engine inside other programs: PyTorch (`interop.torch`), MuJoCo (`interop.mujoco`).

Neither is imported before it is asked for.
"""
