"""An executable called again and again, some of its results the next values of its arguments."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from topos.errors import ArgumentError, ExecutionError
from topos.runtimes._signature import ModuleSignature, fitting, require_count

if TYPE_CHECKING:
    from topos.runtimes._runtime import Executable


Array = npt.NDArray[Any]


class Loop:
    """A step with a state: each call takes the other arguments and leaves the next state.

    Threads that share a loop take turns: a call waits for the one before it.
    """

    def __init__(
        self,
        executable: Executable,
        carried: Mapping[int, int],
        state: Mapping[int, npt.ArrayLike],
    ) -> None:
        signature = executable.signature
        require_carried(signature, carried, state)
        self.executable, self.carried = executable, dict(carried)
        arguments, results = range(len(signature.arguments)), range(len(signature.results))
        self._others = [position for position in arguments if position not in self.carried]
        given = set(self.carried.values())
        self._answers = [position for position in results if position not in given]
        self._failure: BaseException | None = None
        self._turn = threading.Lock()
        self._start({at: fitting(at, state[at], signature.arguments[at]) for at in self.carried})

    def restart(self, state: Mapping[int, npt.ArrayLike]) -> None:
        """Begins again with another first state, whatever became of the one before.

        Raises `ArgumentError` where it does not fit, which leaves the loop as it was.
        """
        signature = self.executable.signature
        require_carried(signature, self.carried, state)
        fitted = {at: fitting(at, state[at], signature.arguments[at]) for at in self.carried}
        with self._turn:
            self._start(fitted)
            self._failure = None

    def __call__(self, *arguments: npt.ArrayLike) -> tuple[Array, ...]:
        """Runs one step on the arguments that are not carried, and returns the other results.

        Raises `ArgumentError` for arguments that do not fit, which leaves the state as it was, and
        `ExecutionError` where the runtime fails: the state is lost then, and every later use of
        the loop says so.
        """
        require_count(len(arguments), len(self._others))
        types = self.executable.signature.arguments
        fitted = [
            fitting(place, argument, types[position])
            for place, (argument, position) in enumerate(zip(arguments, self._others, strict=True))
        ]
        with self._turn:
            self._require_state()
            try:
                return self._step(fitted)
            except BaseException as error:
                self._failure = error
                raise

    def state(self) -> dict[int, Array]:
        """Returns copies of the carried arguments' values by position, as of the last call."""
        with self._turn:
            self._require_state()
            return {position: np.array(value) for position, value in self._state.items()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.executable.signature}, carried={self.carried})"

    def _require_state(self) -> None:
        if self._failure is not None:
            raise ExecutionError(
                f"the loop has no state since a call failed: {self._failure!r}"
            ) from self._failure

    def _start(self, state: dict[int, Array]) -> None:
        """Takes the first state; the arrays may be the caller's."""
        self._state: dict[int, Any] = {place: array.copy() for place, array in state.items()}

    def _step(self, others: Sequence[Array]) -> tuple[Array, ...]:
        """Runs the module once on arguments that fit, and keeps the next state."""
        arguments = dict(zip(self._others, others, strict=True)) | self._state
        results = self.executable(*(arguments[position] for position in range(len(arguments))))
        self._state = {argument: results[result] for argument, result in self.carried.items()}
        return tuple(results[position] for position in self._answers)

    def __reduce__(self) -> NoReturn:
        raise ExecutionError("a loop lives in its process: pickle its state")


def require_carried(
    signature: ModuleSignature, carried: Mapping[int, int], state: Mapping[int, npt.ArrayLike]
) -> None:
    """Raises `ArgumentError` unless each carried argument has a result of its own type and a state.

    `carried` maps the position of an argument to the position of the result that follows it.
    """
    for name, given in (("carried", carried), ("state", state)):
        if not isinstance(given, Mapping):
            raise ArgumentError(f"a loop needs a mapping by positions as {name}, got {given!r}")
    for argument, result in carried.items():
        _require_position("argument", argument, len(signature.arguments))
        _require_position("result", result, len(signature.results))
        wanted, follows = signature.arguments[argument], signature.results[result]
        if wanted != follows:
            raise ArgumentError(
                f"a loop needs a next value of the type of argument {argument}, {wanted}, "
                f"got result {result}, {follows}"
            )
    if len(set(carried.values())) != len(carried):
        raise ArgumentError(f"a loop needs one result for each carried argument, got {carried}")
    if set(state) != set(carried):
        raise ArgumentError(f"a loop needs a state for arguments {sorted(carried)}, got {[*state]}")


def _require_position(kind: str, position: object, count: int) -> None:
    if type(position) is not int or not 0 <= position < count:
        raise ArgumentError(f"a loop needs {kind} positions below {count}, got {position!r}")
