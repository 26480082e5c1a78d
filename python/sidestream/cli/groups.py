"""Groups of commands of one name."""

from __future__ import annotations

from typing import Any

import typer


def group(name: str, about: str, **more: Any) -> typer.Typer:
    """A group that says what it has where none of its commands is asked for."""
    return typer.Typer(name=name, rich_markup_mode=None, no_args_is_help=True, help=about, **more)
