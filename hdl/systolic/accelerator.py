"""Accelerator: a queue of commands, scratchpads, transfers from and to memory, a layer engine.

Ref: thesis on AI accelerators, chapters 2.3, 2.4, 4.2 and 5.2; the commands are this project's.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from cyclebound.golden.systolic.accelerator_layout import (
    BIAS_BEATS,
    Operation,
    Target,
    command_fields,
    compute_fields,
    request_fields,
)
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.systolic.layer_engine import LayerEngine, layout_of

__all__ = ["Accelerator"]


class Accelerator(wiring.Component):
    """Whole layers, and networks of them, by a list of commands.

    Commands leave the queue in their order: a load or a store as soon as the transfer before has
    ended, a computation as soon as the one before has; so that a transfer and a computation may be
    under way together. One with ``wait`` leaves when neither is. The hardware does not check what
    must not overlap: the list has to see to it, as golden/systolic/accelerator_plan.py does.

    A command that comes to an idle accelerator in cycle *t* leaves the queue in *t* + 1.
    A transfer that leaves it in *t* puts its request on offer in *t* + 1; of a store, the first
    beat is on offer in the cycle after the request was accepted. Beats that are read are
    accepted in any cycle from then on.

    Parameters
    ----------
    size, a_depth, b_depth, bias_depth, c_depth, sums_depth, pool_depth, address_width
        Of the engine, as of `LayerEngine`.
    memory_width : int
        Bits of the address of a beat in memory, at least 1.
    queue_depth : int
        Commands in the queue, at least 2.

    Members
    -------
    command : In(stream.Signature(StructLayout))
        As in golden/systolic/accelerator_layout.py. Counts are at least 1.
    requests : Out(stream.Signature(StructLayout))
        Transfers, as there.
    read : In(stream.Signature(8 * size))
        Beats that were asked for, one word each, and a quarter of a word of biases or scales.
    write : Out(stream.Signature(8 * size))
        Beats to be written.
    idle : Out(1)
        No command is queued or under way.
    active : Out(size * size)
        Which PEs execute.

    Attributes
    ----------
    engine : LayerEngine
        What computes.
    transferring, asked, store : Signal
        A transfer is under way; its request has been accepted; it is to memory.
    left : Signal
        Its beats to come.
    """

    def __init__(self, *, size, a_depth=1024, b_depth=1024, bias_depth=64, c_depth=1024,
                 sums_depth=1024, pool_depth=64, address_width=12, memory_width=24,
                 queue_depth=4):
        self.engine = LayerEngine(
            size=size, a_depth=a_depth, b_depth=b_depth, bias_depth=bias_depth, c_depth=c_depth,
            sums_depth=sums_depth, pool_depth=pool_depth, address_width=address_width)
        check_integer("Memory width", memory_width, 1)
        check_integer("Queue depth", queue_depth, 2)
        self.queue_depth = queue_depth
        self._word = data.ArrayLayout(signed(8), size)
        self._command = layout_of(command_fields(address_width, memory_width))
        super().__init__({
            "command": In(stream.Signature(self._command)),
            "requests": Out(stream.Signature(data.StructLayout(request_fields(memory_width)))),
            "read": In(stream.Signature(8 * size)), "write": Out(stream.Signature(8 * size)),
            "idle": Out(1), "active": Out(size * size),
        })
        self.transferring, self.asked, self.store = (
            Signal(name=name) for name in ("transferring", "asked", "store"))
        self.left = Signal(16)

    def elaborate(self, platform):
        m = Module()
        m.submodules.engine = engine = self.engine
        m.submodules.queue = queue = SyncFIFO(width=self._command.size, depth=self.queue_depth)
        head, computes, leaves = Signal(self._command), Signal(), Signal()
        transferring = self.transferring
        m.d.comb += [
            queue.w_data.eq(self.command.payload),
            queue.w_en.eq(self.command.valid),
            self.command.ready.eq(queue.w_rdy),
            head.eq(queue.r_data),
            computes.eq(head.operation == Operation.COMPUTE),
            leaves.eq(queue.r_rdy & Mux(head.wait, engine.command.ready & ~transferring,
                                        Mux(computes, engine.command.ready, ~transferring))),
            queue.r_en.eq(leaves),
            engine.command.valid.eq(leaves & computes),
            self.idle.eq(~queue.r_rdy & engine.command.ready & ~transferring),
            self.active.eq(engine.active),
        ]
        m.d.comb += [engine.command.payload[name].eq(head[name])
                     for name in compute_fields(engine.address_width)]
        self._transfer(m, engine, head, leaves & ~computes, transferring)
        return m

    def _transfer(self, m, engine, head, begin, busy):
        """One transfer at a time: its request, then its beats."""
        left, asked, store, target = self.left, self.asked, self.store, Signal(Target)
        place = Signal(engine.address_width)
        beat = Signal()  # one moves
        request = self.requests
        m.d.comb += [
            request.valid.eq(busy & ~asked),
            self.read.ready.eq(busy & asked & ~store),
            self.write.valid.eq(busy & asked & store),
            self.write.payload.eq(engine.c_data),
            beat.eq((self.read.valid & self.read.ready) | (self.write.valid & self.write.ready)),
            # the first word is there when the request has been accepted
            engine.read_c.enable.eq(store & (~asked | beat)),
            engine.read_c.address.eq(place),
        ]
        with m.If(begin):
            m.d.sync += [busy.eq(1), asked.eq(0), store.eq(head.operation == Operation.STORE),
                         target.eq(head.target), place.eq(head.scratch), left.eq(head.count),
                         request.payload.write.eq(head.operation == Operation.STORE),
                         request.payload.address.eq(head.memory),
                         request.payload.count.eq(head.count)]
        with m.If(request.valid & request.ready):
            m.d.sync += asked.eq(1)
        with m.If(beat):
            m.d.sync += left.eq(left - 1)
            with m.If(left == 1):
                m.d.sync += busy.eq(0)

        # A word of biases, or of scales, is put together of several beats.
        quarter, earlier = Signal(range(BIAS_BEATS)), Signal((BIAS_BEATS - 1) * len(
            self.read.payload))
        moves = {name: Signal(name=f"{name}_moves")
                 for name in ("a", "b", "bias", "shortcut", "scale")}
        loads, whole = beat & ~store, quarter == BIAS_BEATS - 1
        m.d.comb += [
            moves["a"].eq(loads & (target == Target.A)),
            moves["b"].eq(loads & (target == Target.B)),
            moves["bias"].eq(loads & (target == Target.BIAS) & whole),
            moves["scale"].eq(loads & (target == Target.SCALE) & whole),
            moves["shortcut"].eq(loads & (target == Target.SHORTCUT)),
        ]
        with m.If(begin):
            m.d.sync += quarter.eq(0)
        with m.Elif(loads):
            m.d.sync += [quarter.eq(quarter + 1),
                         earlier.eq(Cat(earlier, self.read.payload)[len(self.read.payload):])]
        for name, moved in moves.items():
            port = getattr(engine, f"write_{name}")
            m.d.comb += [port.enable.eq(moved), port.address.eq(place)]
            m.d.comb += port.data.eq(Cat(earlier, self.read.payload)
                                     if name in ("bias", "scale") else self.read.payload)
        with m.If(Cat(moves.values()).any()
                  | (store & ((request.valid & request.ready) | (beat & asked)))):
            m.d.sync += place.eq(place + 1)
        return m
