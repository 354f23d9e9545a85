"""One queue of long jobs for everybody: the same wish is worked on once, different ones take turns.

An owner (a visitor's session) has one wish at a time, so nobody can fill the queue; the queue is
worked off in the order in which wishes came. Whoever wishes what is already waiting, running or
done shares it. A job that nobody watches any more, because they left or their browser fell silent,
is dropped from the queue or stopped where it is.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from andrea.errors import InputError

R = TypeVar("R", bound=Hashable)  # request
P = TypeVar("P")  # progress
V = TypeVar("V")  # value

State = Literal["waiting", "running", "done", "failed", "stopped"]
Work = Callable[[R, Callable[[], object], Callable[[P], object]], V]

KEPT = 32  # finished jobs
PATIENCE = 30.0  # seconds without a look after which a watcher has gone

log = logging.getLogger(__name__)


class Stopped(Exception):
    """Nobody watches the job any more."""


@dataclass(frozen=True)
class Status(Generic[P, V]):
    """How a wish stands.

    Attributes
    ----------
    state
        ``"failed"`` carries ``error``; ``"stopped"`` is also said of what nobody has asked for.
    ahead
        How many jobs come before it: those running, while it waits, and those waiting before it.
    watchers
        How many owners wish the same.
    progress
        The last thing that the work reported.
    value
        What came of it, when done.
    error
        The refusal, if it was one; ``None`` where something went wrong on our side.
    """

    state: State
    ahead: int = 0
    watchers: int = 0
    progress: P | None = None
    value: V | None = None
    error: InputError | None = None


@dataclass
class _Job(Generic[P, V]):
    state: State = "waiting"
    watchers: dict[str, float] = field(default_factory=dict)
    progress: P | None = None
    value: V | None = None
    error: InputError | None = None


class Jobs(Generic[R, P, V]):
    """The queue.

    Parameters
    ----------
    work
        Does a job: gets the request, a check to call again and again (it raises ``Stopped``), and
        a function to report progress to.
    workers
        How many jobs run side by side.
    patience
        Seconds without a look after which a watcher counts as gone.
    clock
        Tells the time in seconds.
    """

    def __init__(
        self,
        work: Work[R, P, V],
        workers: int = 1,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._work, self._workers = work, workers
        self._patience, self._clock = patience, clock
        self._jobs: OrderedDict[R, _Job[P, V]] = OrderedDict()
        self._wishes: dict[str, R] = {}
        self._busy = 0
        self._lock = threading.RLock()

    def ask(self, owner: str, request: R) -> None:
        """Wish for ``request``; the owner's former wish, if it is another, is given up."""
        with self._lock:
            self._sweep()
            if self._wishes.get(owner) != request:
                self._leave(owner)
            job = self._jobs.get(request)
            if job is None or job.state in ("failed", "stopped"):
                job = self._jobs[request] = _Job()
                self._jobs.move_to_end(request)
            job.watchers[owner] = self._clock()
            self._wishes[owner] = request
            self._forget()
            if self._busy < self._workers and job.state == "waiting":
                self._busy += 1
                threading.Thread(target=self._run, daemon=True, name="andrea-job").start()

    def look(self, owner: str, request: R) -> Status[P, V]:
        """Return how ``request`` stands; who looks is still there."""
        with self._lock:
            self._sweep()
            job = self._jobs.get(request)
            if job is None:
                return Status("stopped")
            if owner in job.watchers:
                job.watchers[owner] = self._clock()
            ahead = 0
            if job.state == "waiting":
                states = [(r, j.state) for r, j in self._jobs.items()]
                place = next(i for i, (r, _) in enumerate(states) if r == request)
                ahead = sum(
                    state == "running" or (state == "waiting" and i < place)
                    for i, (_, state) in enumerate(states)
                )
            return Status(job.state, ahead, len(job.watchers), job.progress, job.value, job.error)

    def leave(self, owner: str) -> None:
        """Give up the owner's wish; others who share it keep it."""
        with self._lock:
            self._leave(owner)

    # -- with the lock held --------------------------------------------------------------------

    def _leave(self, owner: str) -> None:
        request = self._wishes.pop(owner, None)
        job = None if request is None else self._jobs.get(request)
        if job is not None:
            job.watchers.pop(owner, None)
            if not job.watchers and job.state in ("waiting", "running"):
                job.state = "stopped"  # the worker sees it at its next check

    def _sweep(self) -> None:
        limit = self._clock() - self._patience
        for owner, request in list(self._wishes.items()):
            job = self._jobs.get(request)
            if job is None or job.watchers.get(owner, limit - 1) < limit:
                self._leave(owner)

    def _forget(self) -> None:
        ended = [r for r, job in self._jobs.items() if job.state not in ("waiting", "running")]
        for request in ended[:-KEPT]:
            del self._jobs[request]

    def _next(self) -> tuple[R, _Job[P, V]] | None:
        self._sweep()
        return next(((r, j) for r, j in self._jobs.items() if j.state == "waiting"), None)

    # -- in a worker's thread ------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._lock:
                found = self._next()
                if found is None:
                    self._busy -= 1
                    return
                request, job = found
                job.state = "running"
            self._do(request, job)

    def _do(self, request: R, job: _Job[P, V]) -> None:
        def check() -> None:
            with self._lock:
                self._sweep()
                if job.state == "stopped":
                    raise Stopped

        def report(progress: P) -> None:
            job.progress = progress

        try:
            value = self._work(request, check, report)
        except Stopped:
            return
        except InputError as error:
            self._end(job, "failed", error=error)
        except Exception:
            log.exception("job %s", request)
            self._end(job, "failed")
        else:
            self._end(job, "done", value)

    def _end(
        self, job: _Job[P, V], state: State, value: V | None = None, error: InputError | None = None
    ) -> None:
        with self._lock:
            job.state, job.value, job.error = state, value, error
