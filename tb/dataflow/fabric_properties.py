"""Checkers of a fabric: what it has been configured with, and when its threads have ended.

`StartedCheck` and `FabricCheck` know the ports: they watch simulations, the first one of what has a
fabric inside, too. `FabricProof` looks at the places of the grid.

Ref: SGMF, sections 4.6 and 5.2.
"""

from amaranth.hdl import Assert, Cat, Cover, Signal, Value

from cyclebound.golden.dataflow.bitstream import CHOICE_BITS, UNIT_WORDS, WORD, fields
from cyclebound.golden.dataflow.grid import PORTS, Kind
from cyclebound.tb.streams_properties import StreamsCheck

__all__ = ["FabricCheck", "FabricProof", "StartedCheck"]


class StartedCheck(StreamsCheck):
    """`StreamsCheck`; and nothing is done that has not been started since the last word of a
    configuration.

    Parameters
    ----------
    target : Fabric, Core or Processor
        What is watched, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    started : Signal
        Since the last word.
    broken : Signal
        Nothing is claimed any more: in a proof, what may do anything has broken a rule.
    """

    def __init__(self, target):
        super().__init__(target)
        self.started, self.broken = Signal(), Signal()

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.configuration.valid):
            m.d.sync += self.started.eq(0)
        with m.Elif(self.start):
            m.d.sync += self.started.eq(1)
        m.d.sync += Assert(self.broken | ~self.done | self.started, "done without a start")
        return m


class FabricCheck(StartedCheck):
    """`StartedCheck`, where loading a word takes back what is on offer.

    Parameters
    ----------
    target : Fabric
        What is watched, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self.unless = Signal()

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += self.unless.eq(self.configuration.valid)
        return m


class FabricProof(FabricCheck):
    """`FabricCheck`; each unit and switch has the words that were loaded for it; ``done`` is set
    while each operand that a sink needs has had as many tokens as its threads are, since they were
    loaded; each load/store unit has the port of its number.

    Whatever units and switches do. Tokens are counted as the sink counts: modulo twice as many as
    there are threads at most.

    Parameters
    ----------
    target : Fabric
        What is proved.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._fabric = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        fabric, loads = self._fabric, self.configuration.valid
        grid, tid_width = fabric.grid, fabric.tid_width
        words = [Signal(WORD, name=f"loaded_{number}", reset_less=True)  # the last one first
                 for number in range(UNIT_WORDS * len(grid.units) + len(grid.switches))]
        with m.If(loads):
            m.d.sync += [word.eq(before) for word, before in
                         zip(words, [self.configuration.payload, *words], strict=False)]
        switches = words[UNIT_WORDS * len(grid.units):]
        for node, word in zip(grid.switches, switches, strict=True):
            choices = Cat(fabric.switches[node].choices)
            m.d.sync += Assert(choices == word[:CHOICE_BITS * PORTS], f"{node}: another word")
        ended, memory = [], iter(self.memory)
        for number, unit in enumerate(grid.units):
            place, own = fabric.places[unit], words[UNIT_WORDS * number:][:UNIT_WORDS]
            m.d.sync += Assert(Cat(place.words) == Cat(own), f"{unit}: another word")
            if grid.kind(unit) == Kind.SINK:
                ended += self._sink(m, f"sink_{number}", place, Cat(own[1:]), tid_width)
            if grid.kind(unit) == Kind.LOAD_STORE:
                port = next(memory)
                m.d.sync += Assert(
                    (Value.cast(port.request.payload) == Value.cast(place.request.payload))
                    & (port.request.valid == place.request.valid)
                    & (port.request.ready == place.request.ready)
                    & (port.response.valid == place.response.valid)
                    & (Value.cast(port.response.payload) == Value.cast(place.response.payload)),
                    f"{unit}: another port")
        m.d.sync += [
            Assert(self.started == fabric.started, "invariant: started"),
            Assert(self.done == (self.started & Cat(over for over, _ in ended).all()),
                   "done, or not, before the last thread's end"),
            Cover(self.done & Cat(some for _, some in ended).any(), "done, and a thread has ended"),
        ]
        return m

    def _sink(self, m, name, place, settings, tid_width):
        """Of each operand of a sink, whether all tokens have come, and whether any has."""
        widths = dict(fields(Kind.SINK, tid_width=tid_width, address_width=1))
        needed = settings[:widths["needed"]]
        threads = settings[widths["needed"]:][:widths["threads"]]
        found = []
        for port, (link, own) in enumerate(zip(place.inputs, place.unit.ended, strict=True)):
            had = Signal(len(threads), name=f"{name}_had_{port}")
            with m.If(self.configuration.valid):
                m.d.sync += had.eq(0)
            with m.Elif(link.valid & link.ready):
                m.d.sync += had.eq(had + 1)
            m.d.sync += Assert(had == own, "invariant: tokens of an operand")
            found.append((~needed[port] | (had == threads), needed[port] & (had != 0)))
        return found
