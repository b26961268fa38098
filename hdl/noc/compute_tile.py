"""A compute tile: cores, local memory, and a DMA that sends transactions to another tile.

Part of the end-to-end systems, whose models, testbenches and tests cover it.

Ref: memory-composition, section II, Example 1.
"""

from functools import cached_property

from amaranth.hdl import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.end_to_end_data import AHEAD, MULTIPLIER, SEED_BITS, WORD_BYTES
from cyclebound.hdl.interfaces import MemoryPort
from cyclebound.hdl.noc.packet_sender import TransactionLayout
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.sram.banked_memory import SramBank

__all__ = ["ComputeTile", "FillLayout"]


class FillLayout(data.StructLayout):
    """A transaction: ``words`` of 8 bytes, from ``word`` of a ``bank`` on, are filled with what
    ``seed`` says, and go to ``address`` (in words of a flit) at the end of ``route``."""

    def __init__(self, *, banks, words, width):
        super().__init__({"bank": range(banks), "word": range(words), "words": range(words + 1),
                          "seed": unsigned(SEED_BITS), "route": unsigned(width),
                          "address": unsigned(width - 1)})


class ComputeTile(wiring.Component):
    """A core fills a buffer, starts_dma the DMA, and the DMA reads the buffer and passes it on.

    A requester in ``saturate`` asks for a word in every cycle in which it has no other request;
    only so can a transaction meet the wait that Eq. 1 allows. The core is requester 0 of each
    bank, the DMA number 1: if it saturates the transaction's bank, it has just had its turn when it
    is told, which is the worst case. With ``receives``, number 2 is what comes in; the others are
    other cores.

    Parameters
    ----------
    requesters : int
        Requesters of a bank: cores and DMA, at least 2; 3 with ``receives``.
    words : int
        Words of 8 bytes in a bank.
    banks : int
        Banks of local memory.
    receives : bool
        Whether it receives words, too.
    width : int
        Bits of a flit: 32.

    Members
    -------
    fills : In(stream of FillLayout)
        What the core is to write and send, one at a time. It begins in the cycle after the next; if
        it saturates, with its next word.
    saturate : In(requesters)
        Requesters that ask in every cycle; what comes in is of no account.
    at : In(range(banks)).array
        The bank where each of them does, but for what comes in.
    store : In(MemoryPort)
        With ``receives``: of all banks, one after the other.
    look, seen : In, Out
        The core reads a word, in each cycle in which ``valid`` and it does not write; what it has,
        in the cycle after the grant.
    writing : Out(1)
        The core's writes are on offer.
    filled : Out(1)
        The last of them is granted in this cycle.
    transactions, source : Out(stream)
        To the network interface.
    """

    def __init__(self, *, requesters, words, banks=1, receives=False, width=32):
        check_integer("requesters", requesters, 2 + receives)
        check_integer("banks", banks, 1)
        self.requesters, self.words, self.banks, self.width = requesters, words, banks, width
        self.receives = receives
        store = MemoryPort(words=banks * words, word_bytes=WORD_BYTES)
        super().__init__({
            "fills": In(stream.Signature(FillLayout(banks=banks, words=words, width=width))),
            "saturate": In(requesters), "at": In(range(banks)).array(requesters - receives),
            **({"store": In(store)} if receives else {}),
            "look": In(data.StructLayout({"valid": 1, "bank": range(banks), "word": range(words)})),
            "seen": Out(data.StructLayout({"valid": 1, "data": 8 * WORD_BYTES})),
            "writing": Out(1), "filled": Out(1),
            "transactions": Out(stream.Signature(TransactionLayout(width))),
            "source": Out(stream.Signature(width)),
        })

    @cached_property
    def srams(self):
        """The banks, made when first used."""
        return [SramBank(requesters=self.requesters, words=self.words, word_bytes=WORD_BYTES)
                for _ in range(self.banks)]

    def elaborate(self, platform):
        m = Module()
        for number, bank in enumerate(self.srams):
            m.submodules[f"bank_{number}" if self.banks > 1 else "bank"] = bank
        saturate = Signal(self.requesters)
        m.d.sync += saturate.eq(self.saturate)  # a setting; a request on offer is not withdrawn
        core, dma = self._path(m, 0), self._path(m, 1)
        if self.receives:
            self._receive(m, self._path(m, 2))
        for who in range(2 + self.receives, self.requesters):
            path = self._path(m, who)
            m.d.comb += [path.bank.eq(self.at[who - self.receives]), path.valid.eq(saturate[who])]

        job, starts_dma = Signal(self.fills.payload.shape()), Signal()
        busy = self._write(m, core, job, saturate[0])
        m.d.sync += starts_dma.eq(self.filled)  # the DMA is told, t_2
        sends = self._send(m, dma, job, starts_dma, saturate[1])
        m.d.comb += self.fills.ready.eq(~(busy | starts_dma | sends))
        with m.If(self.fills.valid & self.fills.ready):
            m.d.sync += job.eq(self.fills.payload)
        return m

    def _path(self, m, who):
        """A requester's path to whichever ``bank`` it asks."""
        path = Signal(data.StructLayout({
            "valid": 1, "ready": 1, "bank": range(self.banks),
            "access": self.srams[0].ports[0].request.payload.shape()}), name=f"path_{who}")
        ready = 0
        for number, bank in enumerate(self.srams):
            request, here = bank.ports[who].request, path.bank == number
            m.d.comb += [request.valid.eq(path.valid & here), request.payload.eq(path.access)]
            ready |= request.ready & here
        m.d.comb += path.ready.eq(ready)
        return path

    def _answer(self, m, who, path):
        """What the bank answers that was asked in the cycle before."""
        asked = Signal.like(path.bank, name=f"asked_{who}")
        m.d.sync += asked.eq(path.bank)
        return Array(bank.ports[who].response for bank in self.srams)[asked]

    def _write(self, m, core, job, saturates):
        """The core. An offer that waits stays as it is: its first write follows one that is
        granted. Returns whether it has something to write."""
        armed, index = Signal(), Signal(range(self.words))
        access, answer, last = core.access, self._answer(m, 0, core), Signal()
        m.d.comb += [
            core.valid.eq(self.writing | saturates | self.look.valid),
            core.bank.eq(Mux(self.writing, job.bank,
                             Mux(self.look.valid, self.look.bank, self.at[0]))),
            access.address.eq(Mux(self.writing, job.word + index, self.look.word)),
            access.write.eq(Mux(self.writing, -1, 0)),
            access.data.eq(Cat(index, ((index + job.seed) * MULTIPLIER)[:32])),
            last.eq(index == job.words - 1),
            self.filled.eq(self.writing & core.ready & last),
            self.seen.valid.eq(answer.valid), self.seen.data.eq(answer.data),
        ]
        with m.If(self.fills.valid & self.fills.ready):
            m.d.sync += [armed.eq(1), index.eq(0)]
        with m.If(armed & (~saturates | core.ready)):
            m.d.sync += [armed.eq(0), self.writing.eq(1)]
        with m.If(self.writing & core.ready):
            m.d.sync += index.eq(index + 1)
            with m.If(last):
                m.d.sync += self.writing.eq(0)
        return armed | self.writing

    def _send(self, m, dma, job, told, saturates):
        """The DMA reads. What it asks for before is what it will read first. Returns whether it has
        something to read, or to ask for."""
        m.submodules.fifo = fifo = SyncFIFO(width=8 * WORD_BYTES, depth=AHEAD)
        reading, asks = Signal(), Signal()
        index = Signal(range(self.words))
        held = Signal(range(AHEAD + 1))  # words granted, and not passed on
        granted = Signal()
        transaction = self.transactions.payload
        m.d.comb += [
            self.transactions.valid.eq(asks), transaction.route.eq(job.route),
            transaction.address.eq(job.address),
            transaction.words.eq(job.words * (8 * WORD_BYTES // self.width)),
            dma.valid.eq(Mux(reading, held != AHEAD, saturates)),
            dma.bank.eq(Mux(reading, job.bank, self.at[1])),
            dma.access.address.eq(job.word + index),
            granted.eq(reading & dma.valid & dma.ready),
        ]
        with m.If(told):
            m.d.sync += [asks.eq(1), reading.eq(1), index.eq(0)]
        with m.Elif(self.transactions.ready):
            m.d.sync += asks.eq(0)
        with m.If(granted):
            m.d.sync += index.eq(index + 1)
            with m.If(index == job.words - 1):
                m.d.sync += reading.eq(0)

        # A word is as many flits as fit.
        mine, half = Signal(), Signal()
        passed, answer = Signal(), self._answer(m, 1, dma)
        m.d.sync += [mine.eq(granted), held.eq(held + granted - passed)]
        m.d.comb += [
            fifo.w_en.eq(mine & answer.valid), fifo.w_data.eq(answer.data),
            self.source.valid.eq(fifo.r_rdy),
            self.source.payload.eq(fifo.r_data.word_select(half, self.width)),
            passed.eq(fifo.r_en & fifo.r_rdy), fifo.r_en.eq(self.source.ready & half),
        ]
        with m.If(self.source.valid & self.source.ready):
            m.d.sync += half.eq(~half)
        return reading | asks

    def _receive(self, m, path):
        """What comes in: the upper bits of its address say which bank."""
        request, low = self.store.request, (self.words - 1).bit_length()
        m.d.comb += [
            path.valid.eq(request.valid), request.ready.eq(path.ready),
            path.bank.eq(request.payload.address[low:]),
            path.access.address.eq(request.payload.address[:low]),
            path.access.write.eq(request.payload.write),
            path.access.data.eq(request.payload.data),
        ]
