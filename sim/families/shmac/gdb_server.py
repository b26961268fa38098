"""GDB's remote protocol for cores of a SHMAC grid: a port of this machine for each.

The protocol is described in an appendix of GDB's manual. Each core is one thread. Breakpoints and
watchpoints are the model's, so that no memory is changed for them.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable

from cyclebound.golden.noc.routes import Tile
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.shmac.debugger import COUNT, Debugged, Debugger, Stop

__all__ = ["serve"]

_MOST = 1 << 14  # bytes of a packet
_ROUNDS = 1_000  # between two looks at the connections
_FEATURES = f"PacketSize={_MOST:x};QStartNoAckMode+;swbreak+;hwbreak+;vContSupported+"
_UNKNOWN = "xxxxxxxx"  # a register that there is not
_WATCHES = {"2": "watch", "3": "rwatch", "4": "awatch"}
_RUNS = re.compile(r"(?:vCont;)?(c|s|C[0-9a-f]{2}|S[0-9a-f]{2})(?::[0-9a-f.-]+)?(?:;.*)?")
_INTERRUPT = 3


class _Session:
    """A debugger's connection to a core."""

    def __init__(self, debugger: Debugger, tile: Tile, reader: asyncio.StreamReader,
                 writer: asyncio.StreamWriter, wake: Callable[[], None]) -> None:
        self._debugger, self._tile, self._wake = debugger, tile, wake
        self._reader, self._writer = reader, writer
        self._acknowledges, self._awaited = True, False
        self.end = ""  # "detached" or "killed"

    @property
    def _core(self) -> Debugged:
        return self._debugger.cores[self._tile]

    async def talk(self) -> None:
        """Answer packets until the connection ends."""
        while not self.end:
            byte = await self._reader.read(1)
            if not byte:
                break
            if byte[0] == _INTERRUPT:
                if self._core.goes:
                    self._core.halt(Stop("interrupt"))
                    self.tell()
            elif byte == b"$":
                packet = await self._packet()
                if packet is None:
                    break
                if packet:
                    await self._answer(packet[0])

    async def _packet(self) -> tuple[bytes] | tuple[()] | None:
        """A packet; nothing, if it has another checksum than it says; None, if it never ends."""
        try:
            content = await self._reader.readuntil(b"#")
            said = await self._reader.readexactly(2)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return None
        content = content[:-1]
        try:
            right = int(said, 16) == sum(content) & 255
        except ValueError:
            right = False
        if self._acknowledges:
            self._writer.write(b"+" if right else b"-")
        return (content,) if right else ()

    async def _answer(self, content: bytes) -> None:
        if self._core.goes:
            return  # it answers when it stands
        name = content[:1]
        text = content.decode("latin-1")
        reply = self._binary(content) if name == b"X" else self._reply(text)
        if reply is not None:
            self._send(reply)
        if text == "QStartNoAckMode":
            self._acknowledges = False
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    def _send(self, text: str) -> None:
        content = text.encode("latin-1")
        self._writer.write(b"$%b#%02x" % (content, sum(content) & 255))

    def tell(self) -> None:
        """Say why the core stands, if that is awaited."""
        if self._awaited and not self._core.goes:
            self._awaited = False
            self._send(self._stopped())

    def _stopped(self) -> str:
        stop = self._core.stop
        if stop.why == "exit":
            return f"W{stop.value & 255:02x}"
        if stop.why == "interrupt":
            return "T02thread:1;"
        said = {"step": "", "breakpoint": "swbreak:;"}.get(stop.why, f"{stop.why}:{stop.value:x};")
        return f"T05{said}thread:1;"

    def _reply(self, text: str) -> str | None:
        """The answer to a packet; empty: there is none of this kind; None: later."""
        fixed = {"?": self._stopped, "g": self._all, "qC": lambda: "QC1", "vCont?": lambda:
                 "vCont;c;C;s;S", "qfThreadInfo": lambda: "m1", "qsThreadInfo": lambda: "l",
                 "QStartNoAckMode": lambda: "OK", "D": self._detach, "k": self._kill,
                 "D;1": self._detach, "vKill;1": self._kill}
        if text in fixed:
            return fixed[text]()
        if text.startswith("qSupported"):
            return _FEATURES
        if text.startswith("qAttached"):
            return "1"
        if re.fullmatch(r"H[gc]-?[0-9a-f]+|T[0-9a-f]+", text):
            return "OK"
        if found := _RUNS.fullmatch(text):
            return self._go(step=found[1][0] in "sS")
        for pattern, reply in (
                (r"([cs])([0-9a-f]{1,8})", self._go_from), (r"m([0-9a-f]{1,8}),([0-9a-f]{1,8})",
                 self._read), (r"M([0-9a-f]{1,8}),([0-9a-f]{1,8}):((?:[0-9a-f]{2})*)", self._write),
                (r"p([0-9a-f]{1,4})", self._register), (r"P([0-9a-f]{1,4})=([0-9a-f]{8})",
                 self._set), (r"G([0-9a-fx]*)", self._set_all),
                (r"([zZ])([0-4]),([0-9a-f]{1,8}),([0-9a-f]{1,8})(?:;.*)?", self._point)):
            if found := re.fullmatch(pattern, text):
                return reply(*found.groups())
        return "E01" if text[:1] in ("m", "M", "p", "P", "G", "z", "Z") else ""

    def _go(self, *, step: bool) -> str | None:
        if self._core.stop.why == "exit":
            return self._stopped()
        self._awaited = True
        self._core.go(step=step)
        self._wake()
        return None

    def _go_from(self, kind: str, address: str) -> str | None:
        self._debugger.set_register(self._tile, COUNT - 1, int(address, 16))
        return self._go(step=kind == "s")

    @property
    def _order(self):
        return "big" if self._debugger.system.big_endian else "little"

    def _hex(self, value: int) -> str:
        return (value & 0xFFFF_FFFF).to_bytes(4, self._order).hex()

    def _value(self, text: str) -> int:
        return int.from_bytes(bytes.fromhex(text), self._order)

    def _all(self) -> str:
        return "".join(map(self._hex, self._debugger.registers(self._tile)))

    def _register(self, number: str) -> str:
        values = self._debugger.registers(self._tile)
        return self._hex(values[int(number, 16)]) if int(number, 16) < len(values) else _UNKNOWN

    def _set(self, number: str, value: str) -> str:
        written = self._debugger.set_register(self._tile, int(number, 16), self._value(value))
        return "OK" if written else "E01"

    def _set_all(self, text: str) -> str:
        values = [text[at:at + 8] for at in range(0, len(text), 8)]
        if len(values) < COUNT or not all(re.fullmatch(r"[0-9a-f]{8}|x{8}", value)
                                          for value in values):
            return "E01"
        here = self._debugger.registers(self._tile)
        for number, value in enumerate(values[:COUNT]):
            # a program counter that stays may be in a delay slot
            if "x" not in value and self._value(value) != here[number]:
                self._debugger.set_register(self._tile, number, self._value(value))
        return "OK"

    def _read(self, address: str, size: str) -> str:
        most = min(int(size, 16), _MOST // 2)
        found = self._debugger.read(self._tile, int(address, 16), most)
        return found.hex() if found or not most else "E0e"

    def _write(self, address: str, size: str, content: str) -> str:
        return self._put(int(address, 16), int(size, 16), bytes.fromhex(content))

    def _binary(self, content: bytes) -> str:
        head, _, rest = content.partition(b":")
        found = re.fullmatch(rb"X([0-9a-f]{1,8}),([0-9a-f]{1,8})", head)
        if found is None:
            return "E01"
        plain = re.sub(rb"}(.)", lambda escaped: bytes([escaped[1][0] ^ 0x20]), rest, flags=re.S)
        return self._put(int(found[1], 16), int(found[2], 16), plain)

    def _put(self, address: int, size: int, content: bytes) -> str:
        if size != len(content):
            return "E01"
        return "OK" if not content or self._debugger.write(
            self._tile, address, content) else "E0e"

    def _point(self, sets: str, kind: str, address: str, size: str) -> str:
        at, length = int(address, 16), int(size, 16)
        change: Callable
        if kind in "01":
            points = self._core.breakpoints
            change = points.add if sets == "Z" else points.discard
            change(at)
            return "OK"
        if not 0 < length <= 1 << 16:
            return "E01"
        watches = self._core.port.watches
        change = watches.add if sets == "Z" else watches.discard
        change((_WATCHES[kind], at, length))
        return "OK"

    def _detach(self) -> str:
        self.end = "detached"
        return "OK"

    def _kill(self) -> str:
        self.end = "killed"
        return "OK"


async def serve(debugger: Debugger, port: int, *, say: Callable[[str], None]) -> bool:
    """Serve debuggers until none is left: whether a debugger has killed the run.

    A port for each core with a debugger, ``port`` for the first and the following ones for the
    others; with 0, any that are free. A core whose debugger leaves without a word stands, and takes
    another one. Raises `UserError` for a port that cannot be had.
    """
    sessions: dict[Tile, _Session] = {}
    awake, killed = asyncio.Event(), False

    def connected(tile: Tile):
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal killed
            name = "tile ({}, {})".format(*tile)
            try:
                if tile in sessions or tile not in debugger.cores:
                    say(f"{name}: another debugger is refused: the core "
                        + ("has one" if tile in sessions else "has been left"))
                    return
                say(f"{name}: a debugger is there")
                session = sessions[tile] = _Session(debugger, tile, reader, writer, awake.set)
                try:
                    with contextlib.suppress(ConnectionError):
                        await session.talk()
                finally:
                    del sessions[tile]
                core = debugger.cores[tile]
                core.breakpoints.clear()
                core.port.watches.clear()
                if core.goes:
                    core.halt(Stop("interrupt"))
                killed |= session.end == "killed"
                if session.end == "detached" or core.stop.why == "exit":
                    debugger.detach(tile)
                say(f"{name}: " + (f"the debugger has {session.end or 'gone'}"
                                   if session.end != "killed" else "the debugger ends the run"))
                awake.set()
            finally:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()

        return talk

    servers: list[asyncio.Server] = []
    try:
        for number, tile in enumerate(list(debugger.cores)):
            wanted = port + number if port else 0
            try:
                server = await asyncio.start_server(connected(tile), "127.0.0.1", wanted,
                                                    limit=2 * _MOST)
            except (OSError, OverflowError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise UserError(f"port {wanted} cannot be had: {reason}") from None
            servers.append(server)
            say("tile ({}, {}): target remote localhost:{}".format(
                *tile, server.sockets[0].getsockname()[1]))
        while debugger.cores and not killed:
            if debugger.goes:
                debugger.run(_ROUNDS)
                for session in sessions.values():
                    session.tell()
                await asyncio.sleep(0)
            else:
                awake.clear()
                await awake.wait()
        await asyncio.sleep(0.05)  # last answers leave
    finally:
        for server in servers:
            server.close()
    return killed
