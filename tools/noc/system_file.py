"""Systems of applications, and what they are given, as TOML.

    [hardware]                  # all of it may be left out
    rows = 2
    columns = 3
    io = [0, 2]                 # the I/O tile; DDR3 is behind it
    period = 1024               # T of the network's windows; all times are in its cycles
    slot = 512                  # of the table of transactions
    masters = 4                 # K: so many transactions at a time
    directions = "preferred"    # that neighbours go in one direction; or "required"
    delta = 5                   # latency of a router
    quarters = 3                # cycles of the network in four of DDR3's
    banks = 8                   # of a tile's local memory
    bank_bytes = 16384
    cap = 9                     # age cap of the reorder core
    part = "ddr3-1600-module"

    [[application]]
    name = "camera"
    tile = [0, 0]
    bank = 3                    # of DDR3; left out: it is chosen

    [[application.transaction]]
    name = "frame"
    bytes = 4096
    direction = "write"         # to DDR3, or "read"
    period = 16384
    deadline = 8192             # left out: the period
    row = 0                     # of DDR3; left out: one of its own
    column = 0                  # in bursts of 128 bytes
    local_bank = 0              # left out: it is chosen
    address = 0                 # of the buffer, in bytes; left out: it is chosen

An allocation has a ``[summary]``, ``[[bank]]`` for each application, ``[[window]]`` for each flow,
``[[transaction]]`` and ``[[slot]]``.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from cyclebound.golden.noc import tdma
from cyclebound.golden.noc.execution_model import (
    DIRECTIONS,
    Allocation,
    Application,
    Flow,
    Hardware,
    Place,
    System,
    Transaction,
)
from cyclebound.golden.noc.routes import Mesh, Tile
from cyclebound.tools.gpu.toml_text import Reader, load_toml, toml_text

__all__ = ["SYSTEM_EXAMPLE", "allocation_data", "allocation_text", "parse_allocation",
           "parse_system", "system_text"]

_NUMBERS = ("period", "slot", "masters", "delta", "quarters", "banks", "bank_bytes", "cap")
_HARDWARE = ("rows", "columns", "io", *_NUMBERS, "directions", "part")
_TRANSACTION = ("name", "bytes", "direction", "period", "deadline", "row", "column", "local_bank",
                "address")
_WAYS = ("read", "write")

SYSTEM_EXAMPLE = """# Five applications on three tiles; four banks of DDR3 would do, too
[hardware]
masters = 3

[[application]]
name = "camera"
tile = [0, 0]

[[application.transaction]]
name = "frame"
bytes = 4096
direction = "write"
period = 16384
deadline = 8192

[[application]]
name = "tracker"
tile = [0, 1]

[[application.transaction]]
name = "frame"
bytes = 4096
direction = "read"
period = 16384
deadline = 8192

[[application.transaction]]
name = "tracks"
bytes = 1024
direction = "write"
period = 16384
deadline = 6144

[[application]]
name = "planner"
tile = [1, 0]

[[application.transaction]]
name = "map"
bytes = 8192
direction = "read"
period = 32768
deadline = 24576

[[application.transaction]]
name = "path"
bytes = 512
direction = "write"
period = 16384
deadline = 4096

[[application]]
name = "log"
tile = [1, 0]

[[application.transaction]]
name = "events"
bytes = 2048
direction = "write"
period = 32768

[[application]]
name = "display"
tile = [0, 0]

