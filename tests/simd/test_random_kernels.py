"""Random kernels: the models against an interpreter of the tree, which has sets of lanes instead of
masks and a control stack; and the cycle model against the functional one under every policy."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd import arithmetic, functional, special_functions
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import MACHINES, Grid
from cyclebound.golden.simd.work_group import memory_of
from cyclebound.tools.simd import random_kernels as made
from cyclebound.tools.simd.assembler import assemble

pytestmark = pytest.mark.unit

SMALL = MACHINES["small"]
WORDS = 2 * SMALL.items + 20
SIGN = np.uint32(1 << 31)


def signed(function):
    return lambda a, b: function(a.view(np.int32), b.view(np.int32)).view(np.uint32)


OPERATIONS = {
    "iadd": np.add, "isub": np.subtract, "imul": np.multiply, "imin": signed(np.minimum),
    "imax": signed(np.maximum), "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "add": arithmetic.add,
    "add.neg": lambda a, b: arithmetic.add(a, np.where(np.isnan(b.view(np.float32)), b, b ^ SIGN)),
    "mul": arithmetic.mul, "mul.neg": lambda a, b: arithmetic.mul(a, b ^ SIGN),
    "min": arithmetic.lesser, "max": arithmetic.greater, "abs": lambda a: a & ~SIGN,
    "not": np.invert, "rcp": special_functions.rcp, "rsqrt": special_functions.rsqrt,
    "sin": special_functions.sin, "cos": special_functions.cos,
    "cvt.i2f": lambda a: a.astype(np.float32).view(np.uint32), "cvt.f2i": arithmetic.int_of}
HOLDS = {"ez": np.equal, "nz": np.not_equal, "g": np.greater, "ge": np.greater_equal,
         "l": np.less, "le": np.less_equal}


class Interpreter:
    """One work-group, statement by statement; ``lanes`` are numbers of those that are there."""

    def __init__(self, memory, offset):
        items = SMALL.items
        self.memory, self.offset = memory, offset
        lid = np.arange(items, dtype=np.uint32)
        kinds = (lid, lid + np.uint32(offset), np.ones_like(lid), np.zeros_like(lid))
        self.v = np.array([kinds[number % 4] for number in range(8)])
        self.sp = np.zeros(items, np.uint32)
        self.lanes = np.flatnonzero(lid + offset < WORDS)
        self.count = None
        self.sp[self.lanes] = self.v[0][self.lanes]
        self.tile(self.lanes, 0, 0)
        self.tile(self.lanes, 4, 1)

    def holding(self, lanes, node):
        return lanes[HOLDS[node.condition](self.v[node.value][lanes].view(np.int32), 0)]

    def without(self, lanes, node):
        return np.setdiff1d(lanes, self.holding(lanes, node))

    def tile(self, lanes, value, shift):
        source = self.memory[made.SOURCE][0]
        for lane in lanes:
            place = self.offset + lane + shift
            if 0 <= place < len(source) and 0 <= self.offset + shift + lane:
                self.v[value][lane] = source[place]

    def whole(self, tree):
        lanes = self.lanes
        for node in tree:
            lanes = self.without(lanes, node) if isinstance(node, made.Exit) else lanes
            if len(lanes) == 0 or (isinstance(node, made.Leave) and self.decided(node)):
                return
            self.statement(node, lanes)
        total = np.zeros(SMALL.items, np.uint32)
        for values in self.v:
            total ^= values
        self.memory[made.DATA][0][self.offset + lanes] = total[lanes]

    def decided(self, node):
        place = self.offset // SMALL.items + (self.count or 0)
        return int(self.memory[made.PATHS][0, node.word]) >> place % 32 & 1

    def block(self, nodes, lanes):
        for node in nodes:
            if len(lanes):
                self.statement(node, lanes)

    def statement(self, node, lanes):
        if isinstance(node, made.Op):
            sources = [self.v[node.a][lanes]]
            if node.b is not None:
                sources.append(np.full(len(lanes), node.b, np.uint32) if node.constant
                               else self.v[node.b][lanes])
            self.v[node.target][lanes] = OPERATIONS[node.name](*sources)
        elif isinstance(node, made.If):
            other = self.holding(lanes, node)
            self.block(node.body, np.setdiff1d(lanes, other))
            self.block(node.other, other)
        elif isinstance(node, made.Loop):
            around = self.count
            for number in range(node.times):
                lanes = self.without(lanes, node) if node.condition else lanes
                self.count = node.times - number
                self.block(node.body, lanes)
            self.count = around
        elif isinstance(node, made.Branch):
            self.block(node.body if self.decided(node) else node.other, lanes)
        elif isinstance(node, made.Call):
            self.block(node.first, lanes)
            self.block(node.then, self.without(lanes, node))
        elif isinstance(node, made.Move):
            self.move(node, lanes)

    def move(self, node, lanes):
        value, index = self.v[node.value], self.v[node.index]
        table = self.memory[made.TABLE][0]
        if node.kind == "load":
            self.tile(lanes, node.value, node.shift)
        elif node.kind == "store":
            self.memory[made.DATA][0][self.offset + lanes] = value[lanes]
        elif node.kind in ("snoop", "gather"):
            value[lanes] = table[index[lanes] % len(table)]
        elif node.kind == "scatter":
            places = index[lanes] % SMALL.items + self.offset
            for lane, place in zip(lanes, places, strict=True):
                self.memory[made.INDEXED][0][place] = value[lane]
        elif node.kind == "put":
            self.sp[lanes] = value[lanes]
        elif node.kind == "pick":
            value[lanes] = self.sp[index[lanes] % SMALL.items]
        else:
            there = lanes + node.shift
            legal = (there >= 0) & (there < SMALL.items)
            value[lanes[legal]] = self.sp[there[legal]]


def compare(seed, policies, mix=None):
    kernel = made.random_kernel(seed, SMALL, WORDS, mix)
    program = assemble(kernel.text)
    memory = memory_of(program)
    rng = np.random.default_rng(seed)
    for number in set(memory) - {made.DATA, made.INDEXED}:
        words = rng.integers(0, 1 << 32, memory[number].shape, dtype=np.uint32)
        floats = rng.standard_normal(words.shape).astype(np.float32).view(np.uint32)
        memory[number][...] = np.where(rng.random(words.shape) < 0.5, words, floats)
    grid = Grid(WORDS, 1, SMALL, SMALL.items)
    wanted, found = ({number: words.copy() for number, words in memory.items()} for _ in range(2))
    with np.errstate(all="ignore"):
        for place in grid.places():
            Interpreter(wanted, place.x).whole(kernel.tree)
    functional.run(program, grid, found, most=20_000)
    for number, words in wanted.items():
        assert np.array_equal(words, found[number]), f"seed {seed}, buffer {number}\n{kernel.text}"
    for policy in policies:
        again = {number: words.copy() for number, words in memory.items()}
        timed = CycleModel(program, grid, again, policy=policy,
                           part=part_named("ddr4-3200aa-x16")).run()
        assert all(np.array_equal(words, again[number]) for number, words in wanted.items())
        for slot in (0, 1):
            phases = [phase for phase in timed.phases if phase.slot == slot]
            assert all(a.end <= b.start for a, b in itertools.pairwise(phases))
    return kernel


def compare_all(seeds):
    for seed in seeds:
        compare(seed, [])


@settings(max_examples=25, deadline=None, database=None, derandomize=True)
@given(st.integers(0, 1 << 32), st.booleans())
def test_models_agree_with_the_tree(seed, branches):
    compare(seed, [list(Policy)[seed % 4]], made.Mix(branches=branches))


@pytest.mark.thorough
def test_models_agree_with_many_trees():
    for seed in range(5000):
        compare(seed, Policy, made.Mix(branches=seed % 2 == 1))


def test_kernels_are_of_all_kinds():
    text = "".join(made.random_kernel(seed, SMALL, WORDS).text for seed in range(60))
    for word in ("bra", "call", "ret", "brk", "cmask", "exit p", "stgidxit", "ldgidxit", "ldgbidx",
                 "ldspbidx", "stsplin", "rsqrt", "#bound"):
        assert word in text


def test_kernels_with_branches_and_without_conditional_moves():
    kernels = [made.random_kernel(seed, SMALL, WORDS, made.Mix(True, False, False))
               for seed in range(60)]
    text = "".join(kernel.text for kernel in kernels)
    assert "sicj.ez" in text
    assert "exit\nl" in text
    assert "call" not in text

    def moves(nodes, conditional=False):
        for node in nodes:
            if isinstance(node, made.Move):
                yield conditional
            else:
                inner = conditional or not isinstance(node, made.Loop) or bool(node.condition)
                for part in ("body", "other", "first", "then"):
                    yield from moves(getattr(node, part, ()), inner)

    found = [move for kernel in kernels for move in moves(kernel.tree)]
    assert found
    assert not any(found)


def test_the_interpreter_notices_a_wrong_mask(monkeypatch):
    """A model whose brk does nothing disagrees within a few kernels."""
    from cyclebound.golden.simd import work_group

    monkeypatch.setitem(work_group._CONTROL, "brk", lambda instruction: lambda group: None)
    with pytest.raises(AssertionError, match=r"^seed"):
        compare_all(range(40))
