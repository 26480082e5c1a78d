"""The communicator of one process, without mpi4py."""


class OneProcess:
    """What of a communicator a session gives to a program that has none."""

    rank, size = 0, 1
