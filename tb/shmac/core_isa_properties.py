"""Proofs that SHMAC's core does what each instruction says, in a description of its own.

The table here is written from the architecture, one entry for each instruction, apart from the
decoder and the datapath of the core, and apart from the golden model. It takes the values of the
registers rs and rt as the core reads them; that these are what was written last is a property of
its own (`CoreRegistersProof`). Products and quotients are one of `MultiplyDivide`.
"""

from amaranth.hdl import Assert, Assume, C, Cat, Cover, Module, Mux, Signal, Value

from cyclebound.golden.shmac.isa import ENCODINGS, Cop0Register, ExcCode
from cyclebound.tb.assumed import fixed, owes
from cyclebound.tb.shmac.core_properties import decodes
from cyclebound.tb.watcher import Watcher

__all__ = ["GROUPS", "CoreFlowProof", "CoreMemoryProof", "CoreRegistersProof", "CoreResultsProof",
           "CoreSystemProof"]

_LINK = {"jal", "bltzal", "bgezal"}
_LOADS = {"lb": 1, "lbu": 1, "lh": 2, "lhu": 2, "lw": 4, "ll": 4, "lwl": 0, "lwr": 0}
_STORES = {"sb": 1, "sh": 2, "sw": 4, "sc": 4, "swl": 0, "swr": 0}
_BRANCHES = {"beq", "bne", "blez", "bgtz", "bltz", "bgez", "bltzal", "bgezal"}
_JUMPS = {"j", "jal", "jr", "jalr"}


def _mask(name):
    """The bits that say which instruction it is."""
    opcode = ENCODINGS[name].word >> 26
    if opcode == 0:
        return 0xFC00_003F
    if opcode == 1:
        return 0xFC1F_0000
    if opcode == 16:
        return 0xFE00_003F if name == "rfe" else 0xFFE0_0000
    return 0xFC00_0000


