"""Exported Verilog beside the hardware that it was made from: one simulation, the same inputs.

The source is Amaranth's RTLIL as yosys itself writes it, without any step of ours; the text is what
users get, read by Verilator, through its ports for fields. Both start at their initial values, get
the same random inputs and resets, and all outputs are compared before each rising edge. Where each
field lies is asked of Amaranth, not of what wrote the text.

No proof: states that random inputs do not reach are not compared. `Compared.moved` says how many
bits of the outputs were seen at 0 and at 1.
"""

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Signal, Value
from amaranth.hdl._ast import Operator, Slice
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import FAST_SCRIPT, SharedModules, simulation_verilog, to_rtlil
from cyclebound.sim.build.verilator import build_program
from cyclebound.sim.describe.block import Block
from cyclebound.sim.export.verilog import Export
from cyclebound.sim.netlist.rtlil import Design

__all__ = ["Compared", "compare_with_source", "field_at"]

_NARROW = 2      # bits of an input that is taken to be a strobe
_SEED = 20
_TOP = "beside"  # the module that holds both


@dataclass(frozen=True)
class Compared:
    """What a comparison without a difference went through.

    Attributes
    ----------
    cycles : int
    outputs : int
        Bits of all outputs.
    moved : int
        Those of them that were 0 in one cycle and 1 in another.
    """

    cycles: int
    outputs: int
    moved: int


@dataclass(frozen=True)
class _Pin:
    """A port of either module, and its bits in the bus of all inputs or all outputs."""

    name: str
    low: int
    width: int
    into: bool


def field_at(component: wiring.Component, path: str) -> Value:
    """What Amaranth finds at ``request.payload.address``."""
    found: Any = component
    for word in path.split("."):
        if word.isdigit():
            found = found[int(word)]
        else:
            found = found[word] if isinstance(found, data.View) else getattr(found, word)
    return Value.cast(found)


def compare_with_source(block: Block, parameters: Mapping[str, object], made: Export,
                        cycles: int) -> Compared:
    """Simulate both for so many cycles. Raises `UserError` at the first difference."""
    component = block.make(parameters)
    members = _members(component)
    fields = [_placed(component, port.path, port.name, members) for port in made.ports]
    widths = {into: sum(pin.width for pin in members.values() if pin.into == into)
              for into in (True, False)}
    if not widths[False]:
        raise UserError(f"{block.name} has no outputs to compare")
    shares = SharedModules("gold")
    source = to_rtlil(component, name="gold", shares=shares)
    inside = Design.read(source).modules["\\gold"].ports
    clocks = tuple(name for name in ("clk", "rst")
                   if (port := inside.get(f"\\{name}")) and port.direction == "input")
    pins = list(members.values())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        simulation_verilog(source, folder, FAST_SCRIPT)
        (folder / "text.v").write_text(made.text)
        (folder / f"{_TOP}.v").write_text(
            f"module {_TOP} (input clk, input rst, input [{max(widths[True], 1) - 1}:0] given,\n"
            f"  output [{widths[False] - 1}:0] source, output [{widths[False] - 1}:0] text);\n"
            + _instance("gold", "gold", pins, clocks, "source")
            + _instance(made.name, "gate", fields, made.clocks, "text") + "endmodule\n")
        (folder / "main.cpp").write_text(_main(pins, widths))
        program = build_program([folder / f"{_TOP}.v", folder / "top.v", folder / "text.v"], _TOP,
                                folder / "main.cpp", folder / "work")
        done = subprocess.run([str(program), str(cycles), str(_SEED)], capture_output=True,
                              text=True)
    if found := re.match(r"differs (\d+) (\d+) (\d)", done.stdout):
        cycle, bit, expected = map(int, found.groups())
        [pin] = [pin for pin in pins if not pin.into and pin.low <= bit < pin.low + pin.width]
        raise UserError(f"{block.name}: the Verilog is not its source: in cycle {cycle:,} bit "
                        f"{bit - pin.low} of {pin.name} is {1 - expected}, not {expected}")
    compared = re.match(r"compared (\d+) (\d+)", done.stdout)
    if done.returncode or not compared:
        raise RuntimeError(f"the simulation failed: {(done.stdout + done.stderr)[-500:]}")
    return Compared(int(compared[1]), widths[False], int(compared[2]))


def _members(component: wiring.Component) -> dict[int, _Pin]:
    """The ports of the source, by the signal."""
    pins: dict[int, _Pin] = {}
    end = {True: 0, False: 0}
    for path, member, value in component.signature.flatten(component):
        signal = Value.cast(value)
        into = member.flow == In
        if len(signal):
            pins[id(signal)] = _Pin("__".join(map(str, path)), end[into], len(signal), into)
            end[into] += len(signal)
    return pins


def _placed(component: wiring.Component, path: str, name: str, members: dict[int, _Pin]) -> _Pin:
    """A port of the text, at the bits of the source's port that Amaranth says are this field."""
    value, low = field_at(component, path), 0
    width = len(value)
    while not isinstance(value, Signal):
        if isinstance(value, Slice):
            low, value = low + value.start, value.value
        elif isinstance(value, Operator) and value.operator in ("u", "s"):
            [value] = value.operands
        else:
            raise TypeError(f"Field {path!r} must be bits of a port, not {value!r}")
    whole = members[id(value)]
    return _Pin(name, whole.low + low, width, whole.into)


def _instance(module: str, name: str, pins: list[_Pin], clocks: tuple[str, ...], bus: str) -> str:
    ports = [f"    .{clock}({clock})" for clock in clocks] + [
        f"    .\\{pin.name} ({'given' if pin.into else bus}[{pin.low + pin.width - 1}:{pin.low}])"
        for pin in pins]
    return f"  {module} {name} (\n" + ",\n".join(ports) + "\n  );\n"


