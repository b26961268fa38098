"""Broken traces: `cyclebound check` gives a verdict, or says why there is none.

It never hangs, and no traceback leaves it.

Each input is read in a process that may be killed, as the real reader's is: the library aborts
where a broken file makes it ask for more memory than there is. A hang is one input that takes
more than `_BUSY` seconds of a processor, or makes no end in `_LIMIT` seconds.

The long search has a million inputs: ``pytest --thorough tests/sim/test_trace_fuzz.py``.
"""

import base64
import contextlib
import json
import os
import random
import re
import resource
import signal
import tempfile
import traceback
from pathlib import Path

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.traces import reader as trace_reader
from cyclebound.sim.traces.check import Check, bound_named, check
from cyclebound.sim.traces.table import Table
from cyclebound.sim.traces.trace import Trace, Waveform
from cyclebound.tb.probe import Probe

from .test_check import TABLE, traffic, vcd
from .test_fuzz import broken

pytestmark = pytest.mark.unit

_BUSY, _LIMIT = 5, 300  # seconds
_MEMORY = 2 << 30  # bytes, beside what the process of the tests has

# 20 cycles of a counter and a handshake, written by Icarus Verilog
_FST = base64.b64decode("""
AAAAAAAAAAFJAAAAAAAAAAAAAAAAAAAAyGlXFIsKvwVAAAAAAAgAAAAAAAAAAAAAAQAAAAAAAAAGAAAAAAAAAAYAAAAAAAAA
AfdJY2FydXMgVmVyaWxvZwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFN1biBOb3YgMjIgMjE6
NDU6MDYgMjAyNgoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACAAAAAAAAAFhAAAAAAAAAAAAAAAAAAAAyAAAAAAA
AAEvUwwGeF6rqKA6AABivSbpBloAABYIUggKEAoIKXheY2BjIQ4CABBBAMlQeF4VyosOABAMQ1GPYRj+/2/1LulJmywlXVFy
UExUMGjQYYDDhMXzdhHMAxfeBxfKAMcAAAABAgACBAAEBAAIBAAQBAAgBABABACABAEABAIABAQABAgBBBACBCAFBEALBIAW
BAAtBABaBAC0BAFoBALQAAAAAAAAAjxu818ER1ApMgTRzPbpBKr5UzQEYlLlAwSfLsaGBFf+bC0Eo9lfqASB/b7nBJTwrxoE
y/YzsQS80RlcBJ0j5QsE4pb27gQBulF1BIPGtFAEtS37bwRPyfICBGJPCXkEpQmkhAAABhhCMAMVHecAgQHVAQAAAAAAAAAJ
eNpjYCUSAAAQLQDJAAAAAAAAACkAAAAAAAAADAAAAAAAAAApAwAAAAAAAAAeAAAAAAAAAAYAAAAAAAAABgEBIBAgAQQAAAAA
AAAAfgAAAAAAAABuH4sIAAAAAAAAA/vDwFySmVepV8bA+IeBlZGB6Q8DC5D8x5CUmpecwcAgwFCUmphSycDIwMqQnJMNplMS
SxIVoo0NrQxiGRSA/Jy04iKFaENTEF8AyM/LzyxORVZQlpiTmQLU+h8AJFjxp24AAAA=
""")


