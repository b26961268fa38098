"""Bounds on functions of C programs against the time that the core takes for them."""

import pytest

from cyclebound.golden.shmac.address_map import SystemRegister
from cyclebound.golden.shmac.core import CoreModel
from cyclebound.golden.shmac.memory_waits import MemoryWaits, Region
from cyclebound.tb.shmac.core import LatestMemory
from cyclebound.tools.shmac.compiler import Target, compile_c
from cyclebound.tools.shmac.wcet.analysis import wcet
from cyclebound.tools.shmac.wcet.code import Code
from kit.shmac_c import needs_compiler

pytestmark = [pytest.mark.system, needs_compiler]

SOURCE = r"""
#define ALONE __attribute__((noinline))
int x[32] = { 9, 8, 7, 6, 5, 4, 3, 2, 1 }, h[8] = { 1, -2, 3, -4, 5, -6, 7, -8 }, y[24];
int a[6][6], b[6][6], c[6][6];
char text[40] = "a string, neither short nor very long.";
ALONE int dot(const int *p, const int *q, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += p[i] * q[7 - i];
    return sum;
}
ALONE void filter(void)
{
    for (int i = 0; i < 24; i++) {
        int sum = dot(x + i, h, 8);
        y[i] = sum > 100 ? 100 : sum < -100 ? -100 : sum;
    }
}
ALONE void sort(int *p, int n)
{
    for (int i = 0; i < n - 1; i++)
        for (int j = 0; j < n - 1 - i; j++)
            if (p[j] > p[j + 1]) {
                int kept = p[j];
                p[j] = p[j + 1];
                p[j + 1] = kept;
            }
}
ALONE void product(void)
{
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            int sum = 0;
            for (int k = 0; k < 6; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}
ALONE unsigned crc(void)
{
    unsigned crc = ~0u;
    for (int i = 0; i < 32; i++) {
        crc ^= (unsigned char)text[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    return ~crc;
}
int main(void)
{
    filter();
    sort(y, 24);
    product();
    return (int)(crc() & 1);
}
"""
MEMORY = MemoryWaits([Region("ram", 0, 1 << 16, 2, 3, 1),
                      Region("system", 0xFFFF_FC00, 1 << 32, None, 1, 1)])
BOUNDED = {"filter": {}, "sort": {4: "y", 5: 24}, "product": {}, "crc": {}, "dot": {6: 8}}


def times(program, functions, limit=1_000_000):
    """Of each function, how long it took on the core, each time."""
    model = CoreModel(reset_address=program.entry)
    words = {**dict.fromkeys(range(0, 1 << 16, 4), 0), **program.words,
             **{int(register): 0 for register in SystemRegister}}
    memory = LatestMemory(words, MEMORY)
    found = {name: [] for name in functions}
    begun = {}  # by where it returns to
    for cycle in range(limit):
        request = model.request
        if getattr(request, "address", None) == SystemRegister.EXIT:
            return found
        ready, response = memory.cycle(request)
        shown = model.step(ready=ready, response=response)
        if shown.begins:
            for name, address in functions.items():
                if shown.pc == address:
                    begun[model.machine.registers[31]] = name, cycle
            if shown.pc in begun:
                name, since = begun.pop(shown.pc)
                found[name].append(cycle - since)
    raise AssertionError("it did not end")


@pytest.mark.thorough
@pytest.mark.parametrize("optimize", ["0", "1", "2", "3", "s"])
def test_functions_take_no_longer(tmp_path, cache, optimize):
    (tmp_path / "t.c").write_text(SOURCE)
    program, _ = compile_c([tmp_path / "t.c"], Target(0, 0), tmp_path / "t.elf",
                           optimize=optimize, cache=cache / "zig")
    symbols = {symbol.name: symbol.address for symbol in program.symbols}
    code = Code(program.words, symbols)
    took = times(program, {name: symbols[name] for name in BOUNDED})
    stack = program.symbol("__stack_top").address
    ratios = {}
    for name, registers in BOUNDED.items():
        given = {register: (symbols.get(value, value),) * 2
                 for register, value in registers.items()}
        bound = wcet(code, symbols[name], MEMORY, registers={
            29: (program.end + 4096, stack), **given})
        assert took[name]
        assert max(took[name]) <= bound.cycles
        ratios[name] = max(took[name]) / bound.cycles
    print(optimize, {name: round(ratio, 3) for name, ratio in ratios.items()})
    assert ratios["dot"] == 1
    assert ratios["product"] == 1
    assert ratios["filter"] > 0.95
    assert ratios["sort"] > 0.5  # it depends on data
