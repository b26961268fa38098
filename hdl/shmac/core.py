"""SHMAC's core: MIPS-I with LL and SC, two stages, one request of memory at a time.

Ref: MIPS-I; SHMAC thesis, 2.3 and 3.2.1. docs/shmac.md says what was decided where
these are silent.
"""

from types import SimpleNamespace

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.shmac.core_port import (
    ADDRESS_BITS,
    DATA_BITS,
    ENDIANS,
    INTERRUPT_LINES,
    REQUEST,
    RESPONSE,
    STROBE_BITS,
    TRACE,
)
from cyclebound.golden.shmac.isa import (
    RFE_FUNCTION,
    Cop0,
    Cop0Register,
    ExcCode,
    Function,
    Opcode,
    RegImm,
)
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.shmac.multiply_divide import MultiplyDivide

__all__ = ["DECODED", "STATES", "Core", "RequestLayout", "ResponseLayout", "TraceLayout",
           "check_endian"]

STATES = ("FETCH", "INSTRUCTION", "EXECUTE", "SUM", "PRODUCT", "ACCESS", "DATA")
"""An instruction is on offer, awaited, executed; a sum is checked for overflow, a product is under
way, an access is on offer, awaited."""
DECODED = {**dict.fromkeys((
    "returns", "moves_to_system", "system", "valid", "coprocessor", "loads_linked",
    "stores_conditionally", "accesses", "stores", "halves", "words", "register_form",
    "compares", "subtracts", "signed_compares", "adds", "overflows", "is_logic", "jumps",
    "jumps_to_register", "branches", "links_31", "links", "calls", "multiplies",
    "moves_from", "moves_to", "shifts", "lui", "writes_rd", "writes_rt", "writes", "never",
    "plain"), 1), "logic": 2, "destination": 5}
"""What is known of an instruction, with the bits of each."""
RequestLayout = data.StructLayout(REQUEST)
ResponseLayout = data.StructLayout(RESPONSE)
TraceLayout = data.StructLayout(TRACE)


def check_endian(endian):
    """Raise `ValueError` unless this is a byte order."""
    if endian not in ENDIANS:
        raise ValueError(f"Endian must be one of {', '.join(ENDIANS)}, not {endian!r}")


