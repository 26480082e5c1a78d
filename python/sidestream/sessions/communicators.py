"""Communicators that programs give to sessions, by mpi4py or not at all."""

from typing import Any


class OneProcess:
    """What a session gives to a program that has no communicator."""

    rank, size = 0, 1


def reaches_beyond(comm: Any, others: Any) -> bool:
    """Whether ranks of `comm` are not among `others`. Local."""
    if comm is None or not hasattr(comm, "group") or isinstance(others, OneProcess):
        return False
    return bool(type(comm.group).Difference(comm.group, others.group).size > 0)
