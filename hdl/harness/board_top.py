"""A block's harness that measures by itself, and tells what it found on a serial line."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.harness.uart_sender import UartSender

__all__ = ["BIN_BITS", "COUNT_BITS", "STEP_BITS", "BoardTop", "results"]

STEP_BITS, BIN_BITS, COUNT_BITS = 16, 32, 32
_OWN = "start", "histogram_address"


def _ports(harness, flow, without):
    """The harness' ports of one direction, by name, in the order of its signature."""
    return {name: Value.cast(getattr(harness, name)) for name, member
            in harness.signature.members.items() if member.flow is flow and name not in without}


def results(harness):
    """The outputs whose values are sent, the first in the lowest bits, with their widths."""
    return {name: len(value)
            for name, value in _ports(harness, Out, ("histogram_count",)).items()}


class BoardTop(wiring.Component):
    """Goes through a script of measurements again and again, from reset on.

    What it sends are lines of text: a letter, hexadecimal digits, a line feed. ``S`` and 4 digits:
    a measurement begins, by its number in the script. ``O``: all `results` of it, once it is done.
    ``H`` and 16 digits: a bin of its histogram and its count, for each that is not empty. ``E``
    and 4 digits: the script is through, with its length.

    Parameters
    ----------
    harness : wiring.Component
        With ``start`` and ``done``, and maybe ``histogram_address`` and ``histogram_count``, read
        one cycle after.
    script : list of dict
        The other inputs of each measurement, by name; what is not named is 0. At least one.
    divisor : int
        Cycles for each bit on the line.

    Members
    -------
    tx : Out(1)
        The line.
    """

    def __init__(self, *, harness, script, divisor):
        ports = harness.signature.members
        for name in ("start", "done"):
            if name not in ports:
                raise ValueError(f"A harness on a board must have the port {name!r}")
        if not script:
            raise ValueError("Script must have at least one measurement")
        inputs = _ports(harness, In, _OWN)
        for number, settings in enumerate(script):
            for name, value in settings.items():
                if name not in inputs:
                    raise ValueError(f"Measurement {number} sets {name!r}, which is no input")
                if not 0 <= value < 1 << len(inputs[name]):
                    raise ValueError(f"Measurement {number}: {name} has {len(inputs[name])} bits, "
                                     f"too few for {value}")
        self.harness, self.script, self.divisor = harness, script, divisor
        super().__init__({"tx": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.harness = harness = self.harness
        m.submodules.uart = uart = UartSender(divisor=self.divisor)
        m.d.comb += self.tx.eq(uart.tx)

        inputs, sent = _ports(harness, In, _OWN), results(harness)
        digits = max(16, -(-sum(sent.values()) // 4))
        letter, line = Signal(8), Signal(4 * digits)
        left, phase = Signal(range(digits + 1)), Signal(2)
        self._send(m, uart.sink, letter, line, left, phase)

        def say(kind, value, count):
            """Send a line of so many digits; the FSM stands still meanwhile."""
            m.d.sync += [letter.eq(ord(kind)), line.eq(value << 4 * (digits - count)),
                         left.eq(count), phase.eq(1)]

        step = Signal(range(len(self.script)))
        m.submodules.script = script = Memory(
            shape=max(1, sum(map(len, inputs.values()))), depth=len(self.script),
            init=[self._word(inputs, settings) for settings in self.script])
        read = script.read_port()
        m.d.comb += [read.addr.eq(step), Cat(*inputs.values()).eq(read.data)]

        last_bin = 0
        if "histogram_address" in harness.signature.members:
            last_bin = (1 << len(Value.cast(harness.histogram_address))) - 1
        chosen = Signal(range(last_bin + 1))
        wait = Signal()
        with m.If(phase == 0), m.FSM():
            with m.State("BEGIN"):
                say("S", step, STEP_BITS // 4)
                m.next = "START"
            with m.State("START"):
                m.d.comb += harness.start.eq(1)
                m.next = "STARTED"
            with m.State("STARTED"):  # `done` of the measurement before may still stand
                m.next = "RUN"
            with m.State("RUN"), m.If(harness.done):
                say("O", Cat(*(getattr(harness, name) for name in sent)),
                    -(-sum(sent.values()) // 4))
                m.d.sync += [chosen.eq(0), wait.eq(0)]
                m.next = "BIN" if last_bin else "NEXT"
            if last_bin:
                m.d.comb += harness.histogram_address.eq(chosen)
                with m.State("BIN"):
                    m.d.sync += wait.eq(1)
                    with m.If(wait):
                        m.next = "COUNT"
                with m.State("COUNT"):
                    with m.If(harness.histogram_count != 0):
                        say("H", Cat(C(0, COUNT_BITS) | harness.histogram_count,
                                     C(0, BIN_BITS) | chosen), (BIN_BITS + COUNT_BITS) // 4)
                    m.d.sync += [chosen.eq(chosen + 1), wait.eq(0)]
                    m.next = "BIN"
                    with m.If(chosen == last_bin):
                        m.next = "NEXT"
            with m.State("NEXT"):
                last = step == len(self.script) - 1
                m.d.sync += step.eq(Mux(last, 0, step + 1))
                with m.If(last):
                    say("E", C(len(self.script), STEP_BITS), STEP_BITS // 4)
                m.next = "FETCH"
            with m.State("FETCH"):  # the script's memory answers a cycle later
                m.next = "BEGIN"
        return m

    @staticmethod
    def _word(inputs, settings):
        """The memory's word of a measurement: the first input in the lowest bits."""
        word = low = 0
        for name, value in inputs.items():
            word |= settings.get(name, 0) << low
            low += len(value)
        return word

    @staticmethod
    def _send(m, sink, letter, line, left, phase):
        """A line goes out: the letter, the digits from the top, a line feed."""
        digit = Signal(4)
        m.d.comb += [digit.eq(line[-4:]), sink.valid.eq(phase != 0)]
        with m.Switch(phase):
            with m.Case(1):
                m.d.comb += sink.payload.eq(letter)
            with m.Case(2):
                m.d.comb += sink.payload.eq(
                    Mux(digit < 10, ord("0") + digit, ord("A") - 10 + digit))
            with m.Case(3):
                m.d.comb += sink.payload.eq(ord("\n"))
        with m.If(sink.valid & sink.ready):
            with m.If(phase == 2):
                m.d.sync += [line.eq(line << 4), left.eq(left - 1)]
                with m.If(left == 1):
                    m.d.sync += phase.eq(3)
            with m.Else():
                m.d.sync += phase.eq(Mux(phase == 3, 0, 2))
