"""Kernels of `golden.dataflow.kernel` for the SIMD accelerator: from statements to ``.sas``.

Source: Sim-D, section 3.1 (masks, the control stack). Kinds, constants and expressions are those of
`tools.dataflow.compile`, which is the front end of both machines; what differs is here. There, a
condition poisons tokens and each round of a loop is a configuration. Here, lanes of which a
condition does not hold are masked off, and a loop is a loop: its counter is a scalar register, its
variables stay in vector registers, and ``#bound branchcycle`` says how often it comes back. Lanes
that leave it are off until all have, or its rounds are over.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cyclebound.golden.dataflow.graph import Memory, Operand, Task, Token
from cyclebound.golden.dataflow.kernel import Kernel, KernelError
from cyclebound.golden.simd.machine import Machine
from cyclebound.golden.simd.program import BUFFERS
from cyclebound.tools.dataflow.compile import Compiler, check_constants
from cyclebound.tools.dataflow.exits import HIDDEN, WhileLoop
from cyclebound.tools.dataflow.expressions import emit
from cyclebound.tools.dataflow.operands import Node, Value, constant, operand, span_of, unify
from cyclebound.tools.dataflow.ranges import emit_range
from cyclebound.tools.dataflow.spans import ANY, MASK, wrapped
from cyclebound.tools.dataflow.values import Scope
from cyclebound.tools.simd.language.code import Code, Op, Register, RegistersError
from cyclebound.tools.simd.language.operations import Affine, RefusedError, Selection, immediate

__all__ = ["compile_simd"]

_WORDS = (1 << 20) - 1  # of a buffer's line
_APART = 1 << 16        # bytes: buffers begin at multiples of it
_ROUNDS = 1 << 16       # of a loop
_PER_ITEM = 64          # words of a buffer that stream past rather than being fetched one by one


_Test = ast.expr | tuple[Value, Value, Value]  # a condition; start, distance and step of a range


def _stored(statements: Sequence[ast.AST]) -> list[str]:
    """The variables that are assigned to somewhere in statements."""
    return list(dict.fromkeys(node.id for statement in statements for node in ast.walk(statement)
                              if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)))


def _leaves(statements: Sequence[ast.stmt], kind: type[ast.stmt]) -> bool:
    """Whether a ``break`` or ``continue`` of this loop is in its body."""
    return any(isinstance(node, kind) or (
        not isinstance(node, (ast.For, ast.While)) and _leaves(
            [inner for inner in ast.iter_child_nodes(node) if isinstance(inner, ast.stmt)], kind))
        for node in statements)


@dataclass
class _Loop:
    """A loop under way: registers of its variables, and what these are."""

    names: list[str]
    node: ast.stmt
    slots: dict[str, Value] = field(default_factory=dict)
    broken: str = ""  # the variable that says whether a thread has left it by ``break``


class _OtherKindError(Exception):
    """A variable that is an integer before a loop is a float in it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class _Target:
    """What is compiled for: words of each array, threads, and the machine."""

    sizes: Mapping[str, int]
    threads: int
    machine: Machine
    approximate: bool


