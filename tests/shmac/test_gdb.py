"""Debuggers on SHMAC's cores: the protocol, and GDB itself where it is installed."""

import asyncio
import contextlib
import os
import queue
import random
import re
import shutil
import subprocess
import threading
import time

import pytest

from cyclebound.golden.shmac.layout import Layout
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.shmac.debugger import COUNT, PC, Debugger
from cyclebound.sim.families.shmac.gdb_server import serve
from cyclebound.sim.families.shmac.run import Setup, started
from cyclebound.tools.shmac.program import assembled
from kit.gdb_client import Client

GDB = shutil.which("gdb-multiarch")
assert GDB or "CYCLEBOUND_REQUIRE_GDB" not in os.environ, "gdb-multiarch is not installed"
pytestmark = pytest.mark.unit

TEXT = """
        li    $a0, 5
        lui   $t2, {high}
loop:   jal   twice                 # 0x18 in tile (0, 0)
        nop
        sw    $v0, 0x400($t2)       # 0x20
        lw    $t3, 0x400($t2)       # 0x24
        addiu $a0, $a0, -1
        bne   $a0, $0, loop
        nop
        sw    $a1, -0x1fc($0)       # 0x34
stop:   b     stop
        nop
twice:  jr    $ra
        addu  $v0, $a0, $a0
"""
ENDLESS = "again: addiu $t0, $t0, 1\nb again\nnop"


def setup(*tiles, layout=("PP",), big_endian=True, text=TEXT):
    return Setup(Layout(layout), {tile: assembled(
        text.format(high=hex(tile[0] << 12 | tile[1] << 8)), f"{tile}.s", *tile,
        big_endian=big_endian) for tile in tiles or ((0, 0),)})


@pytest.fixture(autouse=True)
def _closed(monkeypatch):
    """No test leaves a connection open."""
    made = []
    begin = Client.__init__
    monkeypatch.setattr(Client, "__init__", lambda self, port: (
        made.append(self), begin(self, port))[1])
    yield
    for client in made:
        client.close()


class Server:
    """A server in a thread."""

    def __init__(self, made, tiles=((0, 0),)):
        self.system = started(made)
        self.debugger = Debugger(self.system, tiles)
        self.said, self._lines, self.killed, self.error = [], queue.Queue(), None, None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.ports = [int(self._lines.get(timeout=20).rpartition(":")[2]) for _ in tiles]

    def _run(self):
        try:
            self.killed = asyncio.run(serve(self.debugger, 0, say=self._say))
        except BaseException as error:
            self.error = error

    def _say(self, text):
        self.said.append(text)
        self._lines.put(text)

    def until(self, text):
        while text not in self._lines.get(timeout=20):
            pass

    def kill(self):
        """End it, as soon as the debugger before has been seen to go."""
        for _ in range(100):
            if self._thread.is_alive():
                client = Client(self.ports[0])
                with contextlib.suppress(ConnectionError):  # refused
                    client.send("k")
                    client.receive()
                self._thread.join(timeout=0.2)
                client.close()
        self.end()

    def end(self):
        self._thread.join(timeout=20)
        assert not self._thread.is_alive()
        assert self.error is None


@pytest.fixture
def served():
    """A server of one core, and a client; killed at the end."""
    server = Server(setup())
    client = Client(server.ports[0])
    yield server, client
    client.close()
    server.kill()


def test_registers(served):
    _, client = served
    assert client.ask("?") == "T05thread:1;"
    assert client.ask("g") == "0" * 8 * COUNT
    assert client.ask("P4=0000002a") == "OK"
    assert client.register(4) == 42
    assert client.ask("P0=0000002a") == "OK"  # which stays 0
    assert client.register(0) == 0
    assert client.ask(f"P{PC:x}=00000018") == "OK"
    assert client.register(PC) == 0x18
    values = [f"{number + 1:08x}" for number in range(COUNT)]
    assert client.ask("G" + "".join(values)) == "OK"
    assert client.ask("g") == "0" * 8 + "".join(values[1:])
    assert client.ask("p26") == "xxxxxxxx"  # f0
    assert client.ask("P26=00000000") == "E01"


