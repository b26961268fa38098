"""Streams from a TOML file.

    [device]                  # of an SM: threads, blocks, shared, registers
    sms = 2
    default_stream = "legacy" # or "per-thread": then the null stream is none

    [[stream]]
    name = "S1"
    priority = "low"          # or "high"; the null stream has null = true instead
    period = 9000             # least time from a list's last launch to the next; without: once

    [[stream.operation]]
    kernel = "K1"             # or copy = "C1", with time alone
    blocks = 6
    threads = 768             # of a block
    shared = 0                # bytes of a block
    registers = 0             # of a thread
    time = 1000               # of a block, at most
    release = 0               # when it is launched, in the example that is drawn
    thread = 0                # of the host; only in a null stream
"""

from collections.abc import Mapping

from cyclebound.golden.gpu.streams import Gpu, Operation, Stream, check_streams
from cyclebound.tools.gpu.toml_text import Reader, load_toml

__all__ = ["EXAMPLES", "parse_streams"]

_DEVICE = ("sms", "threads", "blocks", "shared", "registers")
_KERNEL = ("blocks", "threads", "shared", "registers")


def _example(what: str, streams: Mapping[str, tuple[str, list[tuple]]]) -> str:
    """A file from rows (name, blocks, threads, shared, release)."""
    out = [f"# {what}", "[device]", "sms = 2", ""]
    for name, (more, rows) in streams.items():
        out += ["[[stream]]", f'name = "{name}"', *([more] if more else []), ""]
        for kernel, blocks, threads, shared, release in rows:
            out += ["[[stream.operation]]", f'kernel = "{kernel}"', f"blocks = {blocks}",
                    f"threads = {threads}", *([f"shared = {shared}"] if shared else []),
                    "time = 1000", f"release = {release}", ""]
    return "\n".join(out)


EXAMPLES = {
    "figure-4.7": _example(
        "The thesis, Table 4.2; times in ms. It gives no durations: 1 s for each block is ours.", {
            "S1": ("", [("K1", 6, 768, 0, 0), ("K2", 2, 512, 0, 0), ("K3", 4, 256, 0, 0)]),
            "S2": ("", [("K4", 4, 256, 32768, 200), ("K6", 2, 512, 0, 2800)]),
            "S3": ("", [("K5", 2, 256, 32768, 400)])}),
    "figure-4.8": _example("The thesis, Table 4.3; times in ms.", {
        "S1": ("", [("K1", 6, 768, 0, 0)]),
        "null": ("null = true", [("K2", 1, 1024, 0, 200), ("K5", 1, 1024, 0, 600)]),
        "S2": ("", [("K3", 4, 256, 0, 200), ("K4", 4, 256, 0, 400)]),
        "S3": ("", [("K6", 2, 256, 0, 800)])}),
    "figure-4.9": _example("As in the thesis's Figure 4.9, whose numbers are not printed.", {
        "low": ('priority = "low"', [("K1", 8, 1024, 0, 0)]),
        "high 1": ('priority = "high"', [("K2", 2, 1024, 0, 200)]),
        "high 2": ('priority = "high"', [("K3", 2, 1024, 0, 400)])}),
}
"""Files that come with the command, by name."""


def parse_streams(text: str) -> tuple[Gpu, tuple[Stream, ...]]:
    """The device and its streams. Raises `ValueError` with the line of what is wrong."""
    tables, reader = load_toml(text), Reader(text)
    reader.table([], tables, ("device", "stream"))
    device = reader.table(["device"], tables.get("device", {}), (*_DEVICE, "default_stream"))
    gpu = reader.at(["device"], Gpu, **{
        name: reader.number(["device", name], device) for name in _DEVICE if name in device})
    per_thread = reader.text(["device", "default_stream"], device, ("legacy", "per-thread"),
                             "legacy") == "per-thread"
    streams: list[Stream] = []
    for place, table in enumerate(reader.tables(["stream"], tables.get("stream"))):
        streams += _streams(reader, place, table, per_thread=per_thread)
    reader.at(["stream"], check_streams, gpu, streams)
    return gpu, tuple(streams)


def _streams(reader: Reader, place: int, entry: object, *, per_thread: bool) -> list[Stream]:
    """A stream; of a null stream in per-thread mode, one for each thread of the host."""
    path = ["stream", place]
    table = reader.table(path, entry, ("name", "priority", "null", "period", "operation"))
    name = reader.text([*path, "name"], table)
    null = table.get("null", False)
    if not isinstance(null, bool):
        raise reader.refuse([*path, "null"], "true or false", null)
    high = reader.text([*path, "priority"], table, ("low", "high"), "low") == "high"
    period = reader.number([*path, "period"], table) if "period" in table else None
    by_thread: dict[int, list[Operation]] = {}
    for number, row in enumerate(reader.tables([*path, "operation"], table.get("operation"))):
        thread, operation = _operation(reader, [*path, "operation", number], row, null=null)
        by_thread.setdefault(thread if per_thread else 0, []).append(operation)
    if per_thread and null:
        return [reader.at(path, Stream, f"{name} of thread {thread}", tuple(operations), False,
                          False, period) for thread, operations in sorted(by_thread.items())]
    return [reader.at(path, Stream, name, tuple(by_thread[0] if not per_thread else [
        operation for operations in by_thread.values() for operation in operations]),
                      high, null, period)]


def _operation(reader: Reader, path: list, entry: object, *, null: bool
               ) -> tuple[int, Operation]:
    names = ("kernel", "copy", "time", "release", *_KERNEL, *(["thread"] if null else []))
    table = reader.table(path, entry, names)
    if ("kernel" in table) == ("copy" in table):
        raise reader.refuse(path, "a table with either kernel or copy", table)
    thread = reader.number([*path, "thread"], table, 0)
    values = {name: reader.number([*path, name], table, 0) for name in ("release",)}
    time = reader.number([*path, "time"], table)
    if "copy" in table:
        for name in _KERNEL:
            if name in table:
                raise reader.refuse([*path, name], "left out of a copy", table[name])
        return thread, reader.at(path, Operation, reader.text([*path, "copy"], table), time,
                                 **values)
    values |= {name: reader.number([*path, name], table, default) for name, default in zip(
        _KERNEL, (None, None, 0, 0), strict=True)}
    if values["blocks"] < 1:
        raise reader.refuse([*path, "blocks"], "at least 1", values["blocks"])
    return thread, reader.at(path, Operation, reader.text([*path, "kernel"], table), time,
                             **values)
