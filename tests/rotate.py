"""A part of the thorough tests and of the full level for each commit, so that a hundred see all,
and ten the tests of some seconds.

    .venv/bin/python tests/rotate.py               # HEAD's part; .ci/run does this
    .venv/bin/python tests/rotate.py --list        # which part is how old

Which part it is follows from the number of commits alone: nothing is kept on a machine. The exit
status is 1 if anything fails. What has not finished in time, or has not begun, is no failure; it is
named, and said at the end not to have been seen.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

__all__ = ["PARTS", "ages", "part_of", "run", "steps"]

ROOT = Path(__file__).parents[1]
PARTS = 100
_SECONDS = 480.0  # for all steps of a part until the last has ended; CI says what it has left
_TESTS = 0.6  # of it for the tests; what they leave is the regression's
_TENTHS, _SOME = 10, 10  # what takes less CPU-s comes on each tenth commit
_GRACE = 60.0  # seconds in which a step that is interrupted has to end


def part_of(commits: int) -> int:
    """The part, from 1, of the commit that has so many, itself among them."""
    return commits % PARTS + 1


def ages(commits: int) -> dict[int, int]:
    """How many commits ago each part ran, where each commit runs its own; the oldest first."""
    return {part_of(commits - ago): ago for ago in reversed(range(PARTS))}


def steps(part: int) -> dict[str, list[str]]:
    """What runs, by name."""
    shard, tools = f"{part}/{PARTS}", Path(sys.executable).parent
    tenth = f"{(part - 1) % _TENTHS + 1}/{_TENTHS}"
    return {
        f"tests of some seconds {tenth}": [
            str(tools / "pytest"), "-n", "auto", "--dist", "worksteal", "--thorough", "--below",
            str(_SOME), "--shard", tenth],
        f"thorough tests {shard}": [
            str(tools / "pytest"), "-n", "auto", "--dist", "worksteal", "-m", "thorough",
            "--thorough", "--shard", shard],
        f"full level {shard}": [
            str(tools / "cyclebound"), "regress", "--full", "--shard", shard,
            "--certify", "--no-report", "--no-pictures"]}


def run(command: Sequence[str], seconds: float) -> int | None:
    """The command's exit status; None if it had to be interrupted after so many seconds."""
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # both then say what they have done
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return None
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise


def _git(*words: str) -> str:
    # whoever owns the clone, as a container's root does not
    return subprocess.run(["git", "-c", f"safe.directory={ROOT}", *words], cwd=ROOT, check=True,
                          capture_output=True, text=True).stdout.strip()


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="run nothing")
    parser.add_argument("--seconds", type=float, default=_SECONDS, metavar="S",
                        help="until all has ended, what is interrupted included (default: "
                             f"{_SECONDS:g})")
    options = parser.parse_args(words)
    if _git("rev-parse", "--is-shallow-repository") == "true":
        part = part_of(int(_git("rev-parse", "HEAD"), 16))
        print(f"Part {part} of {PARTS}, by HEAD's hash: a shallow clone does not say how many "
              "commits there are, nor which part is how old.")
    else:
        commits = int(_git("rev-list", "--count", "HEAD"))
        hashes = _git("log", f"-{PARTS}", "--format=%h of %cs").splitlines()
        part = part_of(commits)
        print(f"Part {part} of {PARTS}, by the number of commits, {commits}. Where each commit has "
              "run its own part to its end, each was last seen by:")
        for other, ago in ages(commits).items():
            when = hashes[ago] if ago < len(hashes) else "none"
            print(f"  {other:3}/{PARTS}: {when}, {ago} commits ago")
    if options.list:
        return 0
    running = options.seconds - _GRACE  # whatever is interrupted has ended in time
    end, failed, cut = time.monotonic() + running, False, []
    todo = steps(part)
    for number, (name, command) in enumerate(todo.items(), 1):
        begin = time.monotonic()
        limit = end - begin - running * (1 - _TESTS) * (number < len(todo))
        if limit < 1:
            print(f"\n{name}: not begun, no time was left", flush=True)
            cut.append(name)
            continue
        print(f"\n{name}: {' '.join(command)}", flush=True)
        status = run(command, limit)
        took = time.monotonic() - begin
        said = ("passed" if status == 0 else f"FAILED with status {status}" if status is not None
                else f"not finished in {limit:.0f} s, and interrupted")
        print(f"{name}: {said}, {took:.0f} s", flush=True)
        failed = failed or bool(status)
        cut += [name] * (status is None)
    if cut:
        print(f"\nNot all of part {part} has been seen: {', '.join(cut)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