[[application.transaction]]
name = "screen"
bytes = 4096
direction = "read"
period = 16384
deadline = 12288
"""
"""The file that comes with the command."""


def parse_system(text: str) -> System:
    """The applications and their hardware. Raises `ValueError` with the line of what is wrong."""
    tables, reader = load_toml(text), Reader(text)
    reader.table([], tables, ("hardware", "application"))
    hardware = _hardware(reader, tables.get("hardware", {}))
    entries = reader.tables(["application"], tables.get("application"))
    rows = _Rows(entries)
    applications = tuple(_application(reader, ["application", number], entry, rows)
                         for number, entry in enumerate(entries))
    return System(hardware, applications)


def _hardware(reader: Reader, entry: object) -> Hardware:
    table = reader.table(["hardware"], entry, _HARDWARE)
    values: dict[str, Any] = {name: reader.number(["hardware", name], table)
                              for name in _NUMBERS if name in table}
    for name, among in (("directions", DIRECTIONS), ("part", None)):
        if name in table:
            values[name] = reader.text(["hardware", name], table, among)
    if "rows" in table or "columns" in table:
        values["mesh"] = reader.at(["hardware"], Mesh, *(
            reader.number(["hardware", name], table) for name in ("rows", "columns")))
    if "io" in table:
        values["io"] = _tile(reader, ["hardware", "io"], table["io"])
    return reader.at(["hardware"], Hardware, **values)


def _tile(reader: Reader, path: list, value: object) -> Tile:
    if (not isinstance(value, list) or len(value) != 2
            or any(isinstance(part, bool) or not isinstance(part, int) for part in value)):
        raise reader.refuse(path, "a row and a column, as [0, 1]", value)
    return value[0], value[1]


class _Rows:
    """Rows of DDR3 that no transaction of a file asks for, the lowest first."""

    def __init__(self, entries: list) -> None:
        asked = [transaction.get("row") for entry in entries if isinstance(entry, dict)
                 for transaction in _dicts(entry.get("transaction"))]
        self._asked = {row for row in asked if isinstance(row, int)}
        self._next = 0

    def take(self) -> int:
        """The next one."""
        while self._next in self._asked:
            self._next += 1
        self._next += 1
        return self._next - 1


def _dicts(value: object) -> list[dict]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _application(reader: Reader, path: list, entry: object, rows: _Rows) -> Application:
    table = reader.table(path, entry, ("name", "tile", "bank", "transaction"))
    name = _name(reader, path, table)
    if "tile" not in table:
        raise reader.refuse(path, "a table with tile", table)
    tile = _tile(reader, [*path, "tile"], table["tile"])
    bank = reader.number([*path, "bank"], table) if "bank" in table else None
    transactions = tuple(
        _transaction(reader, [*path, "transaction", number], row, name, rows) for number, row in
        enumerate(reader.tables([*path, "transaction"], table.get("transaction"))))
    return Application(name, tile, transactions, bank)


def _name(reader: Reader, path: list, table: Mapping) -> str:
    name = reader.text([*path, "name"], table)
    if not all(letter.isalnum() or letter in "_- " for letter in name) or len(name) > 40:
        raise reader.refuse([*path, "name"], "up to 40 letters, digits, spaces, - and _", name)
    return name


def _transaction(reader: Reader, path: list, entry: object, application: str, rows: _Rows
                 ) -> Transaction:
    table = reader.table(path, entry, _TRANSACTION)
    name = _name(reader, path, table)
    nbytes, period = (reader.number([*path, key], table) for key in ("bytes", "period"))
    way = reader.text([*path, "direction"], table, _WAYS)

    def given(key: str) -> int | None:
        return reader.number([*path, key], table) if key in table else None

    row = given("row")
    return Transaction(
        application, name, nbytes, way == "write", period,
        reader.number([*path, "deadline"], table, period), rows.take() if row is None else row,
        reader.number([*path, "column"], table, 0), given("local_bank"), given("address"))


# -- allocations -----------------------------------------------------------------------------------


def allocation_data(system: System, allocation: Allocation) -> dict[str, Any]:
    """The allocation as plain data, for TOML or JSON."""
    slot = system.hardware.slot
    return {
        "summary": {
            "greatest_ratio": round(float(allocation.ratio(system)), 6), "slot": slot,
            "hyperperiod": system.hyperperiod * slot, "period": system.hardware.period},
        "bank": [{"application": name, "bank": bank} for name, bank in allocation.banks.items()],
        "window": [{
            "tile": list(tile), "direction": _WAYS[write], "route": [list(at) for at in one.route],
            "offset": one.offset, "length": one.length}
            for (tile, write), one in allocation.windows.items()],
        "transaction": [{
            "application": t.application, "name": t.name, "local_bank": where.bank,
            "address": where.address, "row": t.row, "column": t.column, "bytes": t.nbytes,
            "direction": _WAYS[t.write], "period": t.period, "start": where.start * slot,
            "slots": where.length, "bound": where.bound, "deadline": t.deadline}
            for t in system.transactions for where in [allocation.places[t.full_name]]],
        "slot": [{"number": number, "transactions": list(names)}
                 for number, names in enumerate(allocation.table)]}


def allocation_text(system: System, allocation: Allocation) -> str:
    """The allocation as TOML."""
    return toml_text(allocation_data(system, allocation))


def parse_allocation(text: str, system: System) -> Allocation:
    """An allocation of this system, whether it keeps the rules or not.

    Raises `ValueError` with the line of what is wrong: that it is none, that its table has a gap.
    """
    tables, reader = load_toml(text), Reader(text)
    reader.table([], tables, ("summary", "bank", "window", "transaction", "slot"))
    parts = {name: reader.tables([name], tables.get(name))
             for name in ("bank", "window", "transaction", "slot")}
    banks, windows, places = {}, {}, {}
    for path, table in _entries(reader, "bank", parts, ("application", "bank")):
        name = reader.text([*path, "application"], table, tuple(system.of))
        banks[name] = reader.number([*path, "bank"], table)
    for path, table in _entries(reader, "window", parts,
                                ("tile", "direction", "route", "offset", "length")):
        flow: Flow = (_tile(reader, [*path, "tile"], table.get("tile")),
                      reader.text([*path, "direction"], table, _WAYS) == "write")
        route = tuple(_tile(reader, [*path, "route"], tile)
                      for tile in _list(reader, [*path, "route"], table))
        windows[flow] = tdma.Slot(route, reader.number([*path, "offset"], table),
                                  reader.number([*path, "length"], table))
    known = {(t.application, t.name): t for t in system.transactions}
    slot = system.hardware.slot
    for path, table in _entries(reader, "transaction", parts, (
            "application", "name", "local_bank", "address", "row", "column", "bytes", "direction",
            "period", "start", "slots", "bound", "deadline")):
        key = tuple(reader.text([*path, word], table) for word in ("application", "name"))
        if key not in known:
            raise reader.refuse([*path, "name"], "a transaction of the system", ".".join(key))
        start = reader.number([*path, "start"], table)
        if start % slot:
            raise reader.refuse([*path, "start"], f"a multiple of the slot, {slot}", start)
        bank, address, slots, bound = (reader.number([*path, word], table) for word in (
            "local_bank", "address", "slots", "bound"))
        places[known[key].full_name] = Place(bank, address, start // slot, slots, bound)
    rows: list[tuple[str, ...]] = []
    for path, table in _entries(reader, "slot", parts, ("number", "transactions")):
        number = reader.number([*path, "number"], table)
        if number != len(rows):
            raise reader.refuse([*path, "number"], f"{len(rows)}, as the table must have no gap",
                                number)
        rows.append(tuple(map(str, _list(reader, [*path, "transactions"], table))))
    return Allocation(banks, windows, places, tuple(rows))


def _entries(reader: Reader, name: str, parts: Mapping[str, list], keys: tuple[str, ...]
             ) -> Iterable[tuple[list, Mapping]]:
    for number, entry in enumerate(parts[name]):
        yield [name, number], reader.table([name, number], entry, keys)


def _list(reader: Reader, path: list, table: Mapping) -> list:
    """A list under the path's last name. Raises `ValueError` where there is none."""
    value = table.get(path[-1])
    if not isinstance(value, list):
        raise reader.refuse(path if path[-1] in table else path[:-1], f"a list for {path[-1]}",
                            value)
    return value


def system_text(system: System) -> str:
    """The system as TOML that `parse_system` reads."""
    hardware = system.hardware
    return toml_text({
        "hardware": {
            "rows": hardware.mesh.rows, "columns": hardware.mesh.columns, "io": list(hardware.io),
            **{name: getattr(hardware, name) for name in (*_NUMBERS, "directions", "part")}},
        "application": [{
            "name": application.name, "tile": list(application.tile),
            **({} if application.bank is None else {"bank": application.bank}),
            "transaction": [{
                "name": t.name, "bytes": t.nbytes, "direction": _WAYS[t.write],
                "period": t.period, "deadline": t.deadline, "row": t.row, "column": t.column,
                **{key: value for key, value in (("local_bank", t.bank), ("address", t.address))
                   if value is not None}} for t in application.transactions]}
            for application in system.applications]})
