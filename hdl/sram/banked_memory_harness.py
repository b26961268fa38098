"""Traffic and measurement for the banked memory, in hardware: millions of cycles, or an FPGA.

Requester 0 is the victim: it makes transactions in bank 0, each as soon as the one before has
ended, so that it has always been served last, which is the arbiter's worst state for it. Chosen
rivals ask for bank 0 as well; all others use the other banks. All words hold a function of
their address, so that every answer can be checked.

It has no model of its own: what it must measure are the bounds in golden/sram/bounds.py.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.harness.faults import BANKED_MEMORY
from cyclebound.hdl.harness.checker_slot import CheckerSlot
from cyclebound.hdl.harness.latency_recorder import LatencyRecorder
from cyclebound.hdl.harness.lfsr_source import LfsrSource
from cyclebound.hdl.interfaces import MemoryRequest
from cyclebound.hdl.sram.banked_memory import BankedMemory

__all__ = ["BankedMemoryHarness"]

_MARK = 0xA55A3CC396691EE1  # what address 0 holds
_SETTLE = 4                 # cycles from the last grant to its last effect on an output


class BankedMemoryHarness(wiring.Component):
    """The memory between its traffic and its recorder.

    Parameters
    ----------
    banks, requesters, words, word_bytes : int
        Of the memory.
    bins : int
        Of the histogram of latencies.

    Members
    -------
    start : In(1)
        Begin a measurement, or a filling of bank after bank if ``fill``. All inputs but
        ``histogram_address`` are read then.
    fill : In(1)
        Write every word of every bank through requester 0; once before the first measurement.
    rivals : In(requesters)
        Requesters that ask for bank 0; bit 0 is ignored.
    threshold : In(9)
        Chance of a new offer by any requester but the victim, in 1/256; 256: always.
    length : In(16)
        Words in each transaction, at least 1.
    transactions : In(32)
        How many to make, at least 1.
    limit : In(32)
        The bound, in cycles.
    histogram_address : In(range(bins))
        Bin to read.
    done : Out(1)
        What was started has ended.
    count, minimum, maximum : Out(32)
        Transactions measured, and their least and greatest latency.
    histogram_count : Out(32)
        Transactions in the bin addressed in the cycle before.
    failed : Out(len(BANKED_MEMORY))
        Sticky: faults that occurred.
    served, checked : Out(32)
        Accesses granted to all requesters, and answers compared, since reset and modulo 2**32.
    """

    def __init__(self, *, banks, requesters, words, word_bytes, bins=8192):
        self.memory = BankedMemory(banks=banks, requesters=requesters, words=words,
                                   word_bytes=word_bytes)
        self.bins = bins
        super().__init__({
            "start": In(1), "fill": In(1), "rivals": In(requesters), "threshold": In(9),
            "length": In(16), "transactions": In(32), "limit": In(32),
            "histogram_address": In(range(bins)),
            "done": Out(1), "count": Out(32), "minimum": Out(32), "maximum": Out(32),
            "histogram_count": Out(32), "failed": Out(len(BANKED_MEMORY)), "served": Out(32),
            "checked": Out(32),
        })

    def _word(self, address):
        """Return the word stored at ``address``: the address repeated, plus a mark.

        A sum, and of one bit less than the word so that it fits: Verilator takes a bitwise
        operation on the pieces of a concatenation apart, bit by bit, and such code is 40 times as
        long.
        """
        width = 8 * self.memory.word_bytes
        repeated = Cat(*[address] * -(-width // max(1, len(address))))[:width - 1]
        mark = int.from_bytes(_MARK.to_bytes(8, "little") * -(-width // 64), "little")
        return repeated + Const(mark & (1 << width - 1) - 1, width - 1)

    def _address(self, bits):
        """An address of a word from that many random bits."""
        words = self.memory.words
        return Mux(bits < words, bits, bits - words)[:len(bits)] if words < 1 << len(bits) else bits

    def elaborate(self, platform):
        m = Module()
        memory = self.memory
        m.submodules.memory = memory
        m.submodules.recorder = recorder = LatencyRecorder(depth=1, bins=self.bins, in_flight=1)
        m.submodules.slot = slot = CheckerSlot(count=len(BANKED_MEMORY))

        # Settings in registers: a simulator would work out all that depends on an input again at
        # each edge of the clock and each change of any input.
        self._settings = {name: Signal(getattr(self, name).shape(), name=f"set_{name}")
                          for name in ("rivals", "threshold", "length", "transactions", "limit")}
        with m.If(self.start):
            m.d.sync += [kept.eq(getattr(self, name)) for name, kept in self._settings.items()]

        filling, measuring = Signal(), Signal()
        self._traffic(m, measuring)
        granted_last = self._victim(m, recorder, filling, measuring)

        # A new measurement forgets the one before; its recorder takes a while to be clear.
        # It has ended when its last effects are on the outputs.
        starting = Signal()
        settle = Signal(_SETTLE)
        m.d.sync += settle.eq(Cat(granted_last, settle))
        m.d.comb += recorder.clear.eq(self.start & ~self.fill)
        with m.If(self.start):
            m.d.sync += [self.done.eq(0), filling.eq(self.fill), starting.eq(~self.fill)]
        with m.Elif(starting & ~recorder.clear & ~recorder.busy):
            m.d.sync += [starting.eq(0), measuring.eq(1)]
        with m.Elif(granted_last):
            m.d.sync += [filling.eq(0), measuring.eq(0)]
        with m.Elif(settle[-1]):
            m.d.sync += self.done.eq(1)

        wrong, missing, served, checked = self._check_answers(m)
        m.d.comb += [
            slot.faults.eq(Cat(wrong, missing, recorder.violated,
                               recorder.overflow | recorder.underflow)),
            recorder.limit.eq(self._settings["limit"]),
            recorder.histogram_address.eq(self.histogram_address),
            self.histogram_count.eq(recorder.histogram_count),
            self.count.eq(recorder.count),
            self.minimum.eq(recorder.minimum),
            self.maximum.eq(recorder.maximum),
            self.failed.eq(slot.failed),
        ]
        m.d.sync += [
            self.served.eq(self.served + served),
            self.checked.eq(self.checked + checked),
        ]
        return m

    def _victim(self, m, recorder, filling, measuring):
        """Requester 0: fills memory, or makes transactions. True in the cycle of the last grant."""
        memory = self.memory
        words = memory.words
        bank = Signal(range(memory.banks))
        address = Signal(max(1, ceil_log2(words)))
        word, transaction = Signal(16), Signal(32)
        m.submodules.victim = source = LfsrSource(
            shape=data.StructLayout({"address": address.shape(), "write": 1}))
        m.d.comb += [source.enable.eq(1), source.threshold.eq(256)]

        active = filling | (measuring & source.source.valid)
        ready = self._ask(
            m, 0, valid=active, bank=bank, write=filling | source.source.payload.write,
            address=Mux(filling, address, self._address(source.source.payload.address)))

        last_word = word == self._settings["length"] - 1
        m.d.comb += [
            source.source.ready.eq(measuring & ready),
            recorder.accept.eq(measuring & active & (word == 0) & ~recorder.outstanding.any()),
            recorder.complete.eq(measuring & ready & last_word),
        ]
        with m.If(measuring & ready):
            m.d.sync += word.eq(Mux(last_word, 0, word + 1))
            with m.If(last_word):
                m.d.sync += transaction.eq(transaction + 1)
        with m.If(filling & ready):
            m.d.sync += address.eq(Mux(address == words - 1, 0, address + 1))
            with m.If(address == words - 1):
                m.d.sync += bank.eq(Mux(bank == memory.banks - 1, 0, bank + 1))
        with m.If(self.start):
            m.d.sync += [word.eq(0), transaction.eq(0)]

        filled = filling & (address == words - 1) & (bank == memory.banks - 1)
        measured = measuring & last_word & (transaction == self._settings["transactions"] - 1)
        return ready & (filled | measured)

    def _traffic(self, m, measuring):
        """All others: rivals in bank 0, the others at random in the other banks."""
        memory = self.memory
        others = memory.banks - 1
        shape = data.StructLayout({"address": max(1, ceil_log2(memory.words)), "write": 1,
                                   "bank": 8})
        for requester in range(1, memory.requesters):
            m.submodules[f"source_{requester}"] = source = LfsrSource(shape=shape)
            payload = source.source.payload
            rival = self._settings["rivals"][requester]
            m.d.comb += [
                source.enable.eq(measuring),
                source.threshold.eq(self._settings["threshold"]),
                # a seed of its own, for each of them
                source.seed.eq(requester * 0x9E3779B97F4A7C15 & (1 << 64) - 1),
                source.load.eq(self.start),
            ]
            # without a bank to go to, only rivals take part
            takes_part = source.source.valid & (rival if others == 0 else 1)
            m.d.comb += source.source.ready.eq(self._ask(
                m, requester, valid=takes_part, write=payload.write,
                # a fraction of the others: a product is cheaper than a remainder
                bank=Mux(rival, 0, 1 + (payload.bank * others >> 8)),
                address=self._address(payload.address)))

    def _ask(self, m, requester, *, valid, bank, address, write):
        """Offer an access to ``bank``; returns whether it is granted.

        The offer is the same on the paths to all banks, and computed once.
        """
        memory = self.memory
        name = f"offer_{requester}"
        offer = Signal(MemoryRequest(words=memory.words, word_bytes=memory.word_bytes), name=name)
        chosen = Signal(range(max(2, memory.banks)), name=f"{name}_bank")
        m.d.comb += [
            chosen.eq(bank),
            offer.address.eq(address),
            offer.write.eq(write.replicate(memory.word_bytes)),
            offer.data.eq(self._word(offer.address)),
        ]
        granted = []
        for number, port in enumerate(memory.ports[requester]):
            m.d.comb += [
                port.request.valid.eq(valid & (chosen == number)),
                port.request.payload.eq(offer),
            ]
            granted.append(port.request.valid & port.request.ready)
        return Cat(*granted).any()

    def _check_answers(self, m):
        """Each read is answered in the cycle after its grant, with the word of its address."""
        memory = self.memory
        wrong, missing, served, checked = [], [], [], []
        for bank in range(memory.banks):
            expect = Signal(memory.requesters, name=f"expect_{bank}")
            address = Signal(max(1, ceil_log2(memory.words)), name=f"address_{bank}")
            ports = [paths[bank] for paths in memory.ports]
            taken = [port.request.valid & port.request.ready for port in ports]
            m.d.sync += expect.eq(Cat(*(take & ~port.request.payload.write[0]
                                        for take, port in zip(taken, ports, strict=True))))
            # one at most is taken: an AND-OR, without a priority among them
            m.d.sync += address.eq(reduce(or_, (
                Mux(take, port.request.payload.address, 0)
                for take, port in zip(taken, ports, strict=True))))
            answers = Cat(*(port.response.valid for port in ports))
            missing.append(answers != expect)
            wrong.append(answers.any() & (ports[0].response.data != self._word(address)))
            served.append(Cat(*taken).any())
            checked.append(answers.any())
        return Cat(*wrong).any(), Cat(*missing).any(), sum(served), sum(checked)