class _Statements(Compiler):
    """A kernel's instructions under way."""

    def __init__(self, kernel: Kernel, constants: Mapping[str, int | np.float32],
                 target: _Target) -> None:
        self.code, self.target = Code(), target
        self.selection = Selection(code=self.code, approximate=target.approximate)
        self.loops: list[_Loop] = []
        self.scratchpad = False
        super().__init__(kernel, constants, self.selection, spans=self.selection.spans)
        self.spans[self.number] = 0, target.threads - 1

    # -- statements --------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt], scope: Scope) -> bool:
        """Whether no thread goes on after these statements."""
        for statement in statements:
            self.code.line = statement.lineno
            try:
                if self.ends(statement, scope):
                    return True
            except RefusedError as refused:
                raise self.fail(statement, f"{refused}") from None
            except RecursionError:
                raise self.fail(statement, "an expression is too deep") from None
        return False

    def ends(self, node: ast.stmt, scope: Scope) -> bool:
        """Make a statement; whether no thread goes on after it."""
        match node:
            case ast.If():
                return self.decide(node, scope)
            case ast.For():
                self.count(node, scope)
            case ast.While():
                self.repeat(node, scope)
            case ast.Return(value=None | ast.Constant(value=None)):
                self.code.emit("exit", None)
                return True
            case ast.Break() | ast.Continue() if self.loops:
                if isinstance(node, ast.Break) and self.loops[-1].broken:
                    scope.names[self.loops[-1].broken] = constant(True)
                self.settle(self.loops[-1], scope)
                zero = self.code.make("mov", "v", "vc.zero")
                self.code.emit("ret" if isinstance(node, ast.Break) else "brk", None,
                               self.code.make("itest.ez", "p", zero))
                return True
            case _:
                self.statement(node, scope)
        return False

    def decide(self, node: ast.If, scope: Scope) -> bool:
        """Both branches, each for the lanes of its own; a variable has a register for both."""
        condition = self.condition(node.test, scope)
        if condition.known:
            return self.block(node.body if condition.what else node.orelse, scope)
        holds = self.selection.predicate(condition.token)
        start = len(self.code.ops)
        before, after = dict(scope.names), []
        slots: dict[str, tuple[Register, list[tuple[Value, int]]]] = {}
        for statements, wanted in ((node.body, True), (node.orelse, False)):
            inner = scope.inside()
            if not statements:
                after.append(inner)
                continue
            with self.selection.where(holds, wanted):
                if not self.block(statements, inner):
                    after.append(inner)
                    for name, value in inner.names.items():
                        if value != before.get(name):
                            slot = slots.setdefault(name, (self.code.new("v"), []))
                            slot[1].append((value, len(self.code.ops)))
        if not after:
            return True
        if len(after) == 1:
            scope.names = after[0].names
            return False
        self.merge(node, scope, before, after, slots, start)
        return False

    def merge(self, node: ast.If, scope: Scope, before: dict[str, Value], after: list[Scope],
              slots: dict[str, tuple[Register, list[tuple[Value, int]]]], start: int) -> None:
        """Copies at the end of each branch, and before them of what only one of them changes."""
        inserted: list[tuple[int, list[Op]]] = []

        def copied(register: Register, value: Value, kind: str, place: int) -> None:
            first = len(self.code.ops)
            self.selection.copy(register, operand(self, node, value, kind, wide=True))
            inserted.append((place, self.code.ops[first:]))
            del self.code.ops[first:]

        for name, (register, ends) in slots.items():
            values = [branch.names[name] for branch in after if name in branch.names]
            if len(values) < 2:
                scope.names.pop(name, None)  # it has a value after one branch only
                continue
            kind = unify(*values)
            if kind is None:
                raise self.fail(node, f"{name} is {values[0].kind} in one branch and "
                                f"{values[1].kind} in the other")
            if len(ends) == 1:
                copied(register, before[name], kind, start)
            for value, place in ends:
                copied(register, value, kind, place)
            token = self.selection.token(register)
            if kind != "float":
                spans = [span_of(self, value) for value in values]
                self.spans[token] = min(low for low, _ in spans), max(high for _, high in spans)
            scope.names[name] = Value(token, kind)
        for place, ops in sorted(inserted, key=lambda item: item[0], reverse=True):
            self.code.ops[place:place] = ops

    # -- loops -------------------------------------------------------------------------------------

    def settle(self, loop: _Loop, scope: Scope) -> None:
        """Give the loop's variables their values, all at once."""
        changed = []
        mine = {self.selection.register(slot.token) for slot in loop.slots.values()}
        for name in loop.names:
            value = scope.names.get(name)
            if value is None or value == loop.slots.get(name):
                continue
            if name not in loop.slots:
                token = self.selection.token(self.code.new("v"))
                loop.slots[name] = Value(token, value.kind)
            slot = loop.slots[name]
            if unify(slot, value) not in (slot.kind, "bool") or (
                    slot.kind == "bool" != value.kind):
                raise _OtherKindError(name)
            bits = operand(self, loop.node, value, slot.kind, wide=True)
            if isinstance(bits, Token) and self.selection.register(bits) in mine:
                held = self.code.new("v")  # another variable's old value
                self.selection.copy(held, bits)
                bits = self.selection.token(held)
            changed.append((self.selection.register(slot.token), bits))
        for register, bits in changed:
            self.selection.copy(register, bits)

    def count(self, node: ast.For, scope: Scope) -> None:
        """A ``for`` over a range."""
        if not isinstance(node.target, ast.Name):
            raise self.fail(node, "a for with more than one variable cannot be mapped")
        match node.iter:
            case ast.Call(func=ast.Name(id="bounded"), args=[
                    ast.Call(func=ast.Name(id="range"), args=arguments, keywords=[]), most],
                    keywords=[]) if 1 <= len(arguments) <= 3:
                self.bounded_range(node, arguments, self.most(node, most, scope), scope)
                return
            case ast.Call(func=ast.Name(id="range"), args=arguments, keywords=[]) if (
                    1 <= len(arguments) <= 3):
                values = [self.expression(argument, scope) for argument in arguments]
                if all(value.known and value.kind != "float" for value in values):
                    try:
                        numbers = range(*(int(value.number) for value in values))
                    except ValueError as error:
                        raise self.fail(node, str(error)) from None
                    self.counted(node, scope, node.target.id, numbers, node.body, [])
                    return
        raise self.fail(node, f"a loop over {ast.unparse(node.iter)} cannot be mapped: its bounds "
                        "must be a range of constants, or the most iterations stated: "
                        "bounded(range(x), 32)")

    def most(self, node: ast.stmt, most: ast.expr, scope: Scope) -> int:
        value = self.expression(most, scope)
        if not value.known or value.kind == "float" or not 0 < value.number <= _ROUNDS:
            raise self.fail(node, f"the bound of a loop must be a constant integer from 1 to "
                            f"{_ROUNDS}" + (f", not {value.what}" if value.known else ""))
        return int(value.number)

    def repeat(self, node: ast.While, scope: Scope) -> None:
        """A ``while``, and a ``for`` of C."""
        step = list(node.step) if isinstance(node, WhileLoop) else []
        match node:
            case WhileLoop(test=test, most=ast.expr() as most):
                pass
            case ast.While(test=ast.Call(func=ast.Name(id="bounded"), args=[test, most],
                                         keywords=[])):
                pass
            case _:
                body = node.body
                if not step and not _leaves(body, ast.Continue):
                    body, step = body[:-1], body[-1:]
                found = self.counter(node, body, step, scope)
                if found is not None:
                    self.counted(node, scope, *found, body, step)
                else:
                    self.unrolled(node, scope)
                return
        rounds = self.most(node, most, scope)
        self.looped(node, scope, rounds, None, node.body, step, test)

    def counter(self, node: ast.While, body: list[ast.stmt], step: list[ast.stmt], scope: Scope
                ) -> tuple[str, range] | None:
        """The variable that a loop counts with, and its values, if it does."""
        match step:
            case [ast.Assign(targets=[ast.Name(id=name)])]:
                pass
            case [ast.AugAssign(target=ast.Name(id=name))]:
                pass
            case _:
                return None
        value = scope.find(name)
        if value is None or not value.known or value.kind == "float" or name in _stored(body):
            return None
        others = set(_stored(body))
        start = len(self.code.ops)
        values: list[int] = []
        try:
            while len(values) <= _ROUNDS:
                trial = Scope({**{key: held for key, held in scope.names.items()
                                  if key not in others}, name: value})
                condition = self.condition(node.test, trial)
                if not condition.known:
                    return None
                if not condition.what:
                    break
                values.append(int(value.number))
                self.statement(step[0], trial)
                value = trial.names[name]
                if not value.known or value.kind == "float":
                    return None
        except (KernelError, RefusedError):
            return None
        finally:
            del self.code.ops[start:]
        if len(values) > _ROUNDS:
            raise self.fail(node, f"a loop must have {_ROUNDS} iterations at most")
        if not values:
            return name, range(0)
        by = values[1] - values[0] if len(values) > 1 else int(value.number) - values[0]
        numbers = range(values[0], values[0] + by * len(values), by or 1)
        return (name, numbers) if list(numbers) == values and by else None

    def counted(self, node: ast.For | ast.While, scope: Scope, name: str, numbers: range,
                body: list[ast.stmt], step: list[ast.stmt]) -> None:
        """A loop with known values of its variable; if something in it needs them as constants,
        each of its rounds by itself."""
        if len(numbers) > _ROUNDS:
            raise self.fail(node, f"a loop must have {_ROUNDS} iterations at most")
        if not numbers:
            self.block(node.orelse, scope)
            return
        start, held = len(self.code.ops), scope.inside()
        try:
            self.looped(node, scope, len(numbers), (name, numbers), body,
                        [] if isinstance(node, ast.While) else step, None)
            return
        except KernelError:
            if _leaves(body, ast.Break) or _leaves(body, ast.Continue) or len(numbers) > 64:
                raise
        del self.code.ops[start:]
        scope.names = held.names
        for number in numbers:
            scope.names[name] = constant(number)
            if self.block(body, scope):
                return
        if isinstance(node, ast.While):
            scope.names[name] = constant(numbers[-1] + numbers.step)
        self.block(node.orelse, scope)

    def unrolled(self, node: ast.While, scope: Scope) -> None:
        """A loop whose condition is known each time: its rounds one after the other."""
        step = list(node.step) if isinstance(node, WhileLoop) else []
        rounds = 0
        while True:
            condition = self.condition(node.test, scope)
            if not condition.known:
                raise self.fail(node, "a loop cannot be mapped unless its condition is known when "
                                "the kernel is mapped, or the most iterations are stated: "
                                + ("#pragma loopbound max 32" if self.kernel.columns
                                   else "while bounded(x > 1, 32)"))
            if not condition.what:
                break
            if _leaves(node.body, ast.Break) or _leaves(node.body, ast.Continue):
                raise self.fail(node, "break and continue need a loop that counts, or whose most "
                                "iterations are stated")
            rounds += 1
            if rounds > 256:
                raise self.fail(node, "a loop that does not count by steps that are the same must "
                                "have 256 iterations at most")
            if self.block([*node.body, *step], scope):
                return
        self.block(node.orelse, scope)

    def bounded_range(self, node: ast.For, arguments: list[ast.expr], rounds: int, scope: Scope
                      ) -> None:
        """A range whose limits are not known: its elements are counted, and compared with how far
        the limits are apart."""
        values = [self.expression(argument, scope) for argument in arguments]
        start, stop, step = (*values, constant(1))[:3] if len(values) > 1 else (
            constant(0), values[0], constant(1))
        distance = emit_range(self, node, "distance", start, stop, step)
        rounds = min(rounds, -(-MASK // abs(int(step.number))))  # no range has more elements
        self.looped(node, scope, rounds, ("?turn", range(rounds)), node.body, [], (
            start, distance, step))

    def looped(self, node: ast.For | ast.While, scope: Scope, rounds: int,
               counter: tuple[str, range] | None, body: list[ast.stmt], step: list[ast.stmt],
               test: _Test | None) -> None:
        """A loop of so many rounds, which lanes leave where a test does not hold."""
        kinds: dict[str, str] = {}
        while True:
            begun, held, depth = len(self.code.ops), scope.inside(), self.selection.depth
            depth_of_loops = len(self.loops)
            try:
                self.round(node, scope, rounds, counter, body, step, test, kinds)
                return
            except _OtherKindError as other:
                del self.code.ops[begun:]
                del self.loops[depth_of_loops:]
                scope.names, self.selection.depth = held.names, depth
                if other.name in kinds:
                    raise self.fail(node, f"{other.name} has one kind before this loop, and "
                                    "another one in it") from None
                kinds[other.name] = "float" if (
                    held.names.get(other.name) is not None
                    and held.names[other.name].kind != "bool") else "int"
            except BaseException:
                del self.loops[depth_of_loops:]
                self.selection.depth = depth
                raise

    def round(self, node: ast.For | ast.While, scope: Scope, rounds: int,
              counter: tuple[str, range] | None, body: list[ast.stmt], step: list[ast.stmt],
              test: _Test | None, kinds: dict[str, str]) -> None:
        """As `looped`, with these kinds of variables. Raises `_OtherKindError` for another one."""
        loop = _Loop(_stored([*body, *step, *node.orelse, *(
            [node.target] if isinstance(node, ast.For) else [])]), node)
        if node.orelse and test is not None:  # where both leave alike
            loop.broken = self.code.name(f"{HIDDEN}broken")
            loop.names.append(loop.broken)
            scope.names[loop.broken] = constant(False)
        if counter is not None and isinstance(node, ast.While):
            loop.names = list(dict.fromkeys([*loop.names, counter[0]]))
        for variable in loop.names:
            value = scope.find(variable)
            if value is None:
                continue
            kind = kinds.get(variable, value.kind)
            if unify(value, Value(0, kind)) not in (kind, "bool"):
                raise self.fail(node, f"{variable} is {value.kind} before this loop, and {kind} in "
                                "it")
            register = self.code.new("v")
            self.selection.copy(register, operand(self, node, value, kind, wide=True))
            token = self.selection.token(register)
            self.spans[token] = (0, 1) if kind == "bool" else ANY
            loop.slots[variable] = scope.names[variable] = Value(token, kind)
        turns = self.code.make("smov", "s", str(rounds))
        leaves = test is not None or _leaves(body, ast.Break)
        stack = [self.selection.pushed("jc")] if leaves else []
        for pushed in stack:
            pushed.__enter__()
        inner = scope.inside()
        number: Value | None = None
        name, numbers = counter or ("", range(0))
        if counter is not None:
            register = self.code.make("smov", "s", immediate(numbers[0] & 0xFFFF_FFFF))
            token = self.selection.token(register)
            self.spans[token] = min(numbers[0], numbers[-1]), max(numbers[0], numbers[-1])
            number = Value(token, "int")
        again = self.code.name("loop")
        self.code.emit("loop", None)
        self.code.emit("label", None, again)
        if number is not None:
            inner.names[name] = number
        self.loops.append(loop)
        if test is not None:
            self.leave(node, test, inner, number)
        nexts = [self.selection.pushed("brk")] if _leaves(body, ast.Continue) else []
        for pushed in nexts:
            pushed.__enter__()
        if not self.block(body, inner):
            self.settle(loop, inner)
        if nexts:
            inner.names |= loop.slots
            nexts[0].__exit__(None, None, None)
            if number is not None:
                inner.names[name] = number
        if step and not self.block(step, inner):
            self.settle(loop, inner)
        self.loops.pop()
        if number is not None:
            self.code.emit("siadd", register, register,
                           immediate(numbers.step & 0xFFFF_FFFF))
        self.code.emit("sisub", turns, turns, "1")
        self.code.emit("sicj!", None, again, turns, str(rounds))
        self.code.emit("repeat", None)
        scope.names |= loop.slots
        scope.names.pop("?turn", None)
        counts = isinstance(node, ast.While)
        if counter is not None and counts:
            scope.names[name] = constant(numbers[-1] + numbers.step)
        if test is not None:
            self.check(node, test, scope, rounds)
        if (node.orelse and not loop.broken) or (leaves and counter is not None and counts):
            self.block(node.orelse, scope)
            self.settle(loop, scope)
            scope.names |= loop.slots
        for pushed in stack:
            pushed.__exit__(None, None, None)
        if loop.broken:
            left = ast.copy_location(ast.Name(loop.broken, ast.Load()), node)
            self.decide(ast.copy_location(ast.If(left, [], node.orelse), node), scope)

    def within(self, node: ast.stmt, test: _Test, scope: Scope, number: Value | None) -> Value:
        """Whether a thread is still in a loop."""
        if isinstance(test, ast.expr):
            return self.condition(test, scope)
        _, distance, step = test
        assert number is not None
        if number.known:
            return emit_range(self, node, "within", number, distance, step)
        size = emit(self, node, "*", number, constant(wrapped(abs(int(step.number)))))
        return emit(self, node, "ltu", size, distance)

    def leave(self, node: ast.For | ast.While, test: _Test, inner: Scope, number: Value | None
              ) -> None:
        """Lanes for which the test does not hold leave; a range has its next element."""
        condition = self.within(node, test, inner, number)
        if not condition.known:
            holds = self.selection.predicate(condition.token)
            self.code.emit("ret", None, self.selection.inverted(holds))
        elif not condition.what:
            zero = self.code.make("mov", "v", "vc.zero")
            self.code.emit("ret", None, self.code.make("itest.ez", "p", zero))
        if isinstance(test, tuple) and number is not None and isinstance(
                node, ast.For) and isinstance(node.target, ast.Name):
            start, _, step = test
            moved = emit(self, node, "*", number, step)
            inner.names[node.target.id] = emit(self, node, "+", start, moved)

    def check(self, node: ast.stmt, test: _Test, scope: Scope, rounds: int) -> None:
        """A thread whose loop goes on after its stated bound stops the kernel."""
        condition = self.within(node, test, scope, constant(rounds))
        if condition.known and not condition.what:
            return
        holds = (self.selection.test("itest", "ez", self.code.make("mov", "v", "vc.zero"))
                 if condition.known else self.selection.predicate(condition.token))
        with self.selection.where(holds, True):
            self.code.emit("movvsp", None, "vc.mem_idx", "-1")
            self.code.emit("ldgidxit", None, self.code.new("v"), "0")

    # -- memory ------------------------------------------------------------------------------------

    def _and(self, predicate: Token | None, condition: Token, inverted: bool, node: Node
             ) -> Token:
        holds = self.selection.predicate(condition)
        if inverted:
            holds = self.selection.inverted(holds)
        if predicate is not None:
            holds = self.code.make("pbool.and", "p", holds, self.selection.predicate(predicate))
        return self.selection.token(holds)

    def _access(self, task: Task, scope: Scope) -> Token:
        self.code.line = task.line or self.code.line
        index, value = task.operands[:2]
        if scope.predicate is not None:
            target = self.code.new("v")
            with self.selection.where(self.selection.predicate(scope.predicate), True):
                self.selection.copy(target, self.selection.token(self.load_word(task.array, index)))
            return self.selection.token(target)
        if task.function == Memory.STORE:
            self.store_word(task.array, index, value)
            return Token(-1)
        return self.selection.token(self.load_word(task.array, index))

    def _rest(self, place: Affine) -> Register | str:
        """What is added to the thread's number, as an offset of an access."""
        total: Register | None = None
        for register, times in place.scalars:
            term = register if times == 1 else self.code.make("simul", "s", register,
                                                              immediate(times & 0xFFFF_FFFF))
            total = term if total is None else self.code.make("siadd", "s", total, term)
        if total is None:
            return str(place.more) if -(1 << 15) <= place.more < 1 << 15 else self.code.make(
                "smov", "s", str(place.more))
        return total if not place.more else self.code.make("siadd", "s", total, str(place.more))

    def _buffer(self, name: str) -> str:
        return str(self.kernel.arrays.index(name))

    def _snoops(self, name: str) -> bool:
        machine = self.target.machine
        return bool(machine.snoopy) and self.target.sizes[name] <= _PER_ITEM * machine.items

    def _window(self, name: str, index: Operand) -> tuple[str, str] | None:
        """The first word and the number of those that an index may name, if they are few."""
        low, high = self.selection.span(index)
        count = high - low + 1
        if not self.target.machine.snoopy or not self._inside(name, index) or low >= 1 << 15 or (
                count > min(self.target.sizes[name] // 2, _PER_ITEM * self.target.machine.items)):
            return None
        return str(low), str(count)

    def _short(self, name: str, index: Operand) -> Register:
        """An index whose lowest 30 bits are in the buffer only if it is."""
        low, high = self.selection.span(index)
        register = self.selection.vector(index)
        if low < -(1 << 29) or high >= 1 << 29:
            register = self.code.make("imax", "v", register, "-1")
            register = self.code.make("imin", "v", register, str(self.target.sizes[name]))
        return register

    def _inside(self, name: str, index: Operand) -> bool:
        low, high = self.selection.span(index)
        return low >= 0 and high < self.target.sizes[name]

    def _indexes(self, name: str, index: Operand) -> Iterator[Register]:
        """An index for lanes, in those that have one in the buffer."""
        register = self.selection.vector(index)
        if self._inside(name, index):
            yield register
            return
        last = str(self.target.sizes[name] - 1)
        near = self.code.make("imin", "v", self.code.make("imax", "v", register, "0"), last)
        inside = self.selection.test("itest", "ez", self.code.make("isub", "v", register, near))
        with self.selection.where(inside, True):
            yield register

    def load_word(self, name: str, index: Operand) -> Register:
        place, buffer = self.selection.affine(index), self._buffer(name)
        inside = self._inside(name, index)
        if place is not None and place.threads == 1:
            return self.code.make("ldglin" if inside else "ldglin!", "v", buffer,
                                  self._rest(place))
        if place is not None and place.threads == 0 and inside:
            if place == Affine():
                return self.code.make("sldg", "s", buffer, "1")
            self.scratchpad = True
            return self.code.make("sldsp!", "s", "0", buffer, self._rest(place))
        if (window := self._window(name, index)) is not None:
            return self.code.make("ldgcidx!", "v", self.selection.vector(index), buffer, *window)
        if self._snoops(name):
            return self.code.make("ldgbidx!", "v", self._short(name, index), buffer)
        made = self.code.make("mov", "v", "vc.zero")
        for register in self._indexes(name, index):
            self.code.emit("ldgidxit!", made, register, buffer)
        return made

    def store_word(self, name: str, index: Operand, value: Operand) -> None:
        place, buffer = self.selection.affine(index), self._buffer(name)
        word = self.selection.vector(value)
        if place is not None and place.threads == 1:
            self.code.emit("stglin", None, word, buffer, self._rest(place))
        elif (window := self._window(name, index)) is not None:
            self.code.emit("stgcidx!", None, word, self.selection.vector(index), buffer, *window)
        elif self._snoops(name):
            self.code.emit("stgbidx!", None, word, self._short(name, index), buffer)
        else:
            for register in self._indexes(name, index):
                self.code.emit("stgidxit!", None, word, register, buffer)


def compile_simd(kernel: Kernel, sizes: Mapping[str, int], threads: int, machine: Machine,
                 approximate: bool = False, /, **constants: float) -> str:
    """The ``.sas`` text of a kernel.

    Parameters
    ----------
    kernel : Kernel
        In Python or C.
    sizes : mapping of str to int
        Words of each of its arrays.
    threads : int
        How many there are: the grid is ``threads`` x 1.
    machine : Machine
        What it runs on.
    approximate : bool
        Whether quotients and roots of floats are made by reciprocals, which are not rounded once.
    **constants
        A value for each of its constants.

    Raises `KernelError` for what cannot be compiled, `TypeError` for constants that are missing or
    unknown, `ValueError` for one that is none, for sizes or threads that no grid has, and
    for an array without a size.
    """
    given = check_constants(kernel, constants)
    if not 1 <= threads <= _WORDS:
        raise ValueError(f"threads must be from 1 to {_WORDS}, not {threads}")
    if len(kernel.arrays) > BUFFERS:
        raise kernel.error(kernel.tree.lineno, f"a kernel has {BUFFERS} arrays at most, not "
                           f"{len(kernel.arrays)}")
    for name in kernel.arrays:
        if name not in sizes:
            raise ValueError(f"sizes must have the words of array {name}")
        if not 1 <= sizes[name] <= _WORDS:
            raise ValueError(f"array {name} must have from 1 to {_WORDS} words, not {sizes[name]}")
    made = _Statements(kernel, given, _Target(sizes, threads, machine, approximate))
    scope = Scope({kernel.thread: Value(made.number, "int")})
    if not made.block(kernel.tree.body, scope) or made.code.ops[-1].name == "label":
        made.code.emit("exit", None)
    if not any(op.name.startswith("stg") for op in made.code.ops):
        raise kernel.error(kernel.tree.lineno, "there is no store")
    plain = replace(made.code, ops=[replace(op, sources=list(op.sources)) for op in made.code.ops])
    made.code.improve()
    try:
        lines = made.code.text(machine.vectors)
    except RegistersError:
        plain.improve(again=False)
        try:
            lines = plain.text(machine.vectors)
        except RegistersError as error:
            raise kernel.error(error.line, str(error)) from None
    head = [f"// kernel {kernel.name} for {threads} threads", ".data"]
    address = 0
    for number, name in enumerate(kernel.arrays):
        head.append(f"{number} {address:#x} {sizes[name]} 1    // {name}")
        address += -(-4 * sizes[name] // _APART) * _APART
    if made.scratchpad:
        head += [".sp_data", "0 0 1 1"]
    return "\n".join([*head, ".text", *lines, ""])


