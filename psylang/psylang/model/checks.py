"""A Model's checks of names, ports, shapes and ranges; each error names the change to make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from psylang.model.blueprint import Projection
from psylang.model.errors import ModelError, listed
from psylang.model.mechanism import Mechanism
from psylang.model.parameters import Array, Parameter

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def named(kind: str, name: str) -> str:
    """Returns the name. ModelError: it is no valid name."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ModelError(f"the {kind} name {name!r} must be of letters, digits and _")
    return name


def port_of(node: Mechanism, ports: Mapping[str, Any], name: str) -> str:
    """The port of that name; the main port for "". ModelError: there is none."""
    if name and name not in ports:
        raise ModelError(f"`{node.name}` has no port `{name}`; it has {listed(ports)}")
    return name or next(iter(ports))


def parameter_of(model: str, parameters: Mapping[str, Parameter], name: str) -> Parameter:
    """The parameter of that name. ModelError: there is none."""
    if name not in parameters:
        raise ModelError(
            f"there is no parameter `{name}` in `{model}`; it has {listed(parameters)}"
        )
    return parameters[name]


def within(name: str, value: Array, limits: tuple[float, float] | None) -> None:
    """ModelError: a value is outside of its range."""
    if limits is not None and not np.all((value >= limits[0]) & (value <= limits[1])):
        raise ModelError(
            f"`{name}` is {value}, outside of its range {limits}; change the one or the other"
        )


def fits(
    made: Projection,
    sender: tuple[int, ...],
    receiver: tuple[int, ...],
    matrix: tuple[int, ...] | None,
) -> None:
    """ModelError: the shapes do not fit; the message names all of them."""
    start, end = sender or (1,), receiver or (1,)
    fits = start == end if not matrix else matrix == (*start, *end)
    if len(start) != 1 or len(end) != 1 or not fits:
        what = "no matrix" if matrix is None else f"a matrix of shape {matrix}"
        raise ModelError(
            f"`{made.sender}.{made.sender_port}` of shape {sender} does not go to "
            f"`{made.receiver}.{made.receiver_port}` of shape {receiver} by {what}; the matrix "
            f"must have shape {(*start, *end)}"
        )
