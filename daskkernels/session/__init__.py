"""Top layer: a running distributed cluster: connecting to it, its runtime, measuring its machine."""

from .connect import connect
from .machine import measure_machine, peak_memory
from .runtime import ClusterRuntime, find_cluster

__all__ = ["ClusterRuntime", "connect", "find_cluster", "measure_machine", "peak_memory"]