# 166 cycles of such a handshake in seven blocks: Icarus Verilog, with $dumpflush
_BLOCKS = base64.b64decode("""
AAAAAAAAAAFJAAAAAAAAAAAAAAAAAAAGe2lXFIsKvwVAAAAAAAgAAAAAAAAAAAAAAQAAAAAAAAAFAAAAAAAAAAUAAAAAAAAABwBJ
Y2FydXMgVmVyaWxvZwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE1vbiBOb3YgMjMgMDA6NTM6MTMgMjAy
NgoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACAAAAAAAAAC2AAAAAAAAAAAAAAAAAAAA6wAAAAAAAAB1KwwFeF6rqCAaAAC7
qhQpBVoweF5jYGMhCQIAFlAA7TJ4XgXBhQGAIAAAMGJ2oILx/6VuIaQoyej0BqPJbLHa7IrD6VI1t8fr+wEcVgGLAAAmCDoIOggA
AAYoGigaKAAAAAAAAAMd3wAREQAAAAAAAAAGeNpjYCUNAAAWOADsAAAAAAAAADAAAAAAAAAADAAAAAAAAAAwCAAAAAAAAAC8AAAA
AAAAAOsAAAAAAAAB1gAAAAAAAABuKxEFeF4zNDAwMDQ0IAYAALIDCBQFWi94XuNgYyEFAgAW2wDvAAYZBBoEGwQcBB0EHgQfBCAE
IQQiBCMEJAQlBCYEJwQoBCkEKgQrBCwELQQuBC8ALgg6CDoIAA4oGigaKAACAAAAAQMd3wAPDwAAAAAAAAAGeNp7zcjEzEoSAABE
UwHYAAAAAAAAADIAAAAAAAAADwAAAAAAAAAxCAAAAAAAAAC/AAAAAAAAAdYAAAAAAAACxgAAAAAAAABxKxMFeF4zMDAwNDAEAgNC
wBAAskYIFwVaMHhe42JhIwkCABgAAPUweF4FwbcBgCAAALAlBykoYEPs/39kotMLosEoyYrJbLHaVLvmcLrcHq/vB4Z0BfUAMgg6
CDoIABIoGigaKAACAAAAAgMd4QAPDwAAAAAAAAAGeNq7xszCyEoaAABCZwHKAAAAAAAAADMAAAAAAAAADwAAAAAAAAAyCAAAAAAA
AADBAAAAAAAAAsYAAAAAAAADsQAAAAAAAABwKxUFeF4zMDA0MDAwNASReIGhAQCyIggWBVoveF7jYmEjBQIAFwsA8TB4XgXBtwGA
IAAAsCXHKShgQ+z/f2Gi0wuiwSjJislssdpUu+Zwutwer+8HvHQINQAyCDoIOggAEigaKBooAAIAAAADAx3hAA8PAAAAAAAAAAZ4
2jvGysjCShIAAD3cAbcAAAAAAAAAMgAAAAAAAAAPAAAAAAAAADEIAAAAAAAAAL4AAAAAAAADsQAAAAAAAAScAAAAAAAAAG4rEwV4
XjM0MDQwBAEDAsDQEACymwgaBVoveF7jYGMhBQIAFtsA7y54XgXBxxGAIAAAsE/OOQUFbIh9fpOuF0SDUZIVk9lital2zeF0uT1e
3w/eXQn8ADYIOgg6CAAWKBooGigAAgAAAAQDHd8ADw8AAAAAAAAABnja28jOzMRKEgAAOiYBpAAAAAAAAAAyAAAAAAAAAA8AAAAA
AAAAMQgAAAAAAAAAvQAAAAAAAAScAAAAAAAABYwAAAAAAAAAcSsTBXheMzAwNDQEYgMCAKgAALJPCBcFWjB4XmNjYSMJAgAXQADx
MHheBcEJDkAwAACwRPpnbAxj7nmztml1ekE0GCWT2SJbbYrd4XS5PV7V9wMl4wybADYIOgg6CAAWKBooGigAAgAAAAUDHeEADw8A
AAAAAAAABnjam8PJSiIAADdbAZYAAAAAAAAAMgAAAAAAAAANAAAAAAAAADEIAAAAAAAAAMEAAAAAAAAFjAAAAAAAAAZ7AAAAAAAA
AHArFQV4XjMwNDAwMDQEkXiBoYEhALIoCBcFWi94XuNiYSMFAgAXCwDxMHheBcG3AYAgAACwJf8rKGBD7Hea6PSCaDBKsmIyW6w2
1a45nC63x+v7AVxDDt0AOgg6CDoIABooGigaKAACAAAABgMd3wAPDwAAAAAAAAAGeNrr4WZiZiUJsAAANTYBhwAAAAAAAAAzAAAA
AAAAABAAAAAAAAAAMgMAAAAAAAAAHQAAAAAAAAAFAAAAAAAAAAUBCAEBIAQAAAAAAAAAaAAAAAAAAABRH4sIAAAAAAAAA/vDwFyi
V8bA+IeBlRFEsgDJfwwl+QUMDKwMyTnZDIxAOk8h2tzKIJaBA8guSk1MqQSLliXmZKYAWYwMmQrRxoYgBQoM/wHZaHmpUQAAAA==
""")


