"""Bound checkers of units that wait for a thread's tokens: they read ports and drive none.

They follow one thread of any identifier, through whatever the others do. `LoadStoreAccess` is about
the accesses of all threads.

Ref: SGMF, sections 4 and 5.
"""

from amaranth.hdl import Assert, Cat, Const, Cover, Module, Mux, Signal, Value

from cyclebound.golden.dataflow.control import DELAY_SLOTS, Control
from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.operations import OPERANDS, PIPELINE_STAGES, Operation, operands_of
from cyclebound.golden.floating import FLOAT_NAN
from cyclebound.tb.assumed import fixed, owes
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["ComputeUnitCheck", "ControlUnitCheck", "LoadStoreAccess", "LoadStoreUnitCheck",
           "SpecialUnitCheck"]

_INFINITY = 0x7F80_0000


class _ThreadCheck(Watcher):
    """No result of a thread without its tokens, and each with what they make, as far as that is
    known here; what is offered stays; and no more of a thread is inside than there are places.

    Assumes that the configuration does not change while a token is inside.

    Which thread is followed is any in a proof; in a simulation it is that of ``operands[0]`` in the
    first cycle after reset, whether it offers anything or not.

    Parameters
    ----------
    target : wiring.Component
        The unit, or a component with the same members and parameters.
    most : int
        Tokens of a thread inside, for each operand.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, *, most):
        super().__init__(target)
        self._most, self._choice = most, self.any_one(self.operands[0].payload.tid, "tid")

    def needs(self):
        """Which operands a thread needs."""
        raise NotImplementedError

    def leaves(self):
        """Of each stream of results: name, stream, whether it is used, and a function of a
        thread's values that returns whether its result is known, and what it is."""
        raise NotImplementedError

    def elaborate(self, platform):
        m = Module()
        self._choice.follow(m, self.operands[0].payload.tid)
        needed = Signal(len(self.operands))
        m.d.comb += needed.eq(self.needs())
        for k, operand in enumerate(self.operands):
            m.d.sync += Assert(~(operand.valid & operand.ready) | needed[k],
                               f"operand {k}: taken and not needed")
        for name, stream, used, expected in self.leaves():
            claim_kept(m, name, stream, Assert)
            self._follow(m, name, stream, needed, used, expected)
        self._keep(m, needed)
        return m

    def _keep(self, m, needed):
        """The configuration changes only while no token is inside, of any thread."""
        settings = Value.cast(self.configuration)
        before, began = Signal.like(settings, name="settings"), Signal()
        _, stream, *_ = self.leaves()[0]
        empty = Const(1)
        for k, operand in enumerate(self.operands):
            total = Signal(8, name=f"total_{k}")
            m.d.sync += total.eq(total + (operand.valid & operand.ready)
                                 - (stream.valid & stream.ready & needed[k]))
            empty &= total == 0
        m.d.sync += [before.eq(settings), began.eq(1),
                     owes(~began | empty | (settings == before),
                          "configuration changed under a thread")]

    def _follow(self, m, name, stream, needed, used, expected):
        tid = self._choice.now
        shown = stream.valid & (stream.payload.tid == tid)
        left = shown & stream.ready
        values, sure, here, label = [], Const(1), Const(1), name.replace(" ", "_")
        for k, operand in enumerate(self.operands):
            inside = Signal(range(self._most + 1), name=f"{label}_inside_{k}")
            value = Signal.like(operand.payload.data, name=f"{label}_value_{k}")
            known = Signal(name=f"{label}_known_{k}")  # it is that of the oldest inside
            enters, goes = Signal(name=f"{label}_enters_{k}"), Signal(name=f"{label}_goes_{k}")
            m.d.comb += [enters.eq(operand.valid & operand.ready & used
                                   & (operand.payload.tid == tid)),
                         goes.eq(left & needed[k])]
            m.d.sync += [inside.eq(inside + enters - goes),
                         Assert(~enters | goes | (inside != self._most),
                                f"{name}: more of a thread than there is room for")]
            with m.If(enters & (inside == goes)):
                m.d.sync += [value.eq(operand.payload.data), known.eq(1)]
            with m.Elif(goes):
                m.d.sync += known.eq(0)
            values.append(value)
            sure &= ~needed[k] | known
            here &= ~needed[k] | (inside != 0)
        certain, result = expected(*values)
        m.d.sync += [
            Assert(~shown | used, f"{name}: an unrequested result"),
            Assert(~shown | here, f"{name}: a result without its tokens"),
            Assert(~(shown & here & sure & certain) | (stream.payload.data == result),
                   f"{name}: not what the tokens make"),
            Cover(left & sure & certain, f"{name}: a result that is known"),
        ]


class ControlUnitCheck(_ThreadCheck):
    """Of a `ControlUnit`: both results."""

    def __init__(self, target):
        super().__init__(target, most=DELAY_SLOTS + 1)

    def needs(self):
        configuration = self.configuration
        return Mux(configuration.function == Control.DELAY, 1, configuration.operands)

    def leaves(self):
        return [(f"result {k}", result, self.configuration.split if k else Const(1), self._value)
                for k, result in enumerate(self.results)]

    def _value(self, first, second, third):
        function, waited = self.configuration.function, self.configuration.operands
        alive = Cat(first[0], second[0], third[0]) ^ self.configuration.inverted
        joined, any_ = (alive | ~waited).all(), (alive & waited).any()
        return Const(1), Mux(
            function == Control.JOIN, joined, Mux(
                function == Control.LABEL, any_, Mux(
                    function == Control.PHI, Mux(first[0], second, third), first)))