class Core(wiring.Component):
    """An instruction is fetched while the one before it is executed.

    Latency: an instruction executes in the cycle after its fetch's response. The fetch of the next
    one is on offer in the same cycle, unless this one accesses memory, multiplies, divides, uses
    coprocessor 0, is ADD, ADDI or SUB (which take a cycle more, to look for an overflow), or makes
    an exception; then it is on offer in the cycle after this one has ended. A load or store is on
    offer in the cycle after it began. A store ends when it is taken, a load, LL or SC with its
    response. Nothing is fetched that is not executed, or replaced by an exception.

    Parameters
    ----------
    endian : str
        Which byte of a word has the word's address: ``"big"``, the highest, or ``"little"``, the
        lowest one.
    reset_address : int
        Of the first instruction, a multiple of 4.
    follows : bool
        Show a register to a checker.

    Members
    -------
    vector : In(32)
        Address of the exception handler, a multiple of 8; constant.
    interrupts : In(6)
        Lines of interrupts, which stay until they are served; seen a cycle later.
    request : Out(stream of RequestLayout)
        To memory.
    response : In(stream of ResponseLayout)
        From memory, one for each request but plain writes; taken at once.
    trace : Out(TraceLayout)
        What is executed, for whoever watches.
    follow, followed : In(5), Out(32)
        With ``follows``: a register's number, which a checker drives, and what is in it.

    Attributes
    ----------
    s, t : Signal(32)
        Values of the registers rs and rt, while an instruction is executed. These and all others
        are for proofs.
    pc, next_pc, branch_pc : Signal(32)
        Of the instruction that is fetched or executed, of the one after it, of the one before.
    in_slot : Signal
        The one before was a branch or jump.
    word, fetch_error : Signal
        The instruction that is executed, or that its fetch failed.
    address : Signal(32)
        Of the access that is executed.
    linked : Signal
        Of LL and SC.
    enabled, mask, lines, software : Signal
        Interrupts: enabled, before that, and before that (IEc, IEp, IEo); of each line (IM); the
        lines, and those that software sets.
    cause, unit, cause_in_slot, epc, bad_address : Signal
        Of the last exception.
    decoded : namespace of Signal
        What ``word`` is (`decode`), known since it came in.
    overflowed, interrupted : Signal
        The sum that is checked was too large; an interrupt comes.
    states : dict of str to Signal
        By the names of `STATES`, whether it is in that state.
    multiply_divide : MultiplyDivide
        HI and LO.
    """

    def __init__(self, *, endian="big", reset_address=0, follows=False):
        check_endian(endian)
        check_integer("Reset address", reset_address, 0, (1 << ADDRESS_BITS) - 4)
        if reset_address % 4:
            raise ValueError(f"Reset address must be a multiple of 4, not {reset_address}")
        self.endian, self.reset_address, self.follows = endian, reset_address, follows
        shows = {"follow": In(5), "followed": Out(DATA_BITS)} if follows else {}
        super().__init__({
            "vector": In(ADDRESS_BITS), "interrupts": In(INTERRUPT_LINES),
            "request": Out(stream.Signature(RequestLayout)),
            "response": In(stream.Signature(ResponseLayout)), "trace": Out(TraceLayout),
            **shows,
        })
        self.multiply_divide = MultiplyDivide(width=DATA_BITS)
        self.s, self.t = Signal(DATA_BITS), Signal(DATA_BITS)
        self.pc = Signal(ADDRESS_BITS, init=reset_address)
        self.next_pc = Signal(ADDRESS_BITS, init=reset_address + 4 & (1 << ADDRESS_BITS) - 1)
        self.branch_pc, self.in_slot = Signal(ADDRESS_BITS), Signal()
        self.word, self.fetch_error = Signal(DATA_BITS), Signal()
        self.address, self.linked = Signal(ADDRESS_BITS), Signal()
        self.overflowed, self.interrupted = Signal(), Signal()
        self.enabled, self.mask = Signal(3), Signal(8)
        self.lines, self.software = Signal(INTERRUPT_LINES), Signal(2)
        self.cause, self.unit, self.cause_in_slot = Signal(4), Signal(2), Signal()
        self.epc, self.bad_address = Signal(ADDRESS_BITS), Signal(ADDRESS_BITS)
        self.decoded = SimpleNamespace(**{
            name: Signal(bits, name=f"is_{name}") for name, bits in DECODED.items()})
        self.states = {name: Signal(name=f"in_{name.lower()}") for name in STATES}

    @staticmethod
    def decode(m, word):
        """What a word is as an instruction: signals driven in ``m``, most of one bit."""
        of, op, fn = SimpleNamespace(), Opcode, Function
        opcode, function, rs, rt = word[26:32], word[0:6], word[21:26], word[16:21]

        def signal(name, value):
            made = Signal(len(value), name=f"comes_{name}")
            m.d.comb += made.eq(value)
            setattr(of, name, made)
            return made

        special = opcode == op.SPECIAL
        regimm = opcode == op.REGIMM
        cop0 = opcode == op.COP0

        def functions(*codes):
            return special & function.matches(*codes)

        # Instructions that exist; of COP0, RFE and the two moves.
        signal("returns", cop0 & rs[-1] & (function == RFE_FUNCTION))
        signal("moves_to_system", cop0 & (rs == Cop0.MTC0))
        system = of.returns | of.moves_to_system | (cop0 & (rs == Cop0.MFC0))
        signal("system", cop0)
        opcodes = [code for code in op if code not in (op.SPECIAL, op.REGIMM, op.COP0)
                   and not code.name.startswith(("COP", "LWC", "SWC"))]
        signal("valid", functions(*fn) | (regimm & rt.matches(*RegImm)) | system
               | opcode.matches(*opcodes))
        signal("coprocessor", opcode.matches(
            *(code for code in op if code.name[:-1] in ("COP", "LWC", "SWC")
              and code is not op.COP0)))

        # Memory.
        signal("loads_linked", opcode == op.LL)
        signal("stores_conditionally", opcode == op.SC)
        signal("accesses", opcode[5])
        signal("stores", opcode[3])
        signal("halves", opcode.matches(op.LH, op.LHU, op.SH))
        signal("words", opcode.matches(op.LW, op.SW, op.LL, op.SC))

        # Arithmetic and logic.
        signal("register_form", special)
        subtractions = functions(fn.SUB, fn.SUBU)
        compares = signal("compares", functions(fn.SLT, fn.SLTU)
                          | opcode.matches(op.SLTI, op.SLTIU))
        signal("subtracts", subtractions | compares)
        signal("signed_compares", functions(fn.SLT) | (opcode == op.SLTI))
        signal("adds", functions(fn.ADD, fn.ADDU, fn.SUB, fn.SUBU)
               | opcode.matches(op.ADDI, op.ADDIU))
        signal("overflows", functions(fn.ADD, fn.SUB) | (opcode == op.ADDI))
        signal("is_logic", functions(fn.AND, fn.OR, fn.XOR, fn.NOR)
               | opcode.matches(op.ANDI, op.ORI, op.XORI))
        signal("logic", Mux(special, function[:2], opcode[:2]))  # AND, OR, XOR, NOR in both

        # Branches and jumps.
        signal("jumps", opcode.matches(op.J, op.JAL))
        signal("jumps_to_register", functions(fn.JR, fn.JALR))
        signal("branches", regimm | opcode.matches(op.BEQ, op.BNE, op.BLEZ, op.BGTZ)
               | of.jumps | of.jumps_to_register)
        links_rd = functions(fn.JALR)
        signal("links_31", (opcode == op.JAL) | (regimm & rt[4]))
        signal("links", links_rd | of.links_31)

        # The others.
        signal("calls", functions(fn.SYSCALL, fn.BREAK))
        signal("multiplies", functions(fn.MULT, fn.MULTU, fn.DIV, fn.DIVU))
        signal("moves_from", functions(fn.MFHI, fn.MFLO))
        signal("moves_to", functions(fn.MTHI, fn.MTLO))
        signal("shifts", functions(fn.SLL, fn.SRL, fn.SRA, fn.SLLV, fn.SRLV, fn.SRAV))
        signal("lui", opcode == op.LUI)

        # Where the result goes.
        signal("writes_rd", links_rd | of.moves_from | of.shifts | (special & function[5]))
        signal("writes_rt", (opcode[3:] == op.ADDI >> 3) | (cop0 & (rs == Cop0.MFC0))
               | (of.accesses & (~of.stores | of.stores_conditionally)))
        signal("destination", Mux(of.links_31, 31, Mux(of.writes_rd, word[11:16],
                                                       Mux(of.writes_rt, rt, 0)))[:5])
        signal("writes", of.destination != 0)
        signal("never", of.coprocessor | ~of.valid | of.calls)  # executed: an exception
        signal("plain", of.valid & ~opcode[5] & ~cop0 & ~of.overflows & ~of.calls
               & ~of.multiplies)
        return of

    def elaborate(self, platform):
        m = Module()
        request, response, trace = self.request, self.response, self.trace
        s, t = self.s, self.t

        # Where it is: of the instruction that is fetched or executed, and of the ones around it.
        pc, next_pc, branch_pc, in_slot = self.pc, self.next_pc, self.branch_pc, self.in_slot
        word, fetch_error, linked = self.word, self.fetch_error, self.linked

        opcode, function, rt_code = word[26:32], word[0:6], word[16:21]
        rd, sa = word[11:16], word[6:11]
        signed_immediate = Signal(DATA_BITS)
        m.d.comb += signed_immediate.eq(word[:16].as_signed())
        arrives = Signal()  # an instruction, which is decoded as it comes
        of = self.decoded
        coming = self.decode(m, response.payload.data)
        with m.If(arrives):
            m.d.sync += [getattr(of, name).eq(getattr(coming, name)) for name in DECODED]

        # Registers, read while an instruction comes in.
        m.submodules.registers = registers = Memory(shape=DATA_BITS, depth=32, init=[],
                                                    attrs={"ram_style": "distributed"})
        read_s, read_t = (registers.read_port() for _ in range(2))
        write = registers.write_port()
        if self.follows:
            shown = registers.read_port(domain="comb")
            m.d.comb += [shown.addr.eq(self.follow), self.followed.eq(shown.data)]
        ends, excepts, value = trace.ends, Signal(), Signal(DATA_BITS)
        m.d.comb += [
            read_s.addr.eq(response.payload.data[21:26]), read_s.en.eq(arrives),
            read_t.addr.eq(response.payload.data[16:21]), read_t.en.eq(arrives),
            s.eq(read_s.data), t.eq(read_t.data),
            write.en.eq(ends & ~excepts & of.writes), write.addr.eq(of.destination),
            write.data.eq(value),
        ]

        # One adder for sums, differences, comparisons and addresses.
        subtracts, total = Signal(), Signal(DATA_BITS + 1)
        operand = Signal(DATA_BITS)
        summand, inverted = Signal(DATA_BITS), Signal(DATA_BITS)
        m.d.comb += [
            subtracts.eq(of.subtracts), operand.eq(Mux(of.register_form, t, signed_immediate)),
            # numbers with a sign are compared as those without are, once both signs are turned
            summand.eq(Cat(s[:-1], s[-1] ^ of.signed_compares)),
            inverted.eq(operand ^ Cat(subtracts.replicate(DATA_BITS - 1),
                                      subtracts ^ of.signed_compares)),
            total.eq(summand + inverted + subtracts),
        ]
        overflow, overflowed = Signal(), self.overflowed
        m.d.comb += overflow.eq((s[-1] == inverted[-1]) & (total[DATA_BITS - 1] != s[-1]))
        less = ~total[-1]  # no carry

        # Logic, shifts.
        logic, shifted = Signal(DATA_BITS), Signal(DATA_BITS)
        logic_operand = Signal(DATA_BITS)
        m.d.comb += logic_operand.eq(Mux(of.register_form, t, word[:16]))
        with m.Switch(of.logic):
            with m.Case(0):
                m.d.comb += logic.eq(s & logic_operand)
            with m.Case(1):
                m.d.comb += logic.eq(s | logic_operand)
            with m.Case(2):
                m.d.comb += logic.eq(s ^ logic_operand)
            with m.Case(3):
                m.d.comb += logic.eq(~(s | logic_operand))
        amount, left = Signal(5), Signal()
        m.d.comb += [amount.eq(Mux(function[2], s[:5], sa)), left.eq(~function[1])]
        turned = Mux(left, t[::-1], t)  # to the left is to the right, the other way round
        wide = Cat(turned, (function[0] & t[-1]).replicate(DATA_BITS - 1))
        right = Signal(DATA_BITS)
        m.d.comb += [right.eq(wide >> amount), shifted.eq(Mux(left, right[::-1], right))]

        # Branches.
        after, target, taken = Signal(ADDRESS_BITS), Signal(ADDRESS_BITS), Signal()
        equal, not_positive = Signal(), Signal()
        m.d.comb += [
            after.eq(next_pc + 4), equal.eq(s == t), not_positive.eq(s[-1] | (s == 0)),
            target.eq(next_pc + (signed_immediate << 2)),
        ]
        follows = Signal(ADDRESS_BITS)  # the instruction after the next one
        with m.Switch(opcode):
            with m.Case(Opcode.BEQ):
                m.d.comb += taken.eq(equal)
            with m.Case(Opcode.BNE):
                m.d.comb += taken.eq(~equal)
            with m.Case(Opcode.BLEZ):
                m.d.comb += taken.eq(not_positive)
            with m.Case(Opcode.BGTZ):
                m.d.comb += taken.eq(~not_positive)
            with m.Case(Opcode.REGIMM):
                m.d.comb += taken.eq(s[-1] ^ rt_code[0])
        m.d.comb += follows.eq(Mux(taken, target, after))
        with m.If(of.jumps):
            m.d.comb += follows.eq(Cat(C(0, 2), word[:26], next_pc[28:]))
        with m.If(of.jumps_to_register):
            m.d.comb += follows.eq(s)

        # Products and quotients.
        m.submodules.multiply_divide = product = self.multiply_divide
        m.d.comb += [product.a.eq(s), product.b.eq(t), product.divide.eq(function[1]),
                     product.signed.eq(~function[0])]

        # Coprocessor 0.
        enabled, mask, lines, software = self.enabled, self.mask, self.lines, self.software
        cause, unit, cause_in_slot = self.cause, self.unit, self.cause_in_slot
        epc, bad_address = self.epc, self.bad_address
        system = Signal(DATA_BITS)
        m.d.sync += lines.eq(self.interrupts)
        with m.Switch(rd):
            with m.Case(Cop0Register.BADVADDR):
                m.d.comb += system.eq(bad_address)
            with m.Case(Cop0Register.STATUS):
                m.d.comb += system.eq(Cat(enabled[0], C(0, 1), enabled[1], C(0, 1), enabled[2],
                                          C(0, 3), mask))
            with m.Case(Cop0Register.CAUSE):
                m.d.comb += system.eq(Cat(C(0, 2), cause, C(0, 2), software, lines, C(0, 12), unit,
                                          C(0, 1), cause_in_slot))
            with m.Case(Cop0Register.EPC):
                m.d.comb += system.eq(epc)

        # Loads and stores. Lane `place` of the port has the addressed byte: of LWL and SWL the
        # register's highest byte, of a half one of two, of all others the lowest byte. So a load's
        # bytes turn by as many lanes as a store's, the other way; those not meant are left out.
        address = self.address
        begins = trace.begins
        size = opcode[:3]  # alike for loads and stores
        linked_access = of.stores_conditionally | of.loads_linked
        half_unit, left_unit, right_unit, word_unit = (Signal(name=f"{name}_unit") for name in (
            "half", "left", "right", "word"))
        m.d.comb += [
            half_unit.eq(size[0] & ~size[1]), left_unit.eq((size == 2) & ~linked_access),
            right_unit.eq((size == 6) & ~linked_access),
            word_unit.eq((size == 3) | linked_access),
        ]
        place, turn = Signal(2), Signal(2)
        m.d.comb += [
            place.eq(address[:2] ^ (3 if self.endian == "big" else 0)),
            turn.eq(Mux(word_unit, 0, Mux(half_unit, Cat(C(0, 1), place[1]), place + left_unit))),
        ]
        strobes, stored, loaded = Signal(STROBE_BITS), Signal(DATA_BITS), Signal(DATA_BITS)
        came, sign = Signal(DATA_BITS), Signal()
        m.d.comb += [
            stored.eq(Cat(t, t).bit_select((4 - turn)[:2] << 3, DATA_BITS)),
            came.eq(Cat(response.payload.data, response.payload.data).bit_select(turn << 3,
                                                                                 DATA_BITS)),
            sign.eq(Mux(half_unit, came[15], came[7]) & ~size[2]),
        ]
        for byte in range(4):
            one = byte == 0  # of a register's bytes, in a load
            takes = Mux(left_unit, place >= 3 - byte, Mux(right_unit, place <= 3 - byte,
                                                          word_unit | (half_unit & (byte < 2))
                                                          | one))
            other = Mux(left_unit | right_unit, t.word_select(byte, 8), sign.replicate(8))
            m.d.comb += [
                loaded.word_select(byte, 8).eq(Mux(takes, came.word_select(byte, 8), other)),
                strobes[byte].eq(Mux(left_unit, place >= byte, Mux(
                    right_unit, place <= byte, word_unit | (Mux(
                        half_unit, place[1] == byte >> 1, place == byte))))),
            ]
        with m.If(of.stores_conditionally):
            m.d.comb += loaded.eq(response.payload.data[0])

        # Exceptions at the beginning, the first one that is true.
        code = Signal(4)
        low = (s[:2] + word[:2])[:2]  # of the address, before all of it is known
        unaligned = (of.halves & low[0]) | (of.words & low.any())
        no_fetch = pc[:2].any()
        interrupted, traps = self.interrupted, Signal()
        # of what `lines` will hold; no instruction begins in the cycle after `mask` has changed
        m.d.sync += interrupted.eq(enabled[0] & (mask & Cat(software, self.interrupts)).any())
        m.d.comb += traps.eq(interrupted | no_fetch | fetch_error | of.never
                             | (of.accesses & unaligned))
        with m.If(interrupted):
            m.d.comb += code.eq(ExcCode.INT)
        with m.Elif(no_fetch):
            m.d.comb += code.eq(ExcCode.ADEL)
        with m.Elif(fetch_error):
            m.d.comb += code.eq(ExcCode.IBE)
        with m.Elif(of.coprocessor):
            m.d.comb += code.eq(ExcCode.CPU)
        with m.Elif(~of.valid):
            m.d.comb += code.eq(ExcCode.RI)
        with m.Elif(of.calls):
            m.d.comb += code.eq(Mux(function[0], ExcCode.BP, ExcCode.SYS))
        with m.Else():
            m.d.comb += code.eq(Mux(of.stores, ExcCode.ADES, ExcCode.ADEL))

        # What is written into a register: one of these, or 0 for an SC without a link.
        def gated(condition, result):
            return Mux(condition, result, 0)

        m.d.comb += [
            value.eq(gated(of.accesses & ~begins, loaded) | gated(of.links, after)
                     | gated(of.lui, Cat(C(0, 16), word[:16])) | gated(of.system, system)
                     | gated(of.compares, less) | gated(of.is_logic, logic)
                     | gated(of.adds, total[:DATA_BITS]) | gated(of.shifts, shifted)
                     | gated(of.moves_from, Mux(function[1], product.lo, product.hi))),
        ]

        # The port. A fetch, or an access of the instruction that is executed.
        fetches, accesses = Signal(), Signal()
        overlaps = Signal()
        payload = request.payload
        m.d.comb += [
            request.valid.eq(fetches | accesses), response.ready.eq(1),
            payload.fetch.eq(~accesses),
            payload.address.eq(Mux(accesses, Cat(C(0, 2), address[2:]),
                                   Mux(begins, next_pc, pc))),
            payload.write.eq(accesses & of.stores), payload.data.eq(Mux(accesses, stored, 0)),
            payload.strobes.eq(Mux(accesses, strobes, 15)),
            payload.sync.eq(accesses & (of.stores_conditionally | of.loads_linked)),
        ]

        def fetching():
            """A fetch is on offer."""
            m.d.comb += fetches.eq(1)
            m.next = "FETCH"
            with m.If(request.ready):
                m.next = "INSTRUCTION"

        def retires():
            m.d.comb += ends.eq(1)
            m.next = "FETCH"

        with m.FSM() as machine:
            m.d.comb += [signal.eq(machine.ongoing(name)) for name, signal in self.states.items()]
            with m.State("FETCH"):
                with m.If(no_fetch):
                    m.next = "EXECUTE"  # of an exception
                with m.Else():
                    fetching()
            with m.State("INSTRUCTION"):
                with m.If(response.valid):
                    m.d.comb += arrives.eq(1)
                    m.d.sync += [word.eq(response.payload.data),
                                 fetch_error.eq(response.payload.error)]
                    m.next = "EXECUTE"
            with m.State("EXECUTE"):
                m.d.comb += begins.eq(1)
                m.d.sync += address.eq(total)
                with m.If(traps):
                    m.d.comb += excepts.eq(1)
                    retires()
                with m.Elif(of.accesses):
                    with m.If(of.stores_conditionally):
                        m.d.sync += linked.eq(0)
                    with m.If(of.stores_conditionally & ~linked):
                        retires()
                    with m.Else():
                        m.next = "ACCESS"
                with m.Elif(of.overflows):
                    m.d.sync += overflowed.eq(overflow)
                    m.next = "SUM"
                with m.Elif(of.multiplies):
                    m.d.comb += product.start.eq(1)
                    m.next = "PRODUCT"
                with m.Else():
                    retires()
                    with m.If(of.moves_to):
                        m.d.comb += [product.set_hi.eq(~function[1]),
                                     product.set_lo.eq(function[1])]
                # decided without the adder: what may make an exception does not overlap
                with m.If(overlaps):
                    with m.If(next_pc[:2].any()):
                        m.next = "EXECUTE"
                    with m.Else():
                        fetching()
            with m.State("SUM"):
                retires()
                with m.If(overflowed):
                    m.d.comb += [excepts.eq(1), code.eq(ExcCode.OV)]
            with m.State("PRODUCT"):
                with m.If(product.done):
                    retires()
            with m.State("ACCESS"):
                m.d.comb += accesses.eq(1)
                with m.If(request.ready):
                    m.next = "DATA"
                    with m.If(of.stores & ~of.stores_conditionally):
                        retires()
            with m.State("DATA"):
                with m.If(response.valid):
                    retires()
                    with m.If(response.payload.error):
                        m.d.comb += [excepts.eq(1), code.eq(ExcCode.DBE)]
                    with m.Elif(of.loads_linked):
                        m.d.sync += linked.eq(1)
        m.d.comb += overlaps.eq(of.plain & ~interrupted & ~no_fetch & ~fetch_error)

        with m.If(ends):
            m.d.sync += [branch_pc.eq(pc), pc.eq(next_pc), next_pc.eq(follows),
                         in_slot.eq(of.branches)]
        with m.If(ends & ~traps):
            with m.If(of.returns):
                m.d.sync += enabled.eq(Cat(enabled[1:], enabled[2]))
            with m.Elif(of.moves_to_system & (rd == Cop0Register.STATUS)):
                m.d.sync += [enabled.eq(Cat(t[0], t[2], t[4])), mask.eq(t[8:16])]
            with m.Elif(of.moves_to_system & (rd == Cop0Register.CAUSE)):
                m.d.sync += software.eq(t[8:10])
        with m.If(excepts):
            m.d.sync += [
                pc.eq(self.vector), next_pc.eq(self.vector | 4), in_slot.eq(0), linked.eq(0),
                cause.eq(code), cause_in_slot.eq(in_slot), epc.eq(Mux(in_slot, branch_pc, pc)),
                enabled.eq(Cat(C(0, 1), enabled[:2])),
                unit.eq(Mux(of.coprocessor & (code == ExcCode.CPU), opcode[:2], 0)),
            ]
            with m.If(code[1:] == ExcCode.ADEL >> 1):
                m.d.sync += bad_address.eq(Mux(no_fetch, pc, total))

        executes = ~(self.states["FETCH"] | self.states["INSTRUCTION"])
        m.d.comb += [
            trace.exception.eq(excepts), trace.pc.eq(Mux(executes, pc, 0)),
            trace.instruction.eq(word),
            trace.register.eq(Mux(write.en, of.destination, 0)), trace.value.eq(value),
        ]
        return m