EXPRESSIONS = "expressions"
_START, _END = "valid & ~past(valid & ~ready)", "valid & ready"
_GOOD = (_START, _END, "", "1", "max(3, 4) * 2 + 1")
_TO_BREAK = (_START, _END, "ready", "valid", "max(3, 4) * 2 + 1")
_WORDS = ("valid", "ready", "id", "other", "past(", "any(", "count(", "first(", "held(", "nth(",
          "every(", "max(", ")", ")", "(", " & ", " | ", " ^ ", "~", " + ", " - ", " == ", " > ",
          " <= ", " * ", " // ", " % ", " ** ", " << ", "0", "1", "2", "63", "64", "9" * 30, "[",
          "]", ":", "-1", " for i in ", "i", ".", ", ", "declared.n", "'x'", "\n", "\0", "é",
          "lambda x: ", "True", "1.5")
_OPERATORS = ("&", "|", "^", "+", "-", "==", "!=", ">", "<=", "*", "//", "%")
_NUMBERS = ("0", "1", "9" * 30)
_OPERANDS = (*_NUMBERS, "valid", "ready", "id", "valid[0]", "id[1:3]", "id[-1]", "id[70]",
             "any(id)", "count(id)", "past(past(ready))", "first(valid, ready)", "every(3)",
             "held(id, valid)", "nth(valid, 2)", "any(id[i] for i in 2)",
             "count(valid[i] for i in 999999999)", "clk.valid", "r")


class Local(Waveform):
    """A waveform whose reader's words are in memory."""

    def __init__(self, path):
        self._buffer, self._replies = bytearray(), []
        trace_reader.serve(str(path), self._say, self._buffer.extend, self._reply)

    def _say(self, **values):
        self._buffer.extend(json.dumps(values).encode() + b"\n")

    def _reply(self):
        """The reader asks which signals: all of them, the clocks first."""
        head = self._line(Path("it"))
        self._ids, names = {}, []
        for number, (name, width, key) in enumerate(head["signals"]):
            if width and not name.startswith("$"):
                names.append((name, width))
                self._ids.setdefault(name, (number, key))
        Trace.__init__(self, Path("it"), dict(names))
        chosen = sorted(self._ids, key=lambda name: not name.endswith("clk"))
        return json.dumps([self._ids[name][0] for name in chosen])

    def _more(self, path):
        raise UserError("the reader has said no more")

    class _Nothing:
        def write(self, data): ...
        def flush(self): ...
        def seek(self, to): ...
        def read(self, size): return b""

    _said = _requests = _Nothing()


def looked_at(path, start=_START, end=_END, identity="", ends="1", formula="9"):
    """Check the file; whatever is wrong with it, or with an expression, is a `UserError`."""
    try:
        probe = Probe(start, end, in_flight=2, id=identity, ends=ends)
    except ValueError as error:  # as the command line has it
        raise UserError(str(error)) from None
    if path.suffix == ".csv":
        opened = Table(path)
    else:
        try:
            opened = Local(path)
        except BaseException as error:  # as the reader's own process has it
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            raise UserError(" ".join(str(error).split())[:500]) from None
    return check(opened, Check(probe, bound_named(formula)))


