"""graftsim: a differentiable rigid-body simulator that learns from a real machine's logs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graftsim.errors import (
    FileError,
    GraftsimError,
    GraftsimWarning,
    LogError,
    ModelError,
    PrecisionError,
    ProblemError,
    VariableError,
)

if TYPE_CHECKING:
    from graftsim import contact, dynamics, model
    from graftsim.compilation import cache_compilations
    from graftsim.engine import (
        ImplicitDamping,
        RungeKutta4,
        SemiImplicitEuler,
        Simulator,
        Trajectory,
    )
    from graftsim.graft import (
        GRU,
        MLP,
        ActionReaction,
        Blueprint,
        Conservative,
        Dissipative,
        Feature,
        Graft,
        Library,
        Odd,
        ZeroAtRest,
    )
    from graftsim.graft.onnx_export import export_onnx
    from graftsim.graft.store import describe_grafts, load_grafts, save_grafts
    from graftsim.identify import (
        CMAES,
        LBFGS,
        Adam,
        Archipelago,
        Automatic,
        BasinHopping,
        Bootstrap,
        Bounds,
        Custom,
        DifferentialEvolution,
        Domain,
        LevenbergMarquardt,
        Positive,
        Prior,
        Problem,
        RandomRestarts,
        Result,
        Unbounded,
        fit,
    )
    from graftsim.identify.discover import Discovery, discover
    from graftsim.identify.excite import Excitation, excite
    from graftsim.identify.landscape import landscape
    from graftsim.identify.mixture import MixtureFit, Online, fit_mixture
    from graftsim.identify.posterior import Posterior, nuts
    from graftsim.identify.result import Landscape, Trace
    from graftsim.identify.sbi_adapter import for_sbi
    from graftsim.identify.screen import Criteria
    from graftsim.identify.sparse import SparsePath, sparsify
    from graftsim.identify.tasks import Pool
    from graftsim.identify.workers import cluster_executor, local_executor
    from graftsim.io.filters import SavitzkyGolay
    from graftsim.io.load import load
    from graftsim.io.log_columns import ColumnSpec
    from graftsim.io.log_write import write_csv
    from graftsim.io.logs import read_recording, read_recordings, recording_from_arrays
    from graftsim.io.mjcf_write import write_mjcf
    from graftsim.io.recording import Channel, Recording
    from graftsim.io.signals import differentiate, resample
    from graftsim.io.urdf_write import write_urdf
    from graftsim.model import Builder, Model, State
    from graftsim.optim.mixture import GaussianMixture
    from graftsim.optim.sparsity import SparseGroupLasso

# Loaded when first used: the command line answers --help before JAX is there, and chooses its
# precision by the environment before JAX reads it.
_LAZY = {
    "SparseGroupLasso": "optim.sparsity",
    "discover": "identify.discover",
    "sparsify": "identify.sparse",
    "SparsePath": "identify.sparse",
    "Discovery": "identify.discover",
    "Criteria": "identify.screen",
    "ActionReaction": "graft",
    "Blueprint": "graft",
    "Conservative": "graft",
    "Dissipative": "graft",
    "Feature": "graft",
    "GRU": "graft",
    "Graft": "graft",
    "Library": "graft",
    "MLP": "graft",
    "Odd": "graft",
    "ZeroAtRest": "graft",
    "describe_grafts": "graft.store",
    "export_onnx": "graft.onnx_export",
    "load_grafts": "graft.store",
    "save_grafts": "graft.store",
    "Adam": "identify",
    "SavitzkyGolay": "io.filters",
    "cache_compilations": "compilation",
    "differentiate": "io.signals",
    "recording_from_arrays": "io.logs",
    "resample": "io.signals",
    "write_csv": "io.log_write",
    "LBFGS": "identify",
    "CMAES": "identify",
    "Archipelago": "identify",
    "Automatic": "identify",
    "Excitation": "identify.excite",
    "excite": "identify.excite",
    "Landscape": "identify.result",
    "landscape": "identify.landscape",
    "Bounds": "identify",
    "Builder": "model",
    "Channel": "io.recording",
    "ColumnSpec": "io.log_columns",
    "Custom": "identify",
    "Domain": "identify",
    "ImplicitDamping": "engine",
    "Pool": "identify.tasks",
    "cluster_executor": "identify.workers",
    "local_executor": "identify.workers",
    "BasinHopping": "identify",
    "Bootstrap": "identify",
    "DifferentialEvolution": "identify",
    "LevenbergMarquardt": "identify",
    "RandomRestarts": "identify",
    "Model": "model",
    "Positive": "identify",
    "Prior": "identify",
    "Problem": "identify",
    "Recording": "io.recording",
    "Result": "identify",
    "RungeKutta4": "engine",
    "SemiImplicitEuler": "engine",
    "Simulator": "engine",
    "State": "model",
    "Trajectory": "engine",
    "Trace": "identify.result",
    "MixtureFit": "identify.mixture",
    "Online": "identify.mixture",
    "fit_mixture": "identify.mixture",
    "GaussianMixture": "optim.mixture",
    "Posterior": "identify.posterior",
    "nuts": "identify.posterior",
    "for_sbi": "identify.sbi_adapter",
    "Unbounded": "identify",
    "fit": "identify",
    "load": "io.load",
    "read_recording": "io.logs",
    "read_recordings": "io.logs",
    "write_mjcf": "io.mjcf_write",
    "write_urdf": "io.urdf_write",
}


def __getattr__(name: str) -> Any:
    if name in ("contact", "dynamics", "model"):
        return import_module(f"graftsim.{name}")
    if name in _LAZY:
        return getattr(import_module(f"graftsim.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'graftsim' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__version__ = "0.1.0"

__all__ = [
    "CMAES",
    "GRU",
    "LBFGS",
    "MLP",
    "ActionReaction",
    "Adam",
    "Archipelago",
    "Automatic",
    "BasinHopping",
    "Blueprint",
    "Bootstrap",
    "Bounds",
    "Builder",
    "Channel",
    "ColumnSpec",
    "Conservative",
    "Criteria",
    "Custom",
    "DifferentialEvolution",
    "Discovery",
    "Dissipative",
    "Domain",
    "Excitation",
    "Feature",
    "FileError",
    "GaussianMixture",
    "Graft",
    "GraftsimError",
    "GraftsimWarning",
    "ImplicitDamping",
    "Landscape",
    "LevenbergMarquardt",
    "Library",
    "LogError",
    "MixtureFit",
    "Model",
    "ModelError",
    "Odd",
    "Online",
    "Pool",
    "Positive",
    "Posterior",
    "PrecisionError",
    "Prior",
    "Problem",
    "ProblemError",
    "RandomRestarts",
    "Recording",
    "Result",
    "RungeKutta4",
    "SavitzkyGolay",
    "SemiImplicitEuler",
    "Simulator",
    "SparseGroupLasso",
    "SparsePath",
    "State",
    "Trace",
    "Trajectory",
    "Unbounded",
    "VariableError",
    "ZeroAtRest",
    "cache_compilations",
    "cluster_executor",
    "contact",
    "describe_grafts",
    "differentiate",
    "discover",
    "dynamics",
    "excite",
    "export_onnx",
    "fit",
    "fit_mixture",
    "for_sbi",
    "landscape",
    "load",
    "load_grafts",
    "local_executor",
    "model",
    "nuts",
    "read_recording",
    "read_recordings",
    "recording_from_arrays",
    "resample",
    "save_grafts",
    "sparsify",
    "write_csv",
    "write_mjcf",
    "write_urdf",
]
