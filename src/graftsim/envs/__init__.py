"""Simulators as Gymnasium environments (`pip install 'graftsim[envs]'`)."""

from graftsim.envs.many import SimulatorVectorEnv
from graftsim.envs.single import SimulatorEnv
from graftsim.envs.task import Task

__all__ = ["SimulatorEnv", "SimulatorVectorEnv", "Task"]