def broken_texts(chance):
    """Expressions and a formula: broken, with other words of the same kind, or words at random."""
    found = list(_GOOD)
    for number in {chance.choice((0, 0, 1, 1, 2, 3, 4)) for _ in range(chance.choice((1, 1, 2)))}:
        kind = chance.random()
        if kind < 0.3:
            found[number] = "".join(chance.choice(_WORDS) for _ in range(chance.randint(1, 14)))
        elif kind < 0.5:
            found[number] = broken(_TO_BREAK[number].encode(), chance).decode(errors="replace")
        else:
            words = _OPERANDS if number < 4 else _NUMBERS
            found[number] = re.sub(r"\w+|[&*+]", lambda old, words=words: chance.choice(
                _OPERATORS if old[0] in "&*+" else (old[0], *words)), _TO_BREAK[number])
    found[4] = found[4].replace(":", "")  # else it names a module
    return found


def children(data, suffix, seeds, folder):
    """How many inputs were looked at, refused, and ended their process; and what went wrong."""
    memory = Path("/dev/shm")  # files there cost half as much as those on a disk
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else folder) as name:
        return _children(data, suffix, seeds, Path(name))


def _children(data, suffix, seeds, folder):
    if suffix == EXPRESSIONS:
        (folder / "it.csv").write_bytes(data)
    state = os.open(folder / "state", os.O_RDWR | os.O_CREAT)
    refused = killed = 0
    at = seeds.start
    while at < seeds.stop:
        if (child := os.fork()) == 0:
            try:
                _child(data, suffix, range(at, seeds.stop), folder, state)
                os._exit(0)
            except BaseException:
                (folder / "traceback").write_text(traceback.format_exc())
                os._exit(3)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        at, more = (int.from_bytes(os.pread(state, 8, 8 * n), "little") for n in (0, 1))
        refused += more
        if status == 0:
            break
        if status in (-signal.SIGALRM, -signal.SIGPROF):
            return at, refused, killed, f"seed {at}: ended by {signal.Signals(-status).name}"
        if status > 0:
            return at, refused, killed, f"seed {at}: {(folder / 'traceback').read_text()}"
        killed += 1
        at += 1
    os.close(state)
    return len(seeds), refused, killed, ""


def _child(data, suffix, seeds, folder, state):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    path, refused, tempfile.tempdir = folder / f"it{suffix}", 0, str(folder)
    # a process that has read many files is replaced, so that none pays for another's threads
    os.environ["RUST_BACKTRACE"] = "0"  # to name the functions of a panic takes most of the time
    for seed in seeds:
        os.pwrite(state, seed.to_bytes(8, "little") + refused.to_bytes(8, "little"), 0)
        chance = random.Random(f"{suffix} {seed}")
        if suffix == EXPRESSIONS:
            path, texts = folder / "it.csv", broken_texts(chance)
        else:
            path.write_bytes(broken(data, chance))
            texts = ()
        signal.setitimer(signal.ITIMER_REAL, _LIMIT)  # a machine may be busy with others
        signal.setitimer(signal.ITIMER_PROF, _BUSY)
        try:
            looked_at(path, *texts)
        except UserError:
            refused += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
    os.pwrite(state, seeds.stop.to_bytes(8, "little") + refused.to_bytes(8, "little"), 0)


