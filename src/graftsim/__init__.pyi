"""The public face, listed once: what `import graftsim` offers, and where it is found."""

from . import (
    contact as contact,
    control as control,
    dynamics as dynamics,
    kernels as kernels,
    model as model,
    vision as vision,
)
from .check import (
    CHECKS as CHECKS,
    Check as Check,
    Finding as Finding,
    Level as Level,
    check as check,
    check_robot as check_robot,
)
from .compilation import (
    cache_compilations as cache_compilations,
)
from .engine import (
    ImplicitDamping as ImplicitDamping,
    Integrator as Integrator,
    RungeKutta4 as RungeKutta4,
    SemiImplicitEuler as SemiImplicitEuler,
    Simulator as Simulator,
    Trajectory as Trajectory,
)
from .errors import (
    ControlError as ControlError,
    FileError as FileError,
    GraftsimError as GraftsimError,
    GraftsimWarning as GraftsimWarning,
    LogError as LogError,
    ModelError as ModelError,
    PrecisionError as PrecisionError,
    ProblemError as ProblemError,
    SuspiciousLogWarning as SuspiciousLogWarning,
    VariableError as VariableError,
)
from .export import (
    EXPORT_FORMATS as EXPORT_FORMATS,
    Exported as Exported,
    ExportFormat as ExportFormat,
    export as export,
)
from .graft import (
    GRU as GRU,
    MLP as MLP,
    ActionReaction as ActionReaction,
    Blueprint as Blueprint,
    Conservative as Conservative,
    Dissipative as Dissipative,
    Feature as Feature,
    Graft as Graft,
    Library as Library,
    Odd as Odd,
    ZeroAtRest as ZeroAtRest,
)
from .graft.onnx_export import (
    export_onnx as export_onnx,
)
from .graft.store import (
    describe_grafts as describe_grafts,
    load_grafts as load_grafts,
    save_grafts as save_grafts,
)
from .identify import (
    CMAES as CMAES,
    LBFGS as LBFGS,
    Adam as Adam,
    Archipelago as Archipelago,
    Automatic as Automatic,
    BasinHopping as BasinHopping,
    Bootstrap as Bootstrap,
    Bounds as Bounds,
    Custom as Custom,
    DifferentialEvolution as DifferentialEvolution,
    Domain as Domain,
    GlobalSearch as GlobalSearch,
    Huber as Huber,
    LevenbergMarquardt as LevenbergMarquardt,
    LocalSolver as LocalSolver,
    Loss as Loss,
    Positive as Positive,
    Prior as Prior,
    Problem as Problem,
    RandomRestarts as RandomRestarts,
    Result as Result,
    Squared as Squared,
    Tukey as Tukey,
    Unbounded as Unbounded,
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
    sparsify as sparsify,
)
from .identify.evidence.landscape import (
    landscape as landscape,
)
from .identify.experiment.excite import (
    Excitation as Excitation,
    FourierSearch as FourierSearch,
    excite as excite,
)
from .identify.fit.halves import (
    halves as halves,
)
from .identify.inverse.cutoff import (
    Cutoff as Cutoff,
)
from .identify.inverse.forces.joint_terms import (
    SpringTerm as SpringTerm,
)
from .identify.inverse.forces.term import (
    ForceTerm as ForceTerm,
)
from .identify.inverse.forces.terms import (
    FORCE_TERMS as FORCE_TERMS,
)
from .identify.inverse.forces.transmission import (
    LinearTransmission as LinearTransmission,
)
from .identify.inverse.gains import (
    motor_gains as motor_gains,
)
from .identify.inverse.inverse_fit import (
    inverse_fit as inverse_fit,
)
from .identify.inverse.payload import (
    Payload as Payload,
    payload_fit as payload_fit,
)
from .identify.inverse.result import (
    InverseFit as InverseFit,
)
from .identify.pool.pool import (
    Pool as Pool,
)
from .identify.pool.workers import (
    cluster_executor as cluster_executor,
    local_executor as local_executor,
)
from .identify.posterior.nuts import (
    Posterior as Posterior,
    nuts as nuts,
)
from .identify.posterior.sbi_adapter import (
    for_sbi as for_sbi,
)
from .identify.posterior.variational_mixture import (
    MixtureFit as MixtureFit,
    Online as Online,
    Training as Training,
    fit_mixture as fit_mixture,
)
from .identify.results.result import (
    Landscape as Landscape,
    Trace as Trace,
)
from .io.formats import (
    ROBOT_FORMATS as ROBOT_FORMATS,
)
from .io.load import (
    load as load,
)
from .io.logs.columns import (
    ColumnSpec as ColumnSpec,
)
from .io.logs.format import (
    LogFormat as LogFormat,
)
from .io.logs.formats import (
    LOG_FORMATS as LOG_FORMATS,
)
from .io.logs.read import (
    read_recording as read_recording,
    read_recordings as read_recordings,
    recording_from_arrays as recording_from_arrays,
)
from .io.logs.write import (
    write_csv as write_csv,
)
from .io.robot.format import (
    RobotFormat as RobotFormat,
)
from .io.write import (
    write_mjcf as write_mjcf,
    write_robot as write_robot,
    write_urdf as write_urdf,
)
from .model import (
    Builder as Builder,
    Model as Model,
    State as State,
)
from .optim.clipped_adam import (
    ClippedAdam as ClippedAdam,
    time_left as time_left,
)
from .optim.mixture import (
    GaussianMixture as GaussianMixture,
)
from .optim.sparsity import (
    SparseGroupLasso as SparseGroupLasso,
)
from .recordings.align import (
    Alignment as Alignment,
    align_clocks as align_clocks,
)
from .recordings.filters import (
    SavitzkyGolay as SavitzkyGolay,
)
from .recordings.merge import (
    merge_recordings as merge_recordings,
)
from .recordings.recording import (
    Channel as Channel,
    Recording as Recording,
)
from .recordings.signals import (
    differentiate as differentiate,
    resample as resample,
)
from .report import (
    write_report as write_report,
)
from .report.progress import (
    FitProgress as FitProgress,
)
from .sensors.sensor import (
    Sensor as Sensor,
)
from .viewer.live.viewer import (
    Viewer as Viewer,
)

__version__: str
