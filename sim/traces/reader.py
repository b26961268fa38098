"""Reads an FST or VCD file in its own process: ``python -m cyclebound.sim.traces.reader``.

A broken file can make the library allocate all memory or abort the process, which no exception
handler survives; here it takes only this process with it, and `cyclebound.sim.traces.trace` says
so.

On standard output: a line of JSON with the signals; then, when standard input has named some by
their numbers, the clock first (null: each step of time is a cycle, and a line says ``steps``: the
first, how long one is, the last), chunks until a line ``{"end": true}``. A chunk is a line of JSON
that says how many changes each signal has, and for each signal its times and its values, as int64;
values with unknown bits, or wider than 63 bits, are in the line itself.
"""

import gzip
import itertools
import json
import math
import mmap
import os
import re
import resource
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 1 << 16  # changes of the first signal named, the clock, in a chunk
_PIECE = 1 << 25  # bytes of a VCD file that are read at a time
_GZIP = b"\x1f\x8b"
_STREAMS = 4  # each holds the times of all steps in its piece of the file, 8 bytes each
_TIMES = 256 << 20  # bytes: fewer streams, so that their times take no more
_VALUES = 1, 5, 8  # blocks of an FST file that hold changes
_MEMORY = 8 << 30  # bytes: what a broken file may make the library ask for
_DEEPEST = 256  # scopes in each other
_LETTERS = 256 << 20  # of all names
_STEPS = 1 << 32  # of time that are cycles
_LATEST = (1 << 63) - 1  # time that int64 holds
_BODY = re.compile(rb"\$enddefinitions\s+\$end[ \t\r\f\v]*(\S?)")


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
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if not Path(path).stat().st_size:
        raise ValueError("it is empty")
    with Path(path).open("rb") as file:
        if file.read(8) == b"GHDLwave":  # the library reads them whole only, without their times
            raise ValueError("it is a GHW file, which is not read; GHDL writes what is, with "
                             "--fst=FILE or --vcd=FILE in place of --wave=FILE")
    with tempfile.TemporaryDirectory() as folder:
        _serve(_Pieces(Path(path), Path(folder)), say, write, read)