def test_blocks_are_read_one_after_the_other(tmp_path, monkeypatch):
    path = tmp_path / "it.fst"
    path.write_bytes(_BLOCKS)
    kinds = [kind for kind, *_ in trace_reader._blocks(path)]
    assert kinds == [0, *[8] * 7, 3, 4]
    opened = []
    stream = trace_reader._Stream
    monkeypatch.setattr(trace_reader, "_Stream", lambda file, numbers: (
        opened.append(Path(file).stat().st_size), stream(file, numbers))[1])
    apart = looked_at(path)
    assert len(opened) >= 14
    assert max(opened) < 700 < len(_BLOCKS)
    assert (apart.finding.verdict, apart.finding.requests, apart.cycles) == ("held", 21, 166)
    monkeypatch.setattr(trace_reader, "_blocks", lambda path: [])
    assert looked_at(path) == apart


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("streams", [1, 2, 3, 4, 9])
def test_chunks_of_any_size_and_streams_of_any_number_say_the_same(tmp_path, monkeypatch, steps,
                                                                   streams):
    """No stream runs ahead of the clock's, also not one of several signals."""
    def values(data):
        path = tmp_path / "it.fst"
        path.write_bytes(data)
        trace = Local(path)
        chunks = list(trace.chunks(trace.clock(), trace.widths))
        return len(chunks), {name: [
            (int(value), 0 if lane.unknown is None else int(lane.unknown[number]))
            for lane in (chunk.lanes[name] for chunk in chunks)
            for number, value in enumerate(lane.values)] for name in trace.widths}

    expected = [values(data) for data in (_FST, _BLOCKS)]
    assert [len({len(lane) for lane in lanes.values()}) for _, lanes in expected] == [1, 1]
    monkeypatch.setattr(trace_reader, "STEPS", steps)
    monkeypatch.setattr(trace_reader, "_STREAMS", streams)
    found = [values(data) for data in (_FST, _BLOCKS)]
    assert [lanes for _, lanes in found] == [lanes for _, lanes in expected]
    assert all(many > least for (many, _), (least, _) in zip(found, expected, strict=True)) or (
        steps == 1000)


def test_a_known_value_before_an_unknown_one_in_the_next_block(tmp_path):
    """A broken file of blocks, found by the search below: a chunk with x after one without."""
    path = tmp_path / "it.fst"
    path.write_bytes(broken(_BLOCKS, random.Random(".blocks.fst 401675")))
    with contextlib.suppress(UserError):
        looked_at(path)


@pytest.mark.parametrize("cut", [8, 200, 329, 500, 1480, 1700, 1797])
def test_blocks_that_are_not_as_expected_are_left_to_the_library(tmp_path, cut):
    path = tmp_path / "it.fst"
    path.write_bytes(_BLOCKS[:cut])
    assert trace_reader._blocks(path) == []


@pytest.mark.parametrize(("suffix", "rounds"), [
    pytest.param(suffix, rounds, id=f"{suffix} {rounds.stop}", marks=marks)
    for suffix, many in {".fst": 150_000, ".blocks.fst": 100_000, ".vcd": 250_000,
                         ".csv": 350_000, EXPRESSIONS: 200_000}.items()
    for rounds, marks in ((range(200), ()), (range(200, many), pytest.mark.thorough))])
def test_broken_traces(tmp_path, suffix, rounds):
    head, *rows = TABLE.splitlines()
    cells = [row.partition(",") for row in rows]  # the time is the first
    later = int(cells[-1][0]) + 1 - int(cells[0][0])
    table = "\n".join([head.replace("req.", ""), *(
        f"{int(time) + later * round_},{rest}" for round_ in range(3)
        for time, _, rest in cells)]).encode()
    data = {".fst": _FST, ".blocks.fst": _BLOCKS, ".csv": table, EXPRESSIONS: table,
            ".vcd": vcd(tmp_path / "good.vcd", traffic([3, 1, 2, 5])).read_bytes()}[suffix]
    good = tmp_path / f"good{'.csv' if suffix == EXPRESSIONS else suffix}"
    good.write_bytes(data)
    assert looked_at(good, *(_GOOD if suffix == EXPRESSIONS else ())).finding.requests > 3
    looked, refused, killed, wrong = children(data, suffix, rounds, tmp_path)
    print(f"{suffix}: {looked} inputs, {refused} refused, {killed} ended their process")
    assert not wrong
    assert len(rounds) // 20 < refused < len(rounds) * 19 // 20
    assert killed <= max(4, len(rounds) // 100)  # by the FST library