def test_steps_and_breakpoints(served):
    server, client = served
    for number, pc in enumerate((4, 8, 0x10, 0x14, 0x18, 0x1C, 0x40, 0x44, 0x20)):
        assert client.ask("vCont;s:1" if number % 2 else "s") == "T05thread:1;"
        assert client.register(PC) == pc
    assert client.ask("Z0,24,4") == "OK"
    for count in (5, 4, 3):
        assert client.ask("c") == "T05swbreak:;thread:1;"
        assert (client.register(PC), client.register(4)) == (0x24, count)
    assert client.ask("z0,24,4") == "OK"
    assert client.ask("c") == "W00"
    assert server.system.cores[0, 0].status == 0
    client.close()
    server.end()


def test_a_step_is_an_instruction_in_a_delay_slot_too(served):
    server, client = served
    assert client.ask("Z1,18,4") == "OK"
    assert client.ask("vCont;c") == "T05swbreak:;thread:1;"
    before = server.system.cores[0, 0].instructions
    for expected in (0x1C, 0x40, 0x44, 0x20):
        assert client.ask("s") == "T05thread:1;"
        assert client.register(PC) == expected
    assert server.system.cores[0, 0].instructions == before + 4
    assert client.ask("z1,18,4") == "OK"
    assert client.ask("s18") == "T05thread:1;"  # from another address
    assert client.register(PC) == 0x1C
    everything = client.ask("g")
    assert client.ask("G" + everything) == "OK"  # in a delay slot, and stays there
    client.ask("s")
    assert client.register(PC) == 0x40


@pytest.mark.parametrize(("kind", "name", "pcs"), [
    (2, "watch", (0x20, 0x20)), (3, "rwatch", (0x24, 0x24)), (4, "awatch", (0x20, 0x24, 0x20))])
def test_watchpoints_stop_before_the_access(served, kind, name, pcs):
    server, client = served
    assert client.ask(f"Z{kind},403,1") == "OK"
    assert client.ask(f"Z{kind},404,4") == "OK"  # is not touched
    for number, pc in enumerate(pcs):
        assert client.ask("c") == f"T05{name}:403;thread:1;"
        assert client.register(PC) == pc
        if number == 0 and kind == 2:
            assert server.system.word(0x400) == 0
            assert client.ask("s") == "T05thread:1;"  # now it is made
            assert server.system.word(0x400) == 10
    assert client.ask(f"z{kind},403,1") == "OK"
    assert client.ask("c") == "W00"


def test_a_watched_run_is_the_same_run():
    """An instruction that is stopped and then made is made once."""
    ends = []
    for watched in (False, True):
        server = Server(setup())
        client = Client(server.ports[0])
        if watched:
            assert client.ask("Z4,400,4") == "OK"
        stops = 0
        while client.ask("c") != "W00":
            stops += 1
        assert stops == 10 * watched
        core = server.system.cores[0, 0]
        ends.append((core.instructions, core.machine.registers, server.system.word(0x400)))
        client.close()
        server.end()
    assert ends[0] == ends[1]


@pytest.mark.parametrize("big_endian", [True, False])
def test_memory(big_endian):
    server = Server(setup(big_endian=big_endian))
    client, word = Client(server.ports[0]), server.system.word
    assert client.ask("M401,6:010203040506") == "OK"
    assert client.ask("m400,8") == "0001020304050600"
    assert word(0x400) == (0x00010203 if big_endian else 0x03020100)
    content = bytes([0x7D, 0x03, 0x24, 0x23])  # as a packet writes },  # and $
    escaped = b"".join(b"}" + bytes([byte ^ 0x20]) if byte in b"}#$*" else bytes([byte])
                       for byte in content)
    client.send(b"X1000008,4:" + escaped)
    assert client.receive() == "OK"
    assert client.ask("m1000008,4") == content.hex()  # another tile's
    assert client.ask("m0,4") == f"{0x341A0010:08x}" if big_endian else "10001a34"  # bootstrap
    assert client.ask("mfffc,8") == "00000000"  # to the end of the memory
    for text in ("m10000,4", "m20000000,4", "Mffffffff,2:0000", "M0,4:00000000", "mfffffdfc,4"):
        assert client.ask(text) == "E0e"
    assert client.ask("m400,0") == ""
    assert client.ask("M400,5:00") == "E01"
    client.ask("k")
    server.end()


