"""Runs jobs in a pool of processes on this machine, or on a Dask cluster."""

import collections
import concurrent.futures
import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor
from typing import Any, TypeVar

from cyclebound.sim.base import bytecode
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.sources import begun
from cyclebound.sim.run.simulator import die_with_parent

__all__ = ["Report", "completed", "pool_of"]

Report = Callable[[str, int, int], None]
_Asked = TypeVar("_Asked")
_Result = TypeVar("_Result")
_STOPPING = (signal.SIGINT, signal.SIGTERM)
_GRACE = 10.0  # seconds that a worker has to stop its tools


def _worker(parent: int, at: int) -> None:
    _stoppable(_begin, parent, at)  # what is told to stop meanwhile prints nothing


def _begin(parent: int, at: int) -> None:
    """In each worker: leave Ctrl-C to the parent, end with it, and let cleanup run on the way."""
    # a component that refuses what is inside it was not elaborated
    warnings.filterwarnings("ignore", message=r"(?s).* created but never used")
    os.setpgid(0, 0)  # a terminal sends Ctrl-C to a whole group: the parent alone is to get it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
    die_with_parent(parent)
    bytecode.kept_by_parent()
    begun(at)


def _stop(*_: object) -> None:
    """Stop the compilers of this worker, and unwind, which stops its simulator or solver."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)
    sys.unraisablehook = lambda _: None  # an exit in a `__del__` is lost; the parent then kills us
    sys.exit(1)


def _stoppable(function: Callable, *arguments: object) -> object:
    try:
        return function(*arguments)
    except SystemExit:  # all cleanup has run; the executor would go on with its next job
        os._exit(1)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait for the end; a process that starts meanwhile does not see them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {number: signal.signal(number, lambda number, _: came.append(number))
                for number in _STOPPING}
    # handed on to the process; here, another thread may still take the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for arrived in came:
            signal.raise_signal(arrived)


class _Pool(concurrent.futures.ProcessPoolExecutor):
    def __init__(self, workers: int) -> None:
        super().__init__(workers, mp_context=multiprocessing.get_context("spawn"),
                         initializer=_worker, initargs=(os.getpid(), time.time_ns()))

    def submit(self, function: Callable, /, *arguments: Any, **named: Any
               ) -> concurrent.futures.Future:
        with _uninterrupted():  # a worker may start here
            return super().submit(functools.partial(_stoppable, function), *arguments, **named)

    def stop(self) -> None:
        """Stop all that runs, now."""
        processes = list((self._processes or {}).values())
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(_GRACE)
            if process.is_alive():
                process.kill()
        self.shutdown(cancel_futures=True)


@contextlib.contextmanager
def pool_of(workers: int, scheduler: str | None) -> Iterator[concurrent.futures.Executor]:
    """A process pool here, or the Dask cluster at ``scheduler``. Raises `UserError`.

    Whatever goes wrong meanwhile, no job is left running here; on a cluster, the jobs that have
    not begun are withdrawn.
    """
    if scheduler is not None:
        with _cluster(scheduler) as executor:
            yield executor
        return
    with bytecode.kept():
        pool = _Pool(workers)
        try:
            yield pool
        except BaseException:
            pool.stop()
            raise
        pool.shutdown()


@contextlib.contextmanager
def _cluster(address: str) -> Iterator[concurrent.futures.Executor]:
    try:
        from dask.distributed import Client
        from distributed.comm.addressing import parse_address
        from distributed.comm.registry import get_backend
    except ImportError:
        raise UserError("--scheduler needs Dask: pip install 'cyclebound[cluster]'") from None
    try:
        get_backend(parse_address(address)[0])  # Client takes a minute to refuse a wrong scheme
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UserError(f"no Dask scheduler answers at {address}: "
                        f"{str(error).splitlines()[0] if str(error) else error!r}") from error
    with client:
        executor = client.get_executor(retries=0, pure=False)
        try:
            yield executor
        except BaseException:
            executor.shutdown(wait=False)  # withdraws what has not begun
            raise
        executor.shutdown()


def completed(futures: Mapping[concurrent.futures.Future[_Result], _Asked],
              step: str | Callable[[_Asked], str], report: Report
              ) -> Iterator[tuple[_Asked, _Result]]:
    """Pairs of argument and result, in the order of completion, reporting progress.

    ``step`` names the kind of work; a function, where there are several kinds, of what was asked.
    """
    def name(asked: _Asked) -> str:
        return step if isinstance(step, str) else step(asked)

    totals = collections.Counter(map(name, futures.values()))
    done: collections.Counter[str] = collections.Counter()
    for kind in totals:
        report(kind, 0, totals[kind])
    broken = None
    for future in concurrent.futures.as_completed(futures):
        try:
            yield futures[future], future.result()
        except BrokenExecutor as error:
            broken = error  # others may have finished before
        kind = name(futures[future])
        done[kind] += 1
        report(kind, done[kind], totals[kind])
    if broken is not None:
        raise UserError("a worker was killed, out of memory perhaps; what had finished is kept, "
                        "continue with --resume and fewer workers (-j)") from broken
