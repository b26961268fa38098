"""SGMF processor above DRAM: each memory channel of its second level has a part of its own.

Ref: SGMF, sections 4.6, 5 and 7.2, Table 1; Sim-D, section 3.2.
"""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cyclebound.hdl.dataflow.channel import PINS, DramChannel
from cyclebound.hdl.dataflow.processor import Processor
from cyclebound.hdl.interfaces import pass_through
from cyclebound.hdl.shared import shared

__all__ = ["DramProcessor"]


class DramProcessor(wiring.Component):
    """Runs the threads of a configuration on all cores; then the DRAMs have what they have stored.

    Parameters
    ----------
    part : Part or str
        Each channel's DRAM, or its name.
    cores, rows, depth, tid_width, address_width, size, line, banks, ways, misses, targets
        As of `Processor`.
    policy, replacement, l2_size, l2_banks, l2_ways, l2_misses, l2_targets, channels
        As of `Processor`.

    Members
    -------
    configuration, threads, share, start, faults
        As of `Processor`. Not before all channels have mapped their lines, 16 cycles after a reset.
    done : Out(1)
        As of `Processor`, and each DRAM has its words.
    drams : Out(signature).array(channels)
        ``command``, ``dq_in``, ``dq_out``, ``late`` of each `DramChannel`.
    """

    def __init__(self, *, part, cores, rows, depth, tid_width, address_width, size=16384, line=32,
                 banks=32, ways=4, misses=4, targets=4, policy="write-back", replacement="lru",
                 l2_size=196608, l2_banks=6, l2_ways=16, l2_misses=4, l2_targets=4, channels=6):
        self.processor = Processor(
            cores=cores, rows=rows, depth=depth, tid_width=tid_width, address_width=address_width,
            size=size, line=line, banks=banks, ways=ways, misses=misses, targets=targets,
            policy=policy, replacement=replacement, l2_size=l2_size, l2_banks=l2_banks,
            l2_ways=l2_ways, l2_misses=l2_misses, l2_targets=l2_targets, channels=channels)
        members = self.processor.signature.members
        request = members["lines"].signature.members["request"].signature.members["payload"].shape
        self._channel = {"part": part, "line": line, "address_width": address_width,
                         "id_width": request["id"].width}
        self.channels = [DramChannel(**self._channel) for _ in range(channels)]
        pins = self.channels[0].signature.members
        self._passed = [name for name in members if name not in ("done", "lines")]
        super().__init__({
            **{name: members[name] for name in self._passed}, "done": Out(1),
            "drams": Out(wiring.Signature({name: pins[name] for name in PINS})).array(
                len(self.channels)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.processor = processor = self.processor
        for number, (channel, lines, pins) in enumerate(zip(
                self.channels, processor.lines, self.drams, strict=True)):
            m.submodules[f"channel_{number}"] = shared(channel, platform,
                                                       alike=tuple(self._channel.values()))
            wiring.connect(m, lines, channel.lines)
            m.d.comb += [pins.command.eq(channel.command), channel.dq_in.eq(pins.dq_in),
                         pins.late.eq(channel.late)]
            wiring.connect(m, channel.dq_out, wiring.flipped(pins.dq_out))
        for ours, theirs in zip(self.faults, processor.faults, strict=True):
            for own, its in zip(ours, theirs, strict=True):
                wiring.connect(m, its, wiring.flipped(own))
        pass_through(m, self, processor, *(name for name in self._passed if name != "faults"))
        m.d.comb += self.done.eq(processor.done
                                 & Cat(channel.idle for channel in self.channels).all())
        return m