def test_a_write_clears_a_reservation():
    server = Server(setup((0, 0), layout=("PL",)))
    client = Client(server.ports[0])
    server.system.reserved = {((0, 1), (0, 0)): 8, ((0, 1), (5, 5)): 4}
    assert client.ask("M1000008,1:01") == "OK"
    assert server.system.reserved == {((0, 1), (5, 5)): 4}
    client.ask("k")
    server.end()


def test_an_interrupt_from_the_keyboard():
    server = Server(setup(text=ENDLESS))
    client = Client(server.ports[0])
    client.send("c")
    time.sleep(0.2)
    client.raw(b"\x03")
    assert client.receive() == "T02thread:1;"
    assert server.system.clock > 100
    stands = server.system.clock
    time.sleep(0.1)
    assert server.system.clock == stands
    assert client.ask("D") == "OK"
    server.end()
    assert server.killed is False


def test_cores_on_rising_ports_stand_one_by_one():
    server = Server(setup((0, 0), (0, 1)), ((0, 0), (0, 1)))
    first, second = map(Client, server.ports)
    assert first.ask("c") == "W00"  # while the other one stands
    assert server.system.cores[0, 1].instructions == 0
    first.close()
    server.until("(0, 0): the debugger has gone")
    assert second.ask("Z0,1000004,4") == "OK"
    assert second.ask("c") == "T05swbreak:;thread:1;"
    assert second.ask("D") == "OK"
    server.end()
    assert server.system.running == [(0, 1)]


def test_cores_without_a_debugger_go_while_one_goes():
    server = Server(setup((0, 0), (0, 1)))
    client = Client(server.ports[0])
    for steps in range(1, 8):
        client.ask("s")
        assert server.system.cores[0, 1].instructions == steps
    client.ask("k")
    server.end()
    assert server.killed is True


def test_a_second_debugger_on_one_port_is_refused(served):
    server, client = served
    assert client.ask("qC") == "QC1"
    other = Client(server.ports[0])
    assert other.receive() is None
    assert client.ask("?") == "T05thread:1;"
    assert any("another debugger is refused" in line for line in server.said)


def test_a_connection_that_breaks_leaves_the_core_stopped(served):
    server, client = served
    assert client.ask("Z0,24,4") == "OK"
    client.raw(b"$m400,")  # in the middle of a packet
    client.close()
    server.until("the debugger has gone")
    again = Client(server.ports[0])
    assert again.ask("p25") == "00000000"
    again.send("c")  # the breakpoint has gone with its debugger
    assert again.receive() == "W00"
    again.close()
    server.end()


def test_a_connection_that_breaks_while_the_core_goes():
    server = Server(setup(text=ENDLESS))
    client = Client(server.ports[0])
    client.send("c")
    time.sleep(0.1)
    client.close()
    server.until("the debugger has gone")
    again = Client(server.ports[0])
    assert again.ask("?") == "T02thread:1;"
    again.ask("k")
    server.end()


def test_packets_that_are_none(served):
    _, client = served
    client.raw(b"$?#00")
    assert client.acknowledge() == b"-"
    client.raw(b"$?#zz")
    assert client.acknowledge() == b"-"
    client.raw(b"rubbish+-+")
    for text, said in (("vMustReplyEmpty", ""), ("qOffsets", ""), ("m", "E01"), ("mzz,1", "E01"),
                       ("M400", "E01"), ("p", "E01"), ("Z9,0,4", "E01"), ("Z2,400,0", "E01"),
                       ("Z0,", "E01"), ("G00", "E01"), ("", ""), ("Hg0", "OK"), ("Hc-1", "OK"),
                       ("T1", "OK"), ("!", ""), ("p" + "f" * 9, "E01"), ("vCont;q", ""),
                       ("X400,2:a", "E01"), ("Xzz", "E01"), ("qAttached:1", "1")):
        assert client.ask(text) == said, text
    assert client.ask("qSupported:multiprocess+").startswith("PacketSize=")
    assert client.ask("QStartNoAckMode") == "OK"
    assert client.ask("?") == "T05thread:1;"