class ComputeUnitCheck(_ThreadCheck):
    """Of a `ComputeUnit`: its integer operations but shifts and products."""

    def __init__(self, target):
        super().__init__(target, most=PIPELINE_STAGES + 2)

    def needs(self):
        operation = self.configuration.operation
        return ~self.configuration.literals & Cat(1, *(
            Cat(operation == op for op in Operation if operands_of(op) > k).any()
            for k in range(1, OPERANDS)))

    def leaves(self):
        return [("result", self.result, Const(1), self._value)]

    def _value(self, *values):
        a, b, c = (Mux(literal, self.configuration.value, value) for literal, value in
                   zip(self.configuration.literals, values, strict=True))
        signed_less = a.as_signed() < b.as_signed()
        known = {Operation.ADD: (a + b)[:len(a)], Operation.SUB: (a - b)[:len(a)],
                 Operation.AND: a & b, Operation.OR: a | b, Operation.XOR: a ^ b,
                 Operation.EQ: a == b, Operation.NE: a != b, Operation.LT: signed_less,
                 Operation.LE: signed_less | (a == b), Operation.LTU: a < b,
                 Operation.LEU: a <= b, Operation.MIN: Mux(signed_less, a, b),
                 Operation.MAX: Mux(signed_less, b, a), Operation.SELECT: Mux(a != 0, b, c)}
        operation, result = self.configuration.operation, Const(0, len(a))
        for op, value in known.items():
            result = Mux(operation == op, value, result)
        return Cat(operation == op for op in known).any(), result


class SpecialUnitCheck(_ThreadCheck):
    """Of a `SpecialUnit`: divisions of 0 and by what is no number, and their like."""

    def __init__(self, target):
        super().__init__(target, most=4)  # two in the token buffer, one with a block, one leaving
        self._function = target.function

    def needs(self):
        every = 0b01 if self._function == Special.FSQRT else 0b11
        return every & ~self.configuration.literals

    def leaves(self):
        return [("result", self.result, Const(1), self._value)]

    def _value(self, *values):
        a, b = (Mux(literal, self.configuration.value, value) for literal, value in
                zip(self.configuration.literals, values, strict=True))
        if self._function == Special.IDIV:
            return (a == 0) & (b != 0), Const(0, len(a))
        no_number = a[:31] > _INFINITY
        if self._function == Special.FSQRT:
            negative = a[31] & (a[:31] != 0)
            return no_number | negative | (a[:31] == 0), Mux(no_number | negative, FLOAT_NAN, a)
        no_number |= b[:31] > _INFINITY
        nothing = (a[:31] == 0) & (b[:31] != 0)
        return no_number | nothing, Mux(no_number, FLOAT_NAN,
                                        Cat(Const(0, 31), a[31] ^ b[31]))


class LoadStoreUnitCheck(_ThreadCheck):
    """Of a `LoadStoreUnit`: results that make no access, or store, and all enable tokens; and
    `LoadStoreAccess`.

    Assumes that memory answers what was asked, and each request once.
    """

    def __init__(self, target):
        self._depth = target.depth
        # two in the token buffer, and one in each entry that a thread may take; one leaving
        super().__init__(target, most=3 + (1 if target.epochs else target.depth))

    def needs(self):
        return Cat(1, self.configuration.store, self.configuration.gated)

    def leaves(self):
        return [("result", self.result, Const(1), self._value),
                ("enable", self.enable, Const(1), self._alive)]

    def elaborate(self, platform):
        m = super().elaborate(platform)
        _claim_accesses(m, self)
        request, response, asked = self.request, self.response, Signal(self._depth)
        comes = Mux(response.valid, 1 << response.payload.tag, 0)
        goes = Mux(request.valid & request.ready, 1 << request.payload.tag, 0)
        m.d.sync += [
            asked.eq(asked & ~comes | goes),
            owes((comes & ~asked) == 0, "memory answers without a request"),
            Assert((goes & asked & ~comes) == 0, "an entry makes a second request"),
        ]
        return m

    def _alive(self, place, value, enable):
        return Const(1), ~self.configuration.gated | enable[0]

    def _value(self, place, value, enable):
        _, alive = self._alive(place, value, enable)
        access = alive & (place < self.configuration.size)
        return ~access | self.configuration.store, Const(0, len(place))


class LoadStoreAccess(Watcher):
    """No access of a `LoadStoreUnit` lies outside of its buffer, and each is of its kind; what is
    reported does.

    Assumes that the configuration does not change.

    Parameters
    ----------
    target : LoadStoreUnit
        The unit, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.
    """

    def elaborate(self, platform):
        m = Module()
        _claim_accesses(m, self)
        return m


def _claim_accesses(m, unit):
    configuration, request = unit.configuration, unit.request
    settings, began = Value.cast(configuration), Signal(name="configured")
    before = Signal.like(settings, name="configuration_before")
    place = (request.payload.address - configuration.base)[:len(request.payload.address)]
    claim_kept(m, "request", request, Assert)
    m.d.sync += [
        began.eq(1), before.eq(settings),
        fixed(~began | (settings == before), "configuration changed"),
        Assert(~request.valid | (place < configuration.size), "an access outside of the buffer"),
        Assert(~request.valid | (request.payload.write == configuration.store),
               "an access of another kind"),
        Assert(~unit.fault.valid | (unit.fault.payload.data >= configuration.size),
               "a report of an index inside"),
        Cover(request.valid & (place != 0), "an access that is not the first word's"),
        Cover(unit.fault.valid, "a report"),
    ]
