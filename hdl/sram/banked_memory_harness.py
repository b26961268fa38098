"""Traffic and measurement for the banked memory, in hardware: millions of cycles, or an FPGA.

Requester 0 is the victim: it makes transactions in bank 0, each as soon as the one before has
ended, so that it has always been served last, which is the arbiter's worst state for it. Chosen
rivals ask for bank 0 as well; everybody else uses the other banks. All words hold a function of
their address, so that every answer can be checked.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.hdl.harness.checker_slot import CheckerSlot
from cyclebound.hdl.harness.latency_recorder import LatencyRecorder
from cyclebound.hdl.harness.lfsr_source import LfsrSource
from cyclebound.hdl.sram.banked_memory import BankedMemory

__all__ = ["FAULTS", "BankedMemoryHarness"]

FAULTS = ("wrong data", "answer missing", "bound exceeded", "recorder overflow")
_MARK = 0xA55A3CC396691EE1  # what address 0 holds


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
        Begin a measurement, or a filling of bank after bank if ``fill``.
    fill : In(1)
        Write every word of every bank through requester 0; once before the first measurement.
    rivals : In(requesters)
        Who asks for bank 0; bit 0 is ignored.
    threshold : In(9)
        Chance of a new offer by anybody but the victim, in 1/256; 256: always.
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
    failed : Out(len(FAULTS))
        Sticky: faults that occurred.
    served : Out(32)
        Accesses of all requesters granted since reset, modulo 2**32.
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
            "histogram_count": Out(32), "failed": Out(len(FAULTS)), "served": Out(32),
        })

    def _word(self, address):
        """What the word at ``address`` holds: the address, repeated and marked."""
        width = 8 * self.memory.word_bytes
        repeated = Cat(*[address] * -(-width // len(address)))[:width]
        mark = int.from_bytes((_MARK.to_bytes(8, "little") * -(-width // 64))[: width // 8],
                              "little")
        return repeated ^ Const(mark, width)

    def elaborate(self, platform):
        m = Module()
        memory = self.memory
        m.submodules.memory = memory
        m.submodules.recorder = recorder = LatencyRecorder(depth=1, bins=self.bins, in_flight=1)
        m.submodules.slot = slot = CheckerSlot(count=len(FAULTS))

        filling, measuring = Signal(), Signal()
        self._traffic(m, measuring)
        granted_last = self._victim(m, recorder, filling, measuring)

        # A new measurement forgets the one before; its recorder takes a while to be clear.
        starting = Signal()
        m.d.comb += recorder.clear.eq(self.start & ~self.fill)
        with m.If(self.start):
            m.d.sync += [self.done.eq(0), filling.eq(self.fill), starting.eq(~self.fill)]
        with m.Elif(starting & ~recorder.clear & ~recorder.busy):
            m.d.sync += [starting.eq(0), measuring.eq(1)]
        with m.Elif(granted_last):
            m.d.sync += [filling.eq(0), measuring.eq(0), self.done.eq(1)]

        wrong, missing, served = self._check_answers(m)
        m.d.comb += [
            slot.faults.eq(Cat(wrong, missing, recorder.violated,
                               recorder.overflow | recorder.underflow)),
            recorder.limit.eq(self.limit),
            recorder.histogram_address.eq(self.histogram_address),
            self.histogram_count.eq(recorder.histogram_count),
            self.count.eq(recorder.count),
            self.minimum.eq(recorder.minimum),
            self.maximum.eq(recorder.maximum),
            self.failed.eq(slot.failed),
        ]
        m.d.sync += self.served.eq(self.served + served)
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
        ready = Signal()
        for number, port in enumerate(memory.ports[0]):
            request = port.request
            chosen = Mux(filling, address, source.source.payload.address % words)
            m.d.comb += [
                request.valid.eq(active & (bank == number)),
                request.payload.address.eq(chosen),
                request.payload.write.eq(
                    (filling | source.source.payload.write).replicate(memory.word_bytes)),
                request.payload.data.eq(self._word(request.payload.address)),
            ]
            with m.If(request.valid & request.ready):
                m.d.comb += ready.eq(1)

        last_word = word == self.length - 1
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
        measured = measuring & last_word & (transaction == self.transactions - 1)
        return ready & (filled | measured)

    def _traffic(self, m, measuring):
        """Everybody else: rivals in bank 0, the others at random in the other banks."""
        memory = self.memory
        shape = data.StructLayout({"address": max(1, ceil_log2(memory.words)), "write": 1,
                                   "bank": 8})
        for requester in range(1, memory.requesters):
            m.submodules[f"source_{requester}"] = source = LfsrSource(shape=shape)
            payload = source.source.payload
            rival = self.rivals[requester]
            bank = Signal(range(max(2, memory.banks)), name=f"bank_{requester}")
            m.d.comb += [
                source.enable.eq(measuring),
                source.threshold.eq(self.threshold),
                # a seed of its own, for each of them
                source.seed.eq(requester * 0x9E3779B97F4A7C15 & (1 << 64) - 1),
                source.load.eq(self.start),
                bank.eq(Mux(rival | (memory.banks == 1), 0,
                            1 + payload.bank % max(1, memory.banks - 1))),
            ]
            # without a bank to go to, only rivals take part
            alone = (memory.banks == 1) & ~rival
            for number, port in enumerate(memory.ports[requester]):
                request = port.request
                m.d.comb += [
                    request.valid.eq(source.source.valid & (bank == number) & ~alone),
                    request.payload.address.eq(payload.address % memory.words),
                    request.payload.write.eq(payload.write.replicate(memory.word_bytes)),
                    request.payload.data.eq(self._word(request.payload.address)),
                ]
                with m.If(request.valid & request.ready):
                    m.d.comb += source.source.ready.eq(1)

    def _check_answers(self, m):
        """Each read is answered in the cycle after its grant, with the word of its address."""
        memory = self.memory
        wrong, missing, served = [], [], []
        for bank in range(memory.banks):
            expect = Signal(memory.requesters, name=f"expect_{bank}")
            address = Signal(max(1, ceil_log2(memory.words)), name=f"address_{bank}")
            ports = [paths[bank] for paths in memory.ports]
            taken = [port.request.valid & port.request.ready for port in ports]
            m.d.sync += expect.eq(Cat(*(take & (port.request.payload.write == 0)
                                        for take, port in zip(taken, ports, strict=True))))
            for take, port in zip(taken, ports, strict=True):
                with m.If(take):
                    m.d.sync += address.eq(port.request.payload.address)
            answers = Cat(*(port.response.valid for port in ports))
            missing.append(answers != expect)
            wrong.append(answers.any() & (ports[0].response.data != self._word(address)))
            served.append(Cat(*taken).any())
        return Cat(*wrong).any(), Cat(*missing).any(), sum(served)
