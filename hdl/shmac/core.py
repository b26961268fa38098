"""SHMAC's core: MIPS-I with LL and SC, two stages, one request of memory at a time.

Ref: MIPS-I; SHMAC thesis, 2.3 and 3.2.1. docs/shmac.md says what was decided where
these are silent.
"""

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

__all__ = ["Core", "RequestLayout", "ResponseLayout", "TraceLayout"]

RequestLayout = data.StructLayout(REQUEST)
ResponseLayout = data.StructLayout(RESPONSE)
TraceLayout = data.StructLayout(TRACE)


class Core(wiring.Component):
    """An instruction is fetched while the one before it is executed.

    Latency: an instruction executes in the cycle after its fetch's response. The fetch of the next
    one is on offer in the same cycle, unless this one accesses memory, multiplies, divides, uses
    coprocessor 0, is ADD, ADDI or SUB, or makes an exception; then it is on offer in the cycle
    after this one has ended. A load or store is on offer in the cycle after it began. A store ends
    when it is taken, a load, LL or SC with its response. Nothing is fetched that is not executed,
    or replaced by an exception.

    Parameters
    ----------
    endian : str
        Which byte of a word has the word's address: ``"big"``, the highest, or ``"little"``, the
        lowest one.
    reset_address : int
        Of the first instruction, a multiple of 4.

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

    Attributes
    ----------
    s, t : Signal(32)
        Values of the registers rs and rt, while an instruction is executed. For proofs.
    """

    def __init__(self, *, endian="big", reset_address=0):
        if endian not in ENDIANS:
            raise ValueError(f"Endian must be one of {', '.join(ENDIANS)}, not {endian!r}")
        check_integer("Reset address", reset_address, 0, (1 << ADDRESS_BITS) - 4)
        if reset_address % 4:
            raise ValueError(f"Reset address must be a multiple of 4, not {reset_address}")
        self.endian, self.reset_address = endian, reset_address
        super().__init__({
            "vector": In(ADDRESS_BITS), "interrupts": In(INTERRUPT_LINES),
            "request": Out(stream.Signature(RequestLayout)),
            "response": In(stream.Signature(ResponseLayout)), "trace": Out(TraceLayout),
        })
        self.s, self.t = Signal(DATA_BITS), Signal(DATA_BITS)

    def elaborate(self, platform):
        m = Module()
        request, response, trace = self.request, self.response, self.trace
        s, t = self.s, self.t

        # Where it is: of the instruction that is fetched or executed, and of the ones around it.
        pc = Signal(ADDRESS_BITS, init=self.reset_address)
        next_pc = Signal(ADDRESS_BITS, init=self.reset_address + 4 & (1 << ADDRESS_BITS) - 1)
        branch_pc = Signal(ADDRESS_BITS)  # of the instruction before
        in_slot = Signal()                # that was a branch or jump
        word = Signal(DATA_BITS)
        fetch_error = Signal()
        linked = Signal()

        opcode, function, rt_code = word[26:32], word[0:6], word[16:21]
        rs, rt, rd, sa = word[21:26], word[16:21], word[11:16], word[6:11]
        signed_immediate = Signal(DATA_BITS)
        m.d.comb += signed_immediate.eq(word[:16].as_signed())
        of = _Decoded(m, opcode, function, rs, rt_code)

        # Registers, read while an instruction comes in.
        m.submodules.registers = registers = Memory(shape=DATA_BITS, depth=32, init=[],
                                                    attrs={"ram_style": "distributed"})
        read_s, read_t = (registers.read_port() for _ in range(2))
        write = registers.write_port()
        arrives = Signal()  # an instruction
        ends, excepts, register, value = trace.ends, Signal(), Signal(5), Signal(DATA_BITS)
        m.d.comb += [
            read_s.addr.eq(response.payload.data[21:26]), read_s.en.eq(arrives),
            read_t.addr.eq(response.payload.data[16:21]), read_t.en.eq(arrives),
            s.eq(read_s.data), t.eq(read_t.data),
            write.en.eq(ends & ~excepts & (register != 0)), write.addr.eq(register),
            write.data.eq(value),
        ]

        # One adder for sums, differences, comparisons and addresses.
        subtracts, total = Signal(), Signal(DATA_BITS + 1)
        operand = Signal(DATA_BITS)
        m.d.comb += [
            subtracts.eq(of.subtracts), operand.eq(Mux(of.register_form, t, signed_immediate)),
            total.eq(s + Mux(subtracts, ~operand, operand) + subtracts),
        ]
        overflow, less = Signal(), Signal()
        sign = Mux(subtracts, ~operand[-1], operand[-1])
        m.d.comb += [
            overflow.eq((s[-1] == sign) & (total[DATA_BITS - 1] != s[-1])),
            less.eq(Mux(of.unsigned, ~total[-1], total[DATA_BITS - 1] ^ overflow)),
        ]

        # Logic, shifts.
        logic, shifted = Signal(DATA_BITS), Signal(DATA_BITS)
        other = Signal(DATA_BITS)
        m.d.comb += other.eq(Mux(of.register_form, t, word[:16]))
        with m.Switch(of.logic):
            with m.Case(0):
                m.d.comb += logic.eq(s & other)
            with m.Case(1):
                m.d.comb += logic.eq(s | other)
            with m.Case(2):
                m.d.comb += logic.eq(s ^ other)
            with m.Case(3):
                m.d.comb += logic.eq(~(s | other))
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
        m.submodules.multiply_divide = product = MultiplyDivide(width=DATA_BITS)
        m.d.comb += [product.a.eq(s), product.b.eq(t), product.divide.eq(function[1]),
                     product.signed.eq(~function[0])]

        # Coprocessor 0.
        enabled, mask = Signal(3), Signal(8)  # interrupts: now, before, before that; of each line
        lines, software = Signal(INTERRUPT_LINES), Signal(2)
        cause, unit, cause_in_slot = Signal(4), Signal(2), Signal()
        epc, bad_address = Signal(ADDRESS_BITS), Signal(ADDRESS_BITS)
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

        # Loads and stores. Byte `place` of a word on the port is the one addressed; in units of two
        # or four bytes, the first one.
        low, place = Signal(2), Signal(2)
        address = Signal(ADDRESS_BITS)  # kept from where the instruction began
        begins = trace.begins
        m.d.comb += [low.eq(address[:2]), place.eq(low ^ (3 if self.endian == "big" else 0))]
        strobes, stored, loaded = Signal(STROBE_BITS), Signal(DATA_BITS), Signal(DATA_BITS)
        data_in = response.payload.data
        byte, half = Signal(8), Signal(16)
        m.d.comb += [byte.eq(data_in.word_select(place, 8)),
                     half.eq(data_in.word_select(place[1], 16))]

        rest = ~place  # 3 - place

        def up(value, bytes_):
            return Cat(C(0, 24), value).bit_select(~bytes_ << 3, DATA_BITS)

        def down(value, bytes_):
            return Cat(value, C(0, 24)).bit_select(bytes_ << 3, DATA_BITS)

        def merged(value, takes):
            return Cat(Mux(takes(byte), value.word_select(byte, 8), t.word_select(byte, 8))
                       for byte in range(4))

        with m.Switch(opcode[:3]):  # alike for loads and stores
            with m.Case(Opcode.LB & 7, Opcode.LBU & 7):
                m.d.comb += [strobes.eq(1 << place), stored.eq(t[:8].replicate(4)),
                             loaded.eq(Cat(byte, (byte[-1] & ~opcode[2]).replicate(24)))]
            with m.Case(Opcode.LH & 7, Opcode.LHU & 7):
                m.d.comb += [strobes.eq(Mux(place[1], 12, 3)), stored.eq(t[:16].replicate(2)),
                             loaded.eq(Cat(half, (half[-1] & ~opcode[2]).replicate(16)))]
            with m.Case(Opcode.LWL & 7):
                m.d.comb += [
                    strobes.eq(Cat(place >= lane for lane in range(4))),
                    stored.eq(down(t, rest)),
                    loaded.eq(merged(up(data_in, rest), lambda byte: place >= 3 - byte)),
                ]
            with m.Case(Opcode.LWR & 7):
                m.d.comb += [
                    strobes.eq(Cat(place <= lane for lane in range(4))),
                    stored.eq(up(t, place)),
                    loaded.eq(merged(down(data_in, place), lambda byte: place <= 3 - byte)),
                ]
            with m.Default():
                m.d.comb += [strobes.eq(15), stored.eq(t), loaded.eq(data_in)]
        with m.If(of.stores_conditionally):
            m.d.comb += [strobes.eq(15), stored.eq(t), loaded.eq(data_in[0])]
        with m.Elif(of.loads_linked):
            m.d.comb += [strobes.eq(15), loaded.eq(data_in)]

        # Exceptions at the beginning, the first one that is true.
        code = Signal(4)
        unaligned = (of.halves & total[0]) | (of.words & total[:2].any())
        no_fetch = pc[:2].any()
        interrupted, traps = Signal(), Signal()
        m.d.comb += [interrupted.eq(enabled[0] & (mask & Cat(software, lines)).any()), traps.eq(1)]
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
        with m.Elif(of.overflows & overflow):
            m.d.comb += code.eq(ExcCode.OV)
        with m.Elif(of.accesses & unaligned):
            m.d.comb += code.eq(Mux(of.stores, ExcCode.ADES, ExcCode.ADEL))
        with m.Else():
            m.d.comb += traps.eq(0)

        # What is written into a register: one of these, or 0 for an SC without a link.
        def gated(condition, result):
            return Mux(condition, result, 0)

        m.d.comb += [
            value.eq(gated(of.accesses & ~begins, loaded) | gated(of.links, after)
                     | gated(of.lui, Cat(C(0, 16), word[:16])) | gated(of.system, system)
                     | gated(of.compares, less) | gated(of.is_logic, logic)
                     | gated(of.adds, total[:DATA_BITS]) | gated(of.shifts, shifted)
                     | gated(of.moves_from, Mux(function[1], product.lo, product.hi))),
            register.eq(gated(of.writes_rd, rd) | gated(of.writes_rt, rt)
                        | gated(of.links_31, 31)),
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
            payload.write.eq(accesses & of.stores), payload.data.eq(stored),
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

        with m.FSM():
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

        m.d.comb += [
            trace.exception.eq(excepts), trace.pc.eq(pc), trace.instruction.eq(word),
            trace.register.eq(Mux(ends & ~excepts, register, 0)),
            trace.value.eq(Mux(trace.register != 0, value, 0)),
        ]
        return m


class _Decoded:
    """What an instruction is: signals of one bit, in ``m``."""

    def __init__(self, m, opcode, function, rs, rt):
        op, fn = Opcode, Function

        def signal(name, value):
            made = Signal(len(value), name=name)
            m.d.comb += made.eq(value)
            setattr(self, name, made)
            return made

        special = opcode == op.SPECIAL
        regimm = opcode == op.REGIMM
        cop0 = opcode == op.COP0

        def functions(*codes):
            return special & function.matches(*codes)

        # Instructions that exist; of COP0, RFE and the two moves.
        signal("returns", cop0 & rs[-1] & (function == RFE_FUNCTION))
        signal("moves_to_system", cop0 & (rs == Cop0.MTC0))
        system = self.returns | self.moves_to_system | (cop0 & (rs == Cop0.MFC0))
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
        signal("unsigned", Mux(special, function[0], opcode[0]))
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
               | self.jumps | self.jumps_to_register)
        links_rd = functions(fn.JALR)
        signal("links_31", (opcode == op.JAL) | (regimm & rt[4]))
        signal("links", links_rd | self.links_31)

        # The others.
        signal("calls", functions(fn.SYSCALL, fn.BREAK))
        signal("multiplies", functions(fn.MULT, fn.MULTU, fn.DIV, fn.DIVU))
        signal("moves_from", functions(fn.MFHI, fn.MFLO))
        signal("moves_to", functions(fn.MTHI, fn.MTLO))
        signal("shifts", functions(fn.SLL, fn.SRL, fn.SRA, fn.SLLV, fn.SRLV, fn.SRAV))
        signal("lui", opcode == op.LUI)

        # Where the result goes.
        signal("writes_rd", links_rd | self.moves_from | self.shifts | (special & function[5]))
        signal("writes_rt", (opcode[3:] == op.ADDI >> 3) | (cop0 & (rs == Cop0.MFC0))
               | (self.accesses & (~self.stores | self.stores_conditionally)))
        signal("plain", self.valid & ~opcode[5] & ~cop0 & ~self.overflows & ~self.calls
               & ~self.multiplies)
