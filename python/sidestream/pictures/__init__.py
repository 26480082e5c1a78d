"""Pictures of any size that a run has made: found, shown in a browser, on a wall of screens, and as a movie."""

from .folder import Pictures, pictures_of

__all__ = ["Pictures", "pictures_of"]