def _main(pins: list[_Pin], widths: dict[bool, int]) -> str:
    fields = ", ".join(f"{{{pin.low}, {pin.width}}}" for pin in pins if pin.into) or "{0, 0}"
    return (_MAIN.replace("@FIELDS@", fields).replace("@NARROW@", str(_NARROW))
            .replace("@GIVEN@", str(max(widths[True], 1))).replace("@OUTPUTS@", str(widths[False])))


# Random inputs change their habits: for some cycles an input is uniform, kept, small, one of a few
# words, or at its limits; a strobe is rare, even or usual. Most blocks do little otherwise.
_MAIN = r"""
#include "Vtop.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
struct Field { int low, width; };
static const Field fields[] = {@FIELDS@};
static const int GIVEN = @GIVEN@, OUTPUTS = @OUTPUTS@;
static uint64_t state;
static uint64_t draw() {
    state ^= state >> 12; state ^= state << 25; state ^= state >> 27;
    return state * 0x2545F4914F6CDD1DULL;
}
typedef std::vector<uint8_t> Bits;
struct Habit { int kind, left, strobe; Bits now; Bits few[4]; };
static void random_bits(Bits &bits, int upto) {
    uint64_t word = 0;
    for (size_t i = 0; i < bits.size(); i++) {
        if (i % 32 == 0) word = draw() >> 16;
        bits[i] = (int)i < upto ? word >> (i % 32) & 1 : 0;
    }
}
static void begin(Habit &habit, int width) {
    habit.kind = draw() >> 32 & 7;
    habit.left = 1 + (draw() >> 32) % ((draw() >> 32 & 3) ? 64 : 1024);
    static const int chances[] = {2, 16, 64, 128, 192, 240, 254, 256};
    habit.strobe = chances[draw() >> 32 & 7];
    for (Bits &word : habit.few) { word.assign(width, 0); random_bits(word, width); }
    if (habit.kind == 1) random_bits(habit.now, width);
}
static void next(Habit &habit, int width) {
    if (habit.left-- <= 0) begin(habit, width);
    if (width <= @NARROW@) {
        for (int i = 0; i < width; i++) habit.now[i] = (int)(draw() >> 32 & 255) < habit.strobe;
        return;
    }
    switch (habit.kind) {
    case 1: return;
    case 2: random_bits(habit.now, 1 + (draw() >> 32) % width); return;
    case 3: case 4: habit.now = habit.few[draw() >> 32 & 3]; return;
    case 5: habit.now.assign(width, draw() >> 32 & 1); return;
    case 6: if (draw() >> 32 & 7) return; random_bits(habit.now, width); return;
    default: random_bits(habit.now, width);
    }
}
// Verilator's ports are an integer up to 64 bits and an array of words beyond
template <class T> static void put(T &port, const uint32_t *words) {
    uint64_t value = words[0];
    if (sizeof(T) > 4) value |= (uint64_t)words[1] << 32;
    port = (T)value;
}
template <std::size_t N> static void put(VlWide<N> &port, const uint32_t *words) {
    for (size_t i = 0; i < N; i++) port[i] = words[i];
}
template <class T> static void get(const T &port, uint32_t *words) {
    words[0] = (uint32_t)port;
    if (sizeof(T) > 4) words[1] = (uint32_t)((uint64_t)port >> 32);
}
template <std::size_t N> static void get(const VlWide<N> &port, uint32_t *words) {
    for (size_t i = 0; i < N; i++) words[i] = port[i];
}
int main(int, char **argv) {
    long cycles = atol(argv[1]);
    state = strtoull(argv[2], nullptr, 10) * 0x9E3779B97F4A7C15ULL | 1;
    Vtop top;
    const int count = sizeof fields / sizeof fields[0], words = OUTPUTS / 32 + 2;
    std::vector<Habit> habits(count);
    for (int i = 0; i < count; i++) {
        habits[i].now.assign(fields[i].width, 0);
        begin(habits[i], fields[i].width);
    }
    std::vector<uint32_t> given(GIVEN / 32 + 2), source(words), text(words);
    std::vector<uint32_t> ones(words), zeros(words);
    int reset = 0;
    for (long cycle = 0; cycle < cycles; cycle++) {
        std::fill(given.begin(), given.end(), 0);
        for (int i = 0; i < count; i++) {
            next(habits[i], fields[i].width);
            for (int bit = 0; bit < fields[i].width; bit++)
                given[(fields[i].low + bit) / 32] |=
                    (uint32_t)habits[i].now[bit] << (fields[i].low + bit) % 32;
        }
        reset = reset ? reset - 1 : (draw() >> 32) % 2048 ? 0 : 1 + (draw() >> 32) % 3;
        put(top.given, given.data());
        top.rst = reset > 0;
        top.clk = 0;
        top.eval();
        get(top.source, source.data());
        get(top.text, text.data());
        for (int i = 0; i <= (OUTPUTS - 1) / 32; i++) {
            if (source[i] != text[i]) {
                int bit = __builtin_ctz(source[i] ^ text[i]);
                printf("differs %ld %d %d\n", cycle, 32 * i + bit, (int)(source[i] >> bit & 1));
                return 0;
            }
            ones[i] |= source[i];
            zeros[i] |= ~source[i];
        }
        top.clk = 1;
        top.eval();
    }
    int moved = 0;
    for (int bit = 0; bit < OUTPUTS; bit++)
        moved += (ones[bit / 32] & zeros[bit / 32]) >> bit % 32 & 1;
    printf("compared %ld %d\n", cycles, moved);
}
"""
