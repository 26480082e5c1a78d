"""Sessions: analyses, files, restarts and a live view of a Python program that takes its own steps.

Example:
    >>> with sidestream.session("analyses.toml", "runs/heat", comm=MPI.COMM_WORLD) as run:
    ...     if run.comm is not None:                    # else this rank was a sidecar, and the run is over
    ...         run.mesh((64, 64, 64), blocks=np.s_[lo:hi, :, :])
    ...         run.field("temperature", temperature, unit="K")
    ...         step, time = run.begin()
    ...         while run.goes_on:
    ...             ...                                 # a step
    ...             run.step(step := step + 1, time)
"""

from .run import Session, session

__all__ = ["Session", "session"]
