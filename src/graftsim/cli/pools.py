"""From --workers and --cluster to where tasks run."""

from __future__ import annotations

from collections.abc import Callable

from graftsim.errors import ProblemError
from graftsim.identify.pool.pool import Pool
from graftsim.identify.pool.workers import cluster_executor, local_executor


def pool_of(workers: int, cluster: str, progress: Callable[[int, int], None]) -> Pool:
    """A pool of processes, of a cluster, or of this process alone.

    Raises ProblemError: both are given, a negative number, no scheduler at the address.
    """
    if workers and cluster:
        raise ProblemError("--workers are processes of this machine, --cluster others: give one.")
    if cluster:
        return Pool(cluster_executor(cluster), progress=progress)
    return Pool(local_executor(workers) if workers else None, progress=progress)
