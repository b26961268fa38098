"""Fabric: the grid of units and switches of an SGMF core.

Ref: SGMF, sections 5.2 and 5.3, Figures
8 and 9.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.golden.dataflow.bitstream import CHOICE_BITS, UNIT_WORDS, WORD
from cyclebound.golden.dataflow.grid import PORTS, Grid, Kind
from cyclebound.hdl.dataflow.fabric_unit import FabricUnit
from cyclebound.hdl.dataflow.layouts import MemoryRequestLayout, MemoryResponseLayout, TokenLayout
from cyclebound.hdl.dataflow.parameters import check_depth
from cyclebound.hdl.dataflow.switch import Switch
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.shared import shared

__all__ = ["Fabric"]


class Fabric(wiring.Component):
    """Units and switches as `golden.dataflow.grid` links them, configured through a port.

    The configuration is a chain of words; loading it resets all units. After ``start``, sources
    begin, and ``done`` is set when all threads have arrived at all sinks.

    Parameters
    ----------
    rows : sequence of str
        The grid's description: a letter for each unit (`golden.dataflow.grid.Kind`).
    depth : int
        Entries of all token and reservation buffers.
    tid_width : int
        Bits of a thread identifier.
    address_width : int
        Bits of a word's address.

    Members
    -------
    configuration : In(stream of 32)
        Words, as `golden.dataflow.bitstream.encode` orders them; always taken, one per cycle.
    start : In(1)
        Sources begin in the next cycle. Not while threads are under way.
    done : Out(1)
        All have ended, since the last configuration was loaded and started.
    memory : Out(signature).array(load/store units)
        ``request``, ``response`` and ``fault`` of each load/store unit, in the order of the grid.
    """

    def __init__(self, *, rows, depth, tid_width, address_width):
        self.grid = Grid(tuple(rows))
        check_depth(depth, tid_width)
        check_integer("tid width", tid_width, least=1, most=30)  # a source's two words
        check_integer("address width", address_width, least=1, most=30)
        self.depth, self.tid_width, self.address_width = depth, tid_width, address_width
        tag = exact_log2(depth)
        memory = wiring.Signature({
            "request": Out(stream.Signature(MemoryRequestLayout(
                tag_width=tag, address_width=address_width, width=WORD))),
            "response": In(Strobe(MemoryResponseLayout(tag_width=tag, width=WORD))),
            "fault": Out(Strobe(TokenLayout(tid_width=tid_width, width=WORD))),
        })
        super().__init__({
            "configuration": In(stream.Signature(unsigned(WORD))),
            "start": In(1),
            "done": Out(1),
            "memory": Out(memory).array(len(self.grid.of_kind(Kind.LOAD_STORE))),
        })
        self.started = Signal()  # since the last word; a proof has to speak of it

    @cached_property
    def places(self):  # made late: a fabric that is only asked for its ports has none
        return {unit: FabricUnit(kind=self.grid.kind(unit), depth=self.depth,
                                 tid_width=self.tid_width, address_width=self.address_width)
                for unit in self.grid.units}

    @cached_property
    def switches(self):
        return {node: Switch(tid_width=self.tid_width) for node in self.grid.switches}

    def elaborate(self, platform):
        m = Module()
        grid = self.grid

        # The chain of words; all that it configures is reset.
        clear, started = Signal(), self.started
        words = [Signal(WORD, name=f"word_{k}", reset_less=True)
                 for k in range(UNIT_WORDS * len(grid.units) + len(grid.switches))]
        m.d.comb += [self.configuration.ready.eq(1), clear.eq(self.configuration.valid)]
        with m.If(clear):
            m.d.sync += [register.eq(before) for register, before in
                         zip(words, [self.configuration.payload, *words], strict=False)]
            m.d.sync += started.eq(0)
        with m.Elif(self.start):
            m.d.sync += started.eq(1)

        sizes = self.depth, self.tid_width, self.address_width
        for number, (unit, place) in enumerate(self.places.items()):
            m.submodules[f"unit_{unit.row}_{unit.column}"] = shared(
                place, platform, alike=(*sizes, place.kind))
            own = words[UNIT_WORDS * number:][:UNIT_WORDS]
            m.d.comb += [place.clear.eq(clear), place.start.eq(self.start),
                         *(port.eq(word) for port, word in zip(place.words, own, strict=True))]
        for number, (node, switch) in enumerate(self.switches.items()):
            m.submodules[f"switch_{node.row}_{node.column}"] = shared(
                switch, platform, alike=sizes, reset=clear)
            word = words[UNIT_WORDS * len(grid.units) + number]
            m.d.comb += [choice.eq(word[CHOICE_BITS * port:][:CHOICE_BITS])
                         for port, choice in enumerate(switch.choices)]
        nodes = self.places | self.switches
        for node, port, peer, entry in grid.links():
            wiring.connect(m, nodes[node].outputs[port], nodes[peer].inputs[entry])
        for unit, place in self.places.items():
            for port in range(PORTS):
                if grid.peer(unit, port) is None:
                    m.d.comb += place.outputs[port].ready.eq(1)

        for memory, unit in zip(self.memory, grid.of_kind(Kind.LOAD_STORE), strict=True):
            place = self.places[unit]
            for name in ("request", "fault"):
                wiring.connect(m, getattr(place, name), wiring.flipped(getattr(memory, name)))
            wiring.connect(m, wiring.flipped(memory.response), place.response)
        m.d.comb += self.done.eq(started & Cat(
            self.places[unit].done for unit in grid.of_kind(Kind.SINK)).all())
        return m