def test_a_packet_that_never_ends(served):
    server, client = served
    client.raw(b"$" + b"m" * (1 << 17))
    server.until("the debugger has gone")
    again = Client(server.ports[0])
    assert again.ask("qC") == "QC1"
    again.close()


def test_random_bytes_end_no_server():
    rng = random.Random(5)
    server = Server(setup(text=ENDLESS))
    for _ in range(60):
        client = Client(server.ports[0])
        for _ in range(rng.randrange(1, 12)):
            body = bytes(rng.choice(b"?gGmMpPXzZHTcsDvq0123456789abcdef,:;=}\x00\xff")
                         for _ in range(rng.randrange(24)))
            if body[:1] in (b"D", b"k"):
                continue
            if rng.random() < 0.8:
                client.send(body)
            else:
                client.raw(bytes(rng.randrange(256) for _ in range(rng.randrange(30))))
        client.close()
        server.until("has gone")
    server.kill()


def test_a_port_that_is_taken():
    server = Server(setup())
    system = started(setup())
    with pytest.raises(UserError, match=r"^port \d+ cannot be had: "):
        asyncio.run(serve(Debugger(system, [(0, 0)]), server.ports[0], say=lambda text: None))
    client = Client(server.ports[0])
    client.ask("k")
    server.end()


@pytest.mark.skipif(not GDB, reason="needs gdb-multiarch")
def test_gdb_itself():
    server = Server(setup())
    commands = ["set architecture mips:3000", "set endian big",
                f"target remote localhost:{server.ports[0]}", "break *0x24", "continue",
                "print $a0", "delete", "watch *(int *) 0x400", "continue", "delete", "stepi",
                "set *(int *) 0x408 = 7", "x/1wx 0x408", "set $a0 = 1", "continue"]
    said = subprocess.run([GDB, "-nx", "-batch", *(
        word for command in commands for word in ("-ex", command))], capture_output=True,
        text=True, timeout=60, check=False)
    server.end()
    shown = said.stdout
    assert "Breakpoint 1, 0x00000024" in shown
    assert "$1 = 5" in shown
    assert re.search(r"Old value = 10\nNew value = 8\n0x00000024", shown)
    assert "0x408:\t0x00000007" in shown
    assert "exited normally" in shown
    assert server.system.word(0x408) == 7


@pytest.mark.system
@pytest.mark.parametrize(("options", "said"), [
    (["-t", "0,1"], "--tile 0,1 has no core with a program in this grid"),
    (["-g", "PP", "--port", "65535"], "--port must leave 2 ports up to 65,535, not begin at 65535"),
    (["-t", "x"], "--tile takes ROW,COLUMN, each 0 to 15, not 'x'"),
])
def test_the_command_refuses(call, tmp_path, options, said):
    (tmp_path / "work.s").write_text(TEXT.format(high=0))
    ran = call("shmac", "gdb", "work.s", *options)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"cyclebound: {said}\n")


@pytest.mark.system
def test_the_command(tmp_path, command, command_environment):
    """Two cores; one is detached from, the other one's program ends."""
    (tmp_path / "work.s").write_text(TEXT.format(high=0))
    process = subprocess.Popen(
        [*command, "shmac", "gdb", "work.s", "-g", "PP", "--port", "0"], cwd=tmp_path,
        env=command_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ports = [int(process.stdout.readline().rpartition(":")[2]) for _ in range(2)]
    first, second = map(Client, ports)
    assert first.ask("D") == "OK"
    assert second.ask("c") == "W00"
    second.close()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert re.search(r"\(0, 1\) work.s: ended with status 0 after \d+ instructions", out)