class _CoreIsaProof(Watcher):
    """What the proofs share: which instruction it is, and what the core is doing.

    Parameters
    ----------
    target : Core
        The core, with its registers.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target
        self.awaited = Signal()

    def elaborate(self, platform):
        m = Module()
        target, trace, request = self._target, self.trace, self.request
        taken = request.valid & request.ready
        with m.If(taken):
            m.d.sync += self.awaited.eq(~request.payload.write | request.payload.sync)
        with m.Elif(self.response.valid):
            m.d.sync += self.awaited.eq(0)
        m.d.sync += owes(~self.response.valid | self.awaited, "response without a request")
        word = trace.instruction
        self.word, self.s, self.t = word, target.s, target.t
        self.immediate = word[:16].as_signed()
        self.is_ = {}
        for name, encoding in ENCODINGS.items():
            self.is_[name] = Signal(name=f"is_{name}")
            m.d.comb += self.is_[name].eq((word & _mask(name)) == encoding.word)
        self.done = Signal()  # in spite of an exception, nothing is
        m.d.comb += self.done.eq(trace.ends & ~trace.exception)

        self._holds(m, sum(target.states.values()) == 1, "one state")
        self._holds(m, target.states["EXECUTE"] == trace.begins, "executed where it begins")
        self._holds(m, (target.states["INSTRUCTION"] | target.states["DATA"]) == self.awaited,
                    "awaited")
        access = target.states["ACCESS"] | target.states["DATA"]
        self._holds(m, ~access | self.any_of(*_LOADS, *_STORES), "an access by a load or store")
        self._holds(m, ~access | (target.address == (target.s + self.immediate)[:32]), "address")
        for unit, *names in ((2, "lh", "lhu", "sh"), (4, "lw", "sw", "ll", "sc")):
            self._holds(m, ~(access & self.any_of(*names)) | (target.address % unit == 0),
                        f"a multiple of {unit}")
        self._holds(m, ~target.states["DATA"] | ~self.any_of(*set(_STORES) - {"sc"}),
                    "a store does not wait")
        self._holds(m, ~target.states["PRODUCT"] | self.any_of("mult", "multu", "div", "divu"),
                    "a product's instruction")
        self._holds(m, ~target.states["SUM"] | self.any_of("add", "addi", "sub"),
                    "a sum's instruction")
        decodes(m, target, self.response, lambda fact, name: self._holds(m, fact, name))
        self._prove(m)
        return m

    def _holds(self, m, fact, name):
        m.d.sync += Assert(fact, f"invariant: {name}")

    def any_of(self, *names):
        return Cat(self.is_[name] for name in names).any()

    def _prove(self, m):
        """Hook of each proof."""
        raise NotImplementedError


class CoreResultsProof(_CoreIsaProof):
    """The register that each instruction writes, and the value, but for loads."""

    def _prove(self, m):
        s, t, word, trace = self.s, self.t, self.word, self.trace
        immediate, zero_extended, sa = self.immediate, word[:16], word[6:11]
        signed_s, signed_t = s.as_signed(), t.as_signed()
        unsigned = Signal(32)
        m.d.comb += unsigned.eq(immediate)
        target = self._target
        link = target.next_pc + 4
        results = {
            "add": s + t, "addu": s + t, "addi": s + immediate, "addiu": s + immediate,
            "sub": s - t, "subu": s - t, "and": s & t, "or": s | t, "xor": s ^ t, "nor": ~(s | t),
            "andi": s & zero_extended, "ori": s | zero_extended, "xori": s ^ zero_extended,
            "lui": zero_extended << 16, "slt": signed_s < signed_t, "sltu": s < t,
            "slti": signed_s < immediate, "sltiu": s < unsigned,
            "sll": t << sa, "srl": t >> sa, "sra": signed_t >> sa,
            "sllv": t << s[:5], "srlv": t >> s[:5], "srav": signed_t >> s[:5],
            "mfhi": target.multiply_divide.hi, "mflo": target.multiply_divide.lo,
            "jal": link, "jalr": link, "bltzal": link, "bgezal": link,
        }
        silent = {"sc", "mfc0", *_LOADS}  # of other proofs
        assert set(results) <= set(ENCODINGS)
        for name in ENCODINGS:
            if name in silent:
                continue
            form = ENCODINGS[name].form.split()
            register = (C(31, 5) if name in _LINK else C(0, 5) if name not in results
                        else word[11:16] if form[0] == "rd" else word[16:21])
            value = Signal(32, name=f"value_{name}")
            m.d.comb += value.eq(results.get(name, 0))
            m.d.sync += [
                Assert(~(self.done & self.is_[name]) | (
                    (trace.register == register) & ((register == 0) | (trace.value == value))),
                    f"{name}: another result"),
                Cover(trace.begins & self.is_[name], name),
            ]


class CoreFlowProof(_CoreIsaProof):
    """The address of each instruction that is executed follows from those before it."""

    def _prove(self, m):
        target, trace = self._target, self.trace
        pc = Signal(32, init=target.reset_address)
        after = Signal(32, init=target.reset_address + 4)
        slot, branch = Signal(), Signal(32)
        s, t = self.s, self.t
        signed = s.as_signed()
        taken = {"beq": s == t, "bne": s != t, "blez": signed <= 0, "bgtz": signed > 0,
                 "bltz": signed < 0, "bgez": signed >= 0, "bltzal": signed < 0,
                 "bgezal": signed >= 0}
        goes = Signal(32)
        m.d.comb += goes.eq(after + 4)
        for name, when in taken.items():
            with m.If(self.is_[name] & when):
                m.d.comb += goes.eq(after + 4 * self.immediate)
            m.d.sync += [Cover(self.done & self.is_[name] & when, f"{name}: taken"),
                         Cover(self.done & self.is_[name] & ~when, f"{name}: not taken")
                         if name != "bgez" else Cover(self.done & self.is_[name], name)]
        with m.If(self.any_of("j", "jal")):
            m.d.comb += goes.eq(Cat(C(0, 2), self.word[:26], after[28:]))
        with m.If(self.any_of("jr", "jalr")):
            m.d.comb += goes.eq(s)
        with m.If(trace.exception):
            m.d.sync += [pc.eq(self.vector), after.eq(self.vector + 4), slot.eq(0), branch.eq(pc)]
        with m.Elif(trace.ends):
            m.d.sync += [pc.eq(after), after.eq(goes), branch.eq(pc),
                         slot.eq(self.any_of(*_BRANCHES, *_JUMPS))]
        m.d.sync += Assume(self.vector[:3] == 0, "vector is no multiple of 8")
        self._holds(m, target.pc == pc, "pc")
        self._holds(m, target.next_pc == after, "the next pc")
        self._holds(m, target.in_slot == slot, "delay slot")
        self._holds(m, ~slot | (target.branch_pc == branch), "the branch")
        executes = ~(target.states["FETCH"] | target.states["INSTRUCTION"])
        fetch = self.request.valid & self.request.payload.fetch
        m.d.sync += [
            Assert(~executes | (trace.pc == pc), "another instruction than was to come"),
            Assert(~fetch | (self.request.payload.address == Mux(trace.begins, after, pc)),
                   "another instruction is fetched"),
            Cover(trace.begins & slot & (pc != branch + 4), "a branch in a slot"),
        ]


class CoreMemoryProof(_CoreIsaProof):
    """The bytes that each load and store accesses, and what a load makes of them."""

    def _prove(self, m):
        target, trace, request = self._target, self.trace, self.request
        big = target.endian == "big"
        address = Signal(32)
        m.d.comb += address.eq(self.s + self.immediate)
        lanes = {"read": self.response.payload.data, "write": request.payload.data}
        access = request.valid & ~request.payload.fetch
        loads, ends = self.trace.value, self.done & ~trace.begins
        for name, size in {**_LOADS, **_STORES}.items():
            strobes, data = Signal(4, name=f"strobes_{name}"), Signal(32, name=f"data_{name}")
            for place in range(4):  # of the address in its word
                # each byte of the register, from the lowest one, and where it is in memory
                if size:
                    bytes_ = {byte: place + (size - 1 - byte if big else byte)
                              for byte in range(size)}
                elif name.endswith("l"):  # the highest byte is at the address
                    bytes_ = {byte: place + (3 - byte if big else byte - 3) for byte in range(4)}
                else:  # the lowest one is
                    bytes_ = {byte: place + (-byte if big else byte) for byte in range(4)}
                bytes_ = {byte: at for byte, at in bytes_.items() if 0 <= at < 4}
                with m.If(address[:2] == place):
                    m.d.comb += strobes.eq(sum(1 << self._lane(at) for at in bytes_.values()))
                    if name in _STORES:
                        kept = Cat(request.payload.data.word_select(self._lane(at), 8)
                                   for at in bytes_.values())
                        source = Cat(self.t.word_select(byte, 8) for byte in bytes_)
                        m.d.comb += data.eq(kept == source)
                    else:
                        parts = {byte: lanes["read"].word_select(self._lane(at), 8)
                                 for byte, at in bytes_.items()}
                        value = Cat(parts.get(byte, self.t.word_select(byte, 8))
                                    for byte in range(4 if not size else size))
                        m.d.comb += data.eq(value.as_signed() if name in ("lb", "lh") else value)
            sync = name in ("ll", "sc")
            mine = access & self.is_[name]
            m.d.sync += Assert(~mine | (
                (request.payload.address == Cat(C(0, 2), address[2:]))
                & (request.payload.strobes == strobes) & (request.payload.sync == sync)
                & (request.payload.write == (name in _STORES))), f"{name}: another access")
            if name in _STORES:
                m.d.sync += Assert(~mine | data[0], f"{name}: other data")
            if name in _LOADS or sync:
                got = lanes["read"][0] if name == "sc" else data
                m.d.sync += Assert(
                    ~(ends & self.is_[name]) | (
                        (trace.register == self.word[16:21])
                        & ((self.word[16:21] == 0) | (loads == got))), f"{name}: another value")
            m.d.sync += Cover(ends & self.is_[name] & (address[:2] == (0 if size else 2)), name)
        m.d.sync += [
            Assert(~access | self.any_of(*_LOADS, *_STORES), "an access by another instruction"),
            # an SC that has lost its link goes nowhere
            Assert(~(self.done & trace.begins & self.any_of(*_LOADS, *_STORES))
                   | (self.is_["sc"] & ((trace.value == 0) | (trace.register == 0))
                      & (trace.register == self.word[16:21])), "an access that is not made"),
        ]

    def _lane(self, at):
        return 3 - at if self._target.endian == "big" else at


class CoreSystemProof(_CoreIsaProof):
    """Exceptions: when, which one, and coprocessor 0 after them; the link of LL and SC."""

    def _prove(self, m):
        target, trace, word = self._target, self.trace, self.word
        status, software = Signal(16), Signal(2)
        lines = Signal(6)
        code, unit, in_slot = Signal(5), Signal(2), Signal()
        epc, bad_address, linked = Signal(32), Signal(32), Signal()
        fetch_error, missed = Signal(), Signal()
        address = Signal(32)
        m.d.comb += [address.eq(self.s + self.immediate), missed.eq(target.pc[:2] != 0)]
        m.d.sync += lines.eq(self.interrupts)
        cause = Cat(C(0, 2), code, C(0, 1), software, lines, C(0, 12), unit, C(0, 1), in_slot)
        with m.If(self.response.valid & target.states["INSTRUCTION"]):
            m.d.sync += fetch_error.eq(self.response.payload.error)

        # Which exception an instruction makes where it begins: the first of these.
        s, t = self.s.as_signed(), self.t.as_signed()
        total = Signal(34)
        m.d.comb += total.eq(Mux(self.is_["sub"], s - t, Mux(self.is_["addi"], s + self.immediate,
                                                             s + t)))
        overflows = self.any_of("add", "addi", "sub") & ~(
            total[31:].all() | ~total[31:].any())
        opcode = word[26:32]
        misses = opcode.matches(17, 18, 19, 49, 50, 51, 57, 58, 59)
        halves, words = (self.any_of(*names) for names in (
            ("lh", "lhu", "sh"), ("lw", "sw", "ll", "sc")))
        unaligned = (halves & address[0]) | (words & (address[:2] != 0))
        order = [
            (status[0] & (status[8:16] & cause[8:16]).any(), ExcCode.INT),
            (missed, ExcCode.ADEL), (fetch_error, ExcCode.IBE), (misses, ExcCode.CPU),
            (~self.any_of(*ENCODINGS), ExcCode.RI), (self.is_["syscall"], ExcCode.SYS),
            (self.is_["break"], ExcCode.BP),
            (unaligned & self.any_of(*_STORES), ExcCode.ADES), (unaligned, ExcCode.ADEL),
        ]
        comes, which = Signal(), Signal(5)
        for number, (when, code_) in enumerate(reversed(order)):
            with m.If(when):
                m.d.comb += [comes.eq(1), which.eq(code_)]
            m.d.sync += Cover(trace.begins & comes & (which == code_) & Value.cast(when),
                              f"exception {number}: {code_.name}")
        failed = target.states["DATA"] & self.response.valid & self.response.payload.error
        sums = target.states["SUM"]
        self._holds(m, ~sums | (target.overflowed == overflows), "overflow")
        m.d.sync += [
            Assert(~trace.begins | (trace.exception == comes), "an exception too many, or too few"),
            Assert(trace.begins | (trace.exception == (failed | (sums & overflows))),
                   "a bus error of data, or an overflow"),
            Cover(failed, "a bus error"), Cover(sums & overflows, "an overflow"),
        ]
        with m.If(trace.exception):
            m.d.sync += [
                code.eq(Mux(trace.begins, which, Mux(sums, ExcCode.OV, ExcCode.DBE))),
                in_slot.eq(target.in_slot),
                unit.eq(Mux(trace.begins & (which == ExcCode.CPU), opcode[:2], 0)),
                epc.eq(Mux(target.in_slot, target.branch_pc, target.pc)), linked.eq(0),
                status.eq(Cat(C(0, 2), status[:4], C(0, 2), status[8:16])),
            ]
            with m.If(trace.begins & ((which == ExcCode.ADEL) | (which == ExcCode.ADES))):
                m.d.sync += bad_address.eq(Mux(missed, target.pc, address))
        with m.Elif(trace.ends):
            with m.If(self.is_["rfe"]):
                m.d.sync += status[:4].eq(status[2:6])
            with m.If(self.is_["mtc0"] & (word[11:16] == Cop0Register.STATUS)):
                m.d.sync += status.eq(self.t & 0xFF15)
            with m.If(self.is_["mtc0"] & (word[11:16] == Cop0Register.CAUSE)):
                m.d.sync += software.eq(self.t[8:10])
            with m.If(self.is_["ll"]):
                m.d.sync += linked.eq(1)
        with m.If(trace.begins & self.is_["sc"]):
            m.d.sync += linked.eq(0)
        values = {Cop0Register.BADVADDR: bad_address, Cop0Register.STATUS: status,
                  Cop0Register.CAUSE: cause, Cop0Register.EPC: epc}
        read = Signal(32)
        for number, value in values.items():
            with m.If(word[11:16] == number):
                m.d.comb += read.eq(value)
        m.d.sync += [
            Assert(~(self.done & self.is_["mfc0"]) | (
                (trace.register == word[16:21])
                & ((word[16:21] == 0) | (trace.value == read))), "mfc0: another value"),
            Assert(~(self.done & trace.begins & self.is_["sc"]) | ~linked, "SC is not made"),
            Assert(~(self.request.valid & self.request.payload.sync & self.request.payload.write)
                   | self.is_["sc"], "an SC by another instruction"),
            Cover(self.done & self.is_["rfe"] & status[2], "RFE"),
        ]
        interrupted = status[0] & (status[8:16] & cause[8:16]).any()
        self._holds(m, ~trace.begins | (target.interrupted == interrupted), "an interrupt")
        self._holds(m, target.fetch_error == fetch_error, "fetch error")
        self._holds(m, Cat(target.enabled, target.mask) == Cat(status[0], status[2], status[4],
                                                               status[8:16]), "status")
        self._holds(m, (status & 0xFF15) == status, "status has no other bits")
        self._holds(m, Cat(target.cause, target.unit, target.cause_in_slot, target.software,
                           target.lines) == Cat(code[:4], unit, in_slot, software, lines), "cause")
        self._holds(m, ~code[4], "five bits of a code")
        self._holds(m, (target.epc == epc) & (target.bad_address == bad_address), "addresses")
        self._holds(m, target.linked == linked, "link")


class CoreRegistersProof(_CoreIsaProof):
    """What is read from a register is what was written into it last, but for register 0.

    A prover chooses the register, so that the proof is one for each.

    Parameters
    ----------
    target : Core
        With ``follows``: a core that shows a register.
    """

    def __init__(self, target):
        super().__init__(target)
        self._which = self.any_one(self.trace.register, "which")

    def _prove(self, m):
        target, trace, word = self._target, self.trace, self.word
        self._which.follow(m, trace.register)
        which = self._which.now
        written, value = Signal(), Signal(32)
        with m.If((trace.register == which) & (which != 0)):
            m.d.sync += [written.eq(1), value.eq(trace.value)]
        m.d.sync += fixed(~self._which.chosen | (self.follow == which), "another register")
        begins = trace.begins & written & ~trace.exception
        m.d.sync += [
            Assert(~(begins & (word[21:26] == which)) | (target.s == value), "rs: another value"),
            Assert(~(begins & (word[16:21] == which)) | (target.t == value), "rt: another value"),
            Cover(begins & (word[21:26] == which) & (value == 5), "a value is read"),
        ]
        self._holds(m, ~written | self._which.chosen, "written after the choice")
        self._holds(m, ~written | (self.followed == value), "the register")


GROUPS = {"results": CoreResultsProof, "flow": CoreFlowProof, "memory": CoreMemoryProof,
          "system": CoreSystemProof}
"""The proofs that need no more than the core, by name."""
