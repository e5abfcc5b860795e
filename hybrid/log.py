"""Loggers that write level, time and place before each message. ``mx.log``."""

from __future__ import annotations

import logging
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]


class _Formatter(logging.Formatter):
    """``W1121 04:30:00 123 path:function:12] message``, with everything before the message in the level's colour."""

    LABELS = {CRITICAL: "C", ERROR: "E", WARNING: "W", INFO: "I", DEBUG: "D"}

    def __init__(self) -> None:
        super().__init__(datefmt="%m%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        colour = 31 if record.levelno >= WARNING else 32 if record.levelno >= INFO else 34
        head = f"{self.LABELS.get(record.levelno, 'U')}%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d]"
        self._style._fmt = f"\x1b[{colour}m{head}\x1b[0m %(message)s"
        return super().format(record)


def get_logger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """The logger of that name, writing plain messages to a file (appending unless filemode says otherwise), or labelled
    and coloured ones to stderr.

    The root logger (no name), and one that has been set up before, are given back as they are.

    Parameters
    ----------
    name : str or None, default None
        Name of the logger; None: the root logger.
    filename : path or None, default None
        File that it writes to; None: stderr.
    filemode : str or None, default None
        Mode that the file is opened in; None: 'a'.
    level : int, default 30
        Least level of what is written: WARNING.

    Examples
    --------
    >>> from gluonnx import mx
    >>> logger = mx.log.get_logger("training", "training.log", level=mx.log.INFO)
    >>> logger.isEnabledFor(mx.log.INFO), [type(handler).__name__ for handler in logger.handlers]
    (True, ['FileHandler'])
    >>> logger is mx.log.get_logger("training")
    True
    """
    logger = logging.getLogger(name)
    if name is None or getattr(logger, "_init_done", False):
        return logger
    if filename:
        handler: logging.Handler = logging.FileHandler(filename, filemode or "a")
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(_Formatter())
    logger.addHandler(handler)
    logger.setLevel(level)
    logger._init_done = True  # type: ignore[attr-defined]
    return logger


def getLogger(  # noqa: N802  MXNet's name
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """get_logger under its old name.

    name, filename, filemode, level: as in get_logger.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.log.getLogger("reading") is mx.log.get_logger("reading")
    True
    """
    warnings.warn("getLogger is deprecated, Use get_logger instead.", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)
