"""Reads an FST, VCD or GHW file in a process of its own: ``python -m cyclebound.sim.trace_reader``.

A broken file can make the library allocate all memory or abort the process, which no exception
handler survives; here it takes only this process with it, and `cyclebound.sim.trace` says so.

On standard output: a line of JSON with the signals; then, when standard input has named some by
their numbers, the clock first, chunks until a line ``{"end": true}``. A chunk is a line of JSON
that says how many changes each signal has, and for each signal its times and its values, as int64;
values with unknown bits, or wider than 63 bits, are in the line itself.
"""

import json
import os
import resource
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

STEPS = 1 << 16  # changes of the first signal named, the clock, in a chunk
_STREAMS = 4  # each holds the times of all steps in the file, 8 bytes each
_LONG = 256 << 20  # bytes of a file from which on there is one stream
_MEMORY = 8 << 30  # bytes: what a broken file may make the library ask for


def main(path: str) -> None:
    """Serve one reader; see above."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the library prints warnings to standard output

    def say(**values: object) -> None:
        out.write(json.dumps(values).encode() + b"\n")
        out.flush()

    try:
        serve(path, say, out.write, sys.stdin.readline)
    except BrokenPipeError:  # the picture has all that it shows
        os._exit(0)
    except BaseException as error:  # a broken file is a panic, which is no Exception
        say(error=(" ".join(str(error).split()) or type(error).__name__)[:500])
        os._exit(1)
    os._exit(0)  # threads may wait for their next turn


def serve(path: str, say: Callable, write: Callable, read: Callable) -> None:
    """The conversation, with functions that send a line, send bytes, and receive a line."""
    import pywellen

    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    file = pywellen.WaveformStream(path)
    variables = list(file.all_vars())
    unit = file.timescale
    say(signals=[[each.full_name, each.bitwidth, str(each.signal_id)] for each in variables],
        unit=[unit.factor, unit.unit.to_exponent()] if unit else [1, None])
    line = read()
    if not line:
        return
    chosen = {str(variables[number].signal_id): number for number in json.loads(line)}
    # A change says which signal it is of, but to ask it costs as much as all the rest. An FST file
    # has each signal by itself, and so each has a stream of its own. Other files are read as a
    # whole, and only once.
    apart = file.file_format == "FST" and Path(path).stat().st_size < _LONG
    single = _STREAMS - 1 if apart else 0
    del file  # it holds the times, too
    keys = list(chosen)
    groups = [*([key] for key in keys[:single]), *([keys[single:]] if keys[single:] else [])]
    streams = [_Stream(path, [chosen[key] for key in group]) for group in groups]
    try:
        _send(streams, groups, list(chosen), say, write)
    finally:
        for stream in streams:
            stream.close()
    say(end=True)


def _send(streams: "list[_Stream]", groups: list[list[str]], order: list[str], say: Callable,
          write: Callable) -> None:
    """Write the values of all groups, chunk by chunk, as far as all streams have come."""
    first, *others = streams
    while not first.over:
        until = first.advance(None)
        for stream in others:
            stream.advance(until)
        arrays, wide = [], {}
        for group, stream in zip(groups, streams, strict=True):
            for key in group:
                times, values = stream.take(key)
                try:
                    array = np.array(values, dtype=np.int64)
                except (TypeError, ValueError, OverflowError):
                    array, wide[key] = np.zeros(0, np.int64), values
                arrays += [np.array(times, dtype=np.int64), array]
        say(until=until, order=order, lengths=[len(array) for array in arrays], wide=wide)
        for array in arrays:
            write(array.tobytes())


class _Stream:
    """A pass through the file for some of its signals, which stops at the end of each chunk.

    The library calls back for each change and cannot be asked for the next one, so that each
    pass is a thread, of which one runs at a time.

    Attributes
    ----------
    over : bool
        The file has ended.
    """

    def __init__(self, path: str, numbers: list[int]) -> None:
        self.over, self._error, self._closed = False, None, False
        self._columns: dict[str, tuple[list[int], list]] = {}
        self._until: int | None = 0
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(path, numbers), daemon=True)
        self._thread.start()
        self._stopped.acquire()

    def advance(self, until: int | None) -> int | None:
        """Read all changes before that time; None: so many as a chunk has. Returns the time of the
        next change then, None at the file's end."""
        if not self.over:
            self._until = until
            self._go.release()
            self._stopped.acquire()
        if self._error is not None:
            raise self._error
        return None if self.over else self._next

    def take(self, key: str) -> tuple[list[int], list]:
        """The times and values of a signal's changes that have been read."""
        times, values = self._columns[key]
        found = times[:], values[:]
        times.clear()
        values.clear()
        return found

    def close(self) -> None:
        """End the pass, wherever it is."""
        self._closed = True
        self._go.release()
        self._thread.join()

    def _pause(self, time: int) -> None:
        """Let the others read, until ``time`` is within the chunk."""
        while True:
            self._next = time
            self._stopped.release()
            self._go.acquire()
            if self._closed:
                raise EOFError("it is not read to its end")
            if self._until is None or time < self._until:
                return

    def _run(self, path: str, numbers: list[int]) -> None:
        import pywellen

        try:
            file = pywellen.WaveformStream(path)
            variables = list(file.all_vars())
            chosen = [variables[number] for number in numbers]
            self._columns = {str(each.signal_id): ([], []) for each in chosen}
            self._next = 0
            self._stopped.release()
            self._go.acquire()
            if not self._closed:
                file.stream_changes(
                    self._only() if len(chosen) == 1 else self._any(), chosen)
        except BaseException as error:  # a panic is no Exception
            self._error = error
        self.over = True
        self._stopped.release()

    def _only(self) -> Callable:
        """What is called for each change of the one signal."""
        (times, values), last = next(iter(self._columns.values())), -1
        add_time, add_value = times.append, values.append

        def change(time: int, _: object, value: object) -> None:
            nonlocal last
            if time != last:
                if time < last:
                    raise ValueError(f"time goes back from {last} to {time}")
                last = time
                if (len(times) >= STEPS if self._until is None else time >= self._until):
                    self._pause(time)
            add_time(time)
            add_value(value)

        return change

    def _any(self) -> Callable:
        """What takes the changes of several signals, each into its own column."""
        last, changes = -1, 0
        add = {key: (times.append, values.append)
               for key, (times, values) in self._columns.items()}

        def change(time: int, signal: object, value: object) -> None:
            nonlocal last, changes
            if time != last:
                if time < last:
                    raise ValueError(f"time goes back from {last} to {time}")
                last = time
                if changes >= 2 * STEPS:
                    changes = 0
                    self._pause(time)
            changes += 1
            add_time, add_value = add[str(signal)]
            add_time(time)
            add_value(value)

        return change


if __name__ == "__main__":
    main(sys.argv[1])
