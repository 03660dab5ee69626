"""Exceptions: what the command says in one paragraph, by what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._pinion import Result


class Error(Exception):
    """Anything that Pinion cannot do."""


class ConfigError(Error):
    """A machine file, a manifest or an override is wrong; says file, line and the nearest valid key."""


class UsageError(Error, ValueError):
    """An argument does not go with what is run, or does not exist."""


class FileError(Error, OSError):
    """A file or folder cannot be read or written."""


class CompilerError(Error):
    """There is no compiler, or it refused the sources; what it wrote comes first."""


class ProgramError(Error):
    """A program is missing, foreign or does not fit its machine."""


class PacketError(Error):
    """A capture, a generator's or a load's specification, or a link's faults are wrong."""


class InternalError(Error):
    """A defect of Pinion; ``replay`` is a command that shows it again."""

    replay: str = ""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run; ``result`` has what was done until then."""

    result: Result
