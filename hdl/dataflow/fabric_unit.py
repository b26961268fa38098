"""A unit of the grid with its configuration register, and its links to units and switches.

Part of the fabric, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.bitstream import CHOICE_BITS, SEND_BITS, UNIT_WORDS, WORD
from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.grid import CHANNELS, PORTS, SPECIAL, Kind
from cyclebound.hdl.dataflow.compute_unit import ComputeUnit
from cyclebound.hdl.dataflow.control_unit import ControlUnit
from cyclebound.hdl.dataflow.crossbar import Crossbar, picked
from cyclebound.hdl.dataflow.layouts import TokenLayout
from cyclebound.hdl.dataflow.load_store_unit import LoadStoreUnit
from cyclebound.hdl.dataflow.special_unit import SpecialUnit
from cyclebound.hdl.dataflow.thread_sink import ThreadSink
from cyclebound.hdl.dataflow.thread_source import ThreadSource

__all__ = ["FabricUnit", "make_unit"]


def make_unit(kind, *, depth, tid_width, address_width):
    """The unit of a kind."""
    if kind == Kind.COMPUTE:
        return ComputeUnit(depth=depth, tid_width=tid_width, epochs=True)
    if kind == Kind.CONTROL:
        return ControlUnit(depth=depth, tid_width=tid_width, epochs=True)
    if kind == Kind.LOAD_STORE:
        return LoadStoreUnit(depth=depth, tid_width=tid_width, address_width=address_width)
    if kind == Kind.SOURCE:
        return ThreadSource(tid_width=tid_width)
    if kind == Kind.SINK:
        return ThreadSink(tid_width=tid_width)
    return SpecialUnit(function=Special(SPECIAL[kind]), depth=depth, tid_width=tid_width)


class FabricUnit(wiring.Component):
    """One place of the grid.

    Each of its eight outputs has one of the unit's channels, or none; each operand takes one of the
    eight inputs, or none (a sink has an operand for each input). Neither holds a token: what waits,
    waits in the unit before or after the link.

    Parameters
    ----------
    kind : Kind
        Of the unit.
    depth, tid_width, address_width : int
        Of the unit.

    Members
    -------
    words : In(32).array(3)
        The configuration register. May change only while ``clear`` is set.
    clear : In(1)
        Resets the unit.
    start : In(1)
        For a source: begin. It does nothing if no threads are configured.
    done : Out(1)
        For a sink: all have ended. Always set for others.
    inputs, outputs : streams of TokenLayout, arrays of 8
        Links.
    request, response, fault
        Of a load/store unit, only there.
    """

    def __init__(self, *, kind, depth, tid_width, address_width):
        self.kind = kind
        self.unit = make_unit(kind, depth=depth, tid_width=tid_width, address_width=address_width)
        self.layout = TokenLayout(tid_width=tid_width, width=WORD)
        token = stream.Signature(self.layout)
        members = {"words": In(WORD).array(UNIT_WORDS), "clear": In(1), "start": In(1),
                   "done": Out(1), "inputs": In(token).array(PORTS),
                   "outputs": Out(token).array(PORTS)}
        if kind == Kind.LOAD_STORE:
            members |= {name: self.unit.signature.members[name]
                        for name in ("request", "response", "fault")}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.done.eq(1)
        unit, kind = self.unit, self.kind
        if isinstance(unit, SpecialUnit):
            unit.reset = self.clear
        m.submodules.unit = ResetInserter(self.clear)(unit)
        if hasattr(unit, "configuration"):
            own = Cat(self.words[1:])
            m.d.comb += unit.configuration.as_value().eq(own[:len(unit.configuration.as_value())])

        if kind == Kind.SINK:
            for port, operand in zip(self.inputs, unit.operands, strict=True):
                wiring.connect(m, wiring.flipped(port), operand)
            m.d.comb += self.done.eq(unit.done)
        elif kind == Kind.SOURCE:
            m.d.comb += unit.start.eq(self.start & (unit.configuration.threads != 0))
        else:
            self._operands(m)
        if CHANNELS[kind]:
            channels = {Kind.LOAD_STORE: lambda: (unit.result, unit.enable),
                        Kind.CONTROL: lambda: (unit.results[0],),
                        Kind.SOURCE: lambda: (unit.tokens,)}.get(kind, lambda: (unit.result,))()
            m.submodules.send = send = ResetInserter(self.clear)(Crossbar(
                shape=self.layout, inputs=len(channels), outputs=PORTS))
            for channel, source in zip(channels, send.inputs, strict=True):
                wiring.connect(m, channel, source)
            for port, sink in enumerate(send.outputs):
                chosen = self.words[0][SEND_BITS * port:][:SEND_BITS]
                m.d.comb += send.choices[port].eq(chosen)
                wiring.connect(m, sink, wiring.flipped(self.outputs[port]))
        if kind == Kind.LOAD_STORE:
            for name in ("request", "fault"):
                wiring.connect(m, getattr(unit, name), wiring.flipped(getattr(self, name)))
            wiring.connect(m, wiring.flipped(self.response), unit.response)
        return m

    def _operands(self, m):
        """Each operand's choice among the inputs."""
        valid = Cat(port.valid for port in self.inputs)
        ready = 0
        for k, operand in enumerate(self.unit.operands):
            choice = Signal(CHOICE_BITS, name=f"choice_{k}")
            chosen = Signal(PORTS, name=f"chosen_{k}")
            m.d.comb += [
                choice.eq(self.words[0][SEND_BITS * PORTS + CHOICE_BITS * k:][:CHOICE_BITS]),
                chosen.eq(Mux(choice == 0, 0, 1 << (choice - 1)[:3])),
                operand.valid.eq((chosen & valid).any()),
                operand.payload.eq(picked(choice, [port.payload for port in self.inputs])),
            ]
            ready |= Mux(operand.ready, chosen, 0)
        m.d.comb += Cat(port.ready for port in self.inputs).eq(ready)
