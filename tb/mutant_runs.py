"""Many mutants with one start of the simulator: a process for each, forked before the first cycle.

cocotb imports this module where no signal has changed yet, as the first of its test modules, in
front of the testbench. It imports the testbench, and forks one process for each mutant. That one
continues as if it had been started for this mutant: nothing of another mutant's run is in it. This
process only waits, and writes a line of JSON for each one that has ended. Starting Python, cocotb
and a golden model is so paid for once, and not for each mutant.
"""

import atexit
import ctypes
import importlib
import json
import math
import os
import resource
import signal
import sys
import time
from pathlib import Path

from cyclebound.tb.probe import PRINTED

__all__ = ["VARIABLE", "serve"]

VARIABLE = "CYCLEBOUND_MUTANTS"
"""Names the file with the ``module`` of the testbench, the ``folders`` of its runs, each with its
job.json, how many run at a time (``workers``), the ``seconds`` of processor time that each may
take, and the descriptor (``pipe``) that is told of each end."""
_POLL = 0.002  # s
_ASLEEP = 3600.0, 100  # seconds by the clock, and as many times its own: for one that only sleeps


def _become(folder: str, seconds: int) -> None:
    """Make this process the run in ``folder``, limited to ``seconds`` of processor time."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: do not outlive the server
    # Verilator's runtime would wait for a thread that was not forked. What failed is in the log.
    atexit.register(_leave)
    for name, descriptor in (("log.txt", 1), (PRINTED, 2)):
        file = os.open(Path(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(file, descriptor)
        os.close(file)
    os.environ["CYCLEBOUND_JOB"] = str(Path(folder, "job.json"))
    os.environ["COCOTB_RESULTS_FILE"] = str(Path(folder, "cocotb.xml"))


def _leave() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def serve(folders: list[str], workers: int, seconds: float, pipe: int) -> bool:
    """Fork a run for each of ``folders``; True in each of these, False where all have ended.

    A run ends after its ``seconds`` of processor time: by the clock, a mutant would seem to hang
    wherever other programs keep the machine busy.
    """
    limit = math.ceil(seconds)
    asleep = max(_ASLEEP[0], _ASLEEP[1] * seconds)
    waiting = list(reversed(folders))
    running: dict[int, tuple[str, float]] = {}
    while waiting or running:
        while waiting and len(running) < workers:
            folder = waiting.pop()
            sys.stdout.flush()
            process = os.fork()
            if process == 0:
                os.close(pipe)
                _become(folder, limit)
                return True
            running[process] = folder, time.monotonic()
        ended, status, used = os.wait4(-1, os.WNOHANG)
        late = [process for process, (_, begun) in running.items()
                if time.monotonic() - begun > asleep]
        for process in late:
            os.kill(process, signal.SIGKILL)
        if not ended:
            time.sleep(_POLL)
            continue
        folder, _ = running.pop(ended)
        took = used.ru_utime + used.ru_stime
        stopped = ended in late or (os.WIFSIGNALED(status) and took > limit - 1)
        said = {"folder": folder, "seconds": took,
                "status": None if stopped else os.waitstatus_to_exitcode(status)}
        os.write(pipe, (json.dumps(said) + "\n").encode())
    return False


if VARIABLE in os.environ:
    _plan = json.loads(Path(os.environ[VARIABLE]).read_text())
    importlib.import_module(_plan.pop("module"))
    if not serve(**_plan):
        os._exit(0)  # no test is to run here