def _serve(pieces: "_Pieces", say: Callable, write: Callable, read: Callable) -> None:
    import pywellen

    path, _ = next(iter(pieces))
    file = pywellen.WaveformStream(path)
    if file.file_format == "VCD":
        _begins_on_a_line(path)
    variables = list(file.all_vars())
    unit = file.timescale
    signals, letters = [], 0
    for variable in variables:
        name = variable.full_name
        letters += len(name)
        if name.count(".") > _DEEPEST or letters > _LETTERS:
            raise ValueError(f"it has scopes more than {_DEEPEST:,} deep" if name.count(".")
                             > _DEEPEST else "its names have more than "
                             f"{_LETTERS:,} characters")
        signals.append([name, variable.bitwidth, str(variable.signal_id)])
    say(signals=signals,
        unit=[unit.factor, unit.unit.to_exponent()] if unit else [1, None])
    line = read()
    if not line:
        return
    numbers = json.loads(line)
    if numbers[0] is None:  # no clock: each step of time is a cycle
        say(steps=_steps(pieces))
    chosen = {str(variables[number].signal_id): number for number in numbers if number is not None}
    # A change says which signal it is of, but to ask it costs as much as all the rest. An FST file
    # has each signal by itself, and so each has a stream of its own. Other files are read as a
    # whole, and only once.
    apart = file.file_format == "FST"
    del file  # it holds the times, too
    keys = list(chosen)
    last: dict[str, object] = {}
    for path, steps in pieces:
        many = max(1, min(_STREAMS, _TIMES // max(1, 8 * steps))) if apart else 1
        groups = [*([key] for key in keys[:many - 1]),
                  *([keys[many - 1:]] if keys[many - 1:] else [])]
        streams = [_Stream(path, [chosen[key] for key in group]) for group in groups]
        try:
            _send(streams, groups, list(chosen), last, say, write)
        finally:
            for stream in streams:
                stream.close()
    if numbers[0] is None:  # what follows the last change
        say(until=None, order=keys, lengths=[0] * (2 * len(keys)), wide={})
    say(end=True)


def _steps(pieces: "_Pieces") -> list[int]:
    """The first time of the file, the greatest step of which all others are multiples, the last."""
    import pywellen

    first = last = step = None

    def time_step(time: int, *_: object) -> None:
        nonlocal first, last, step
        if last is None:
            first = time
        elif time > last:
            step = math.gcd(step or 0, time - last)
        last = time

    for path, _ in pieces:
        file = pywellen.WaveformStream(path)
        file.stream_time_steps(time_step, list(file.all_vars()))
    if first is None or last is None:
        raise ValueError("it has no time")
    if (last - first) // (step or 1) >= _STEPS:
        raise ValueError(f"it has {(last - first) // (step or 1):,} steps of time, and at most "
                         f"{_STEPS:,} are read")
    return [first, step or 1, last]


def _begins_on_a_line(path: str) -> None:
    """Raises ValueError for a VCD file of which the library would skip the first values."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
        found = _BODY.search(content)
        if found and found[1]:
            raise ValueError("values begin on the line of $enddefinitions $end, where the library "
                             "that reads the file would skip them; begin a new line after it")


class _Pieces:
    """A file as one or several that the library reads one after the other.

    The library holds the times of all steps in a file. A writer of FST begins a new block of
    changes from time to time, with all values at its start; a file with one of these blocks and
    all others that hold no changes is an FST file too. So memory does not grow with the length of
    the trace. A VCD file that is long or compressed is cut, too: each piece has the definitions.

    Parameters
    ----------
    path : Path
        The file.
    folder : Path
        Where pieces go.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self._path, self._folder, self._made = path, folder, -1
        self._size = path.stat().st_size
        blocks = _blocks(path) if path.suffix.lower() == ".fst" else []
        self._values = [block for block in blocks if block[0] in _VALUES]
        self._rest = [block for block in blocks if block[0] not in _VALUES]
        with path.open("rb") as file:
            head = file.read(1 << 10).lstrip()
        self._text = head[:2] == _GZIP or (head[:1] == b"$" and self._size > _PIECE)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """The path of each piece, until the next one is asked for, and how many times it has."""
        if self._text:
            yield from ((path, self._size) for path in _text_pieces(
                self._path, self._folder / "piece.vcd"))
        else:
            for number in range(max(1, len(self._values))):
                yield self._piece(number), self._steps(number)

    def _piece(self, number: int) -> str:
        if len(self._values) < 2:
            return str(self._path)
        path = self._folder / "piece.fst"
        if number != self._made:
            head, *rest = self._rest
            with self._path.open("rb") as file, path.open("wb") as piece:
                for kind, begin, size in (head, self._values[number], *rest):
                    file.seek(begin)
                    if kind == 0:  # the header, with its number of blocks of changes
                        block = bytearray(file.read(size))
                        block[65:73] = (1).to_bytes(8, "big")
                        piece.write(block)
                        continue
                    for _ in range(0, size, 1 << 20):
                        piece.write(file.read(min(1 << 20, begin + size - file.tell())))
            self._made = number
        return str(path)

    def _steps(self, number: int) -> int:
        if not self._values:
            return self._size  # a step takes a byte at least
        _, begin, size = self._values[number]
        with self._path.open("rb") as file:
            file.seek(begin + size - 8)
            return int.from_bytes(file.read(8), "big")


def _text_pieces(path: Path, piece: Path) -> Iterator[str]:
    """A VCD file, perhaps compressed, as several of some megabytes, in which comments are left out.
    """
    with (gzip.open(path) if _is_gzip(path) else path.open("rb")) as file:
        parts = _uncommented(iter(lambda: file.read(_PIECE), b""))
        rest = b""
        for part in parts:
            rest += part
            if (found := _BODY.search(rest)) or len(rest) > _LETTERS:
                break
        else:
            found = _BODY.search(rest)
        if not found:
            raise ValueError("it has no $enddefinitions, or more than "
                             f"{_LETTERS:,} characters before it")
        head, rest = rest[:found.start(1)], rest[found.start(1):]
        if found[1]:
            piece.write_bytes(head + rest)  # see _begins_on_a_line
            yield str(piece)
            return
        ended: list[bytes | None] = [None]
        for more in itertools.chain(parts, ended):
            cut = len(rest) if more is None else rest.rfind(b"\n#") + 1
            if cut:
                with piece.open("wb") as out:
                    out.write(head)
                    out.write(b"\n")
                    out.write(memoryview(rest)[:cut])
                yield str(piece)
                rest = rest[cut:]
            elif len(rest) > _LETTERS:
                raise ValueError(f"it has no time in {_LETTERS:,} characters")
            rest += more or b""


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == _GZIP


def _uncommented(parts: Iterator[bytes]) -> Iterator[bytes]:
    """A text in parts, without what stands from ``$comment`` to ``$end``."""
    rest, within = b"", False
    for part in parts:
        text, at, kept = rest + part, 0, []
        while True:
            word = b"$end" if within else b"$comment"
            found = text.find(word, at)
            if found < 0:
                break
            if not within:
                kept.append(text[at:found])
            at, within = found + len(word), not within
        upto = max(at, len(text) - 7)  # the beginning of the word may stand here
        if not within:
            kept.append(text[at:upto])
        rest = text[upto:]
        yield b"".join(kept)
    if not within:
        yield rest


def _blocks(path: Path) -> list[tuple[int, int, int]]:
    """Kind, place and size of each block of an FST file; none if they are not as expected."""
    blocks, at, end = [], 0, path.stat().st_size
    with path.open("rb") as file:
        while at < end:
            file.seek(at)
            head = file.read(9)
            size = 1 + int.from_bytes(head[1:], "big")
            if len(head) < 9 or size < 10 or at + size > end or head[0] > 8:
                return []
            blocks.append((head[0], at, size))
            at += size
    kinds = [kind for kind, *_ in blocks]
    return blocks if kinds[:1] == [0] and kinds.count(0) == 1 and blocks[0][2] == 330 else []


def _send(streams: "list[_Stream]", groups: list[list[str]], order: list[str],
          last: dict[str, Any], say: Callable, write: Callable) -> None:
    """All chunks of a piece; ``last`` has the values at the end of the one before."""
    first, *others = streams
    begun = dict(last)
    latest = ended = begun.pop("", 0)  # when the piece before ended
    while not first.over:
        until = first.advance(None)
        for stream in others:
            stream.advance(until)
        arrays, wide = [], {}
        for group, stream in zip(groups, streams, strict=True):
            for key in group:
                times, values = stream.take(key)
                if key in begun and times:  # the value at its start is that at the other's end
                    if values[0] == begun.pop(key):
                        del times[0], values[0]
                if values:
                    if times[-1] > _LATEST:
                        raise ValueError(f"time {times[-1]} has more than 63 bits")
                    last[key] = values[-1]
                    if times[0] < latest:
                        raise ValueError(f"time goes back from {latest} to {times[0]}")
                    ended = max(ended, times[-1])
                try:
                    array = np.array(values, dtype=np.int64)
                except (TypeError, ValueError, OverflowError):
                    array, wide[key] = np.zeros(0, np.int64), values
                arrays += [np.array(times, dtype=np.int64), array]
        last[""] = ended
        # all that is before it has been read; at the end of a piece, the next may go on there
        say(until=ended if until is None else until, order=order,
            lengths=[len(array) for array in arrays], wide=wide)
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
        self.over, self._closed = False, False
        self._error: BaseException | None = None
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
        changes = times[:], values[:]
        times.clear()
        values.clear()
        return changes

    def close(self) -> None:
        """Stop the pass, at whatever point of the file it is."""
        self._closed = True
        self._go.release()
        self._thread.join()

    def _pause(self, time: int) -> None:
        """Hand over to the thread that takes chunks, until ``time`` lies within the next one."""
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
            self._columns = {str(variable.signal_id): ([], []) for variable in chosen}
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
        """Callback for each change of the one signal."""
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
        """Callback for each change of any of several signals."""
        last, changes = -1, 0
        add = {key: (times.append, values.append)
               for key, (times, values) in self._columns.items()}

        def change(time: int, signal: object, value: object) -> None:
            nonlocal last, changes
            if time != last:
                if time < last:
                    raise ValueError(f"time goes back from {last} to {time}")
                last = time
                if (changes >= 2 * STEPS if self._until is None else time >= self._until):
                    changes = 0
                    self._pause(time)
            changes += 1
            add_time, add_value = add[str(signal)]
            add_time(time)
            add_value(value)

        return change


if __name__ == "__main__":
    main(sys.argv[1])
