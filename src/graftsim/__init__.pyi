"""The public face, listed once: what `import graftsim` offers, and where it is found."""

from . import contact as contact
from . import dynamics as dynamics
from . import kernels as kernels
from . import model as model
from .compilation import (
    cache_compilations as cache_compilations,
)
from .engine import (
    ImplicitDamping as ImplicitDamping,
)
from .engine import (
    RungeKutta4 as RungeKutta4,
)
from .engine import (
    SemiImplicitEuler as SemiImplicitEuler,
)
from .engine import (
    Simulator as Simulator,
)
from .engine import (
    Trajectory as Trajectory,
)
from .errors import (
    FileError as FileError,
)
from .errors import (
    GraftsimError as GraftsimError,
)
from .errors import (
    GraftsimWarning as GraftsimWarning,
)
from .errors import (
    LogError as LogError,
)
from .errors import (
    ModelError as ModelError,
)
from .errors import (
    PrecisionError as PrecisionError,
)
from .errors import (
    ProblemError as ProblemError,
)
from .errors import (
    VariableError as VariableError,
)
from .graft import (
    GRU as GRU,
)
from .graft import (
    MLP as MLP,
)
from .graft import (
    ActionReaction as ActionReaction,
)
from .graft import (
    Blueprint as Blueprint,
)
from .graft import (
    Conservative as Conservative,
)
from .graft import (
    Dissipative as Dissipative,
)
from .graft import (
    Feature as Feature,
)
from .graft import (
    Graft as Graft,
)
from .graft import (
    Library as Library,
)
from .graft import (
    Odd as Odd,
)
from .graft import (
    ZeroAtRest as ZeroAtRest,
)
from .graft.onnx_export import (
    export_onnx as export_onnx,
)
from .graft.store import (
    describe_grafts as describe_grafts,
)
from .graft.store import (
    load_grafts as load_grafts,
)
from .graft.store import (
    save_grafts as save_grafts,
)
from .identify import (
    CMAES as CMAES,
)
from .identify import (
    LBFGS as LBFGS,
)
from .identify import (
    Adam as Adam,
)
from .identify import (
    Archipelago as Archipelago,
)
from .identify import (
    Automatic as Automatic,
)
from .identify import (
    BasinHopping as BasinHopping,
)
from .identify import (
    Bootstrap as Bootstrap,
)
from .identify import (
    Bounds as Bounds,
)
from .identify import (
    Custom as Custom,
)
from .identify import (
    DifferentialEvolution as DifferentialEvolution,
)
from .identify import (
    Domain as Domain,
)
from .identify import (
    LevenbergMarquardt as LevenbergMarquardt,
)
from .identify import (
    Positive as Positive,
)
from .identify import (
    Prior as Prior,
)
from .identify import (
    Problem as Problem,
)
from .identify import (
    RandomRestarts as RandomRestarts,
)
from .identify import (
    Result as Result,
)
from .identify import (
    Unbounded as Unbounded,
)
from .identify import (
    fit as fit,
)
from .identify.discover.discover import (
    discover as discover,
)
from .identify.discover.findings import (
    Discovery as Discovery,
)
from .identify.discover.score_test import (
    Criteria as Criteria,
)
from .identify.discover.sparsity_path import (
    SparsePath as SparsePath,
)
from .identify.discover.sparsity_path import (
    sparsify as sparsify,
)
from .identify.evidence.landscape import (
    landscape as landscape,
)
from .identify.experiment.excite import (
    Excitation as Excitation,
)
from .identify.experiment.excite import (
    excite as excite,
)
from .identify.pool.pool import (
    Pool as Pool,
)
from .identify.pool.workers import (
    cluster_executor as cluster_executor,
)
from .identify.pool.workers import (
    local_executor as local_executor,
)
from .identify.posterior.nuts import (
    Posterior as Posterior,
)
from .identify.posterior.nuts import (
    nuts as nuts,
)
from .identify.posterior.sbi_adapter import (
    for_sbi as for_sbi,
)
from .identify.posterior.variational_mixture import (
    MixtureFit as MixtureFit,
)
from .identify.posterior.variational_mixture import (
    Online as Online,
)
from .identify.posterior.variational_mixture import (
    fit_mixture as fit_mixture,
)
from .identify.problem.sensor import (
    Sensor as Sensor,
)
from .identify.results.result import (
    Landscape as Landscape,
)
from .identify.results.result import (
    Trace as Trace,
)
from .io.load import (
    load as load,
)
from .io.logs.columns import (
    ColumnSpec as ColumnSpec,
)
from .io.logs.read import (
    read_recording as read_recording,
)
from .io.logs.read import (
    read_recordings as read_recordings,
)
from .io.logs.read import (
    recording_from_arrays as recording_from_arrays,
)
from .io.logs.write import (
    write_csv as write_csv,
)
from .io.mjcf.write import (
    write_mjcf as write_mjcf,
)
from .io.urdf.write import (
    write_urdf as write_urdf,
)
from .model import (
    Builder as Builder,
)
from .model import (
    Model as Model,
)
from .model import (
    State as State,
)
from .optim.mixture import (
    GaussianMixture as GaussianMixture,
)
from .optim.sparsity import (
    SparseGroupLasso as SparseGroupLasso,
)
from .recordings.filters import (
    SavitzkyGolay as SavitzkyGolay,
)
from .recordings.recording import (
    Channel as Channel,
)
from .recordings.recording import (
    Recording as Recording,
)
from .recordings.signals import (
    differentiate as differentiate,
)
from .recordings.signals import (
    resample as resample,
)
from .report import (
    write_report as write_report,
)

__version__: str
