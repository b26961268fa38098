# amaranth: UnusedElaboratable=no
"""A harness that tells its results on a serial line, with the line's other side."""

import pytest
from amaranth.sim import Simulator

from cyclebound.hdl.harness.board_top import BoardTop, results
from cyclebound.hdl.harness.uart_sender import UartSender
from cyclebound.hdl.sram.banked_memory_harness import BankedMemoryHarness
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.fpga.board import received
from cyclebound.tb.sram.banked_memory_harness import board_script

pytestmark = pytest.mark.unit

MEMORY = {"banks": 2, "requesters": 3, "words": 4, "word_bytes": 2}
SCRIPT = board_script(MEMORY, transaction_bytes=7, transactions=5)


def harness():
    return BankedMemoryHarness(**MEMORY, bins=16)


def simulate(dut, process, beside=None):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    if beside:
        simulator.add_testbench(beside, background=True)
    simulator.run()


async def character(ctx, tx, divisor):
    """The other side of the line: waits for a start bit, and samples in the middle of each bit."""
    for _ in range(4000):
        if not ctx.get(tx):
            break
        await ctx.tick()
    else:
        raise AssertionError("nothing was sent for 4,000 cycles")
    if divisor > 1:
        await ctx.tick().repeat(divisor // 2)
    assert not ctx.get(tx)
    value = 0
    for bit in range(8):
        await ctx.tick().repeat(divisor)
        value |= ctx.get(tx) << bit
    await ctx.tick().repeat(divisor)
    assert ctx.get(tx), "no stop bit"
    return chr(value)


@pytest.mark.parametrize("divisor", [1, 2, 7])
def test_bytes_arrive(divisor):
    dut, text = UartSender(divisor=divisor), "\x00\xffU3\n"

    async def listen(ctx):
        for sent in text:
            ctx.set(dut.sink.payload, ord(sent))
            ctx.set(dut.sink.valid, 1)
            assert await character(ctx, dut.tx, divisor) == sent

    simulate(dut, listen)


def sent_by(top):
    """All lines of a round, and what the harness' ports showed of each measurement meanwhile."""
    lines, seen = [""], []

    async def listen(ctx):
        while not (len(lines) > 1 and lines[-2].startswith("E")):
            got = await character(ctx, top.tx, top.divisor)
            lines[-1] += got
            if got == "\n":
                lines.append("")

    async def watch(ctx):
        inner, before = top.harness, 0
        while True:
            if ctx.get(inner.start):
                seen.append(({}, {}))
            elif seen and ctx.get(inner.done):
                outputs, bins = seen[-1]
                outputs |= {name: ctx.get(getattr(inner, name)) for name in results(inner)}
                if count := ctx.get(inner.histogram_count):
                    bins[before] = count
            before = ctx.get(inner.histogram_address)
            await ctx.tick()

    simulate(top, listen, watch)
    return "".join(lines), seen


def by_ports():
    """What the same harness measures when its ports are driven and read."""
    dut, found = harness(), []

    async def drive(ctx):
        for settings in SCRIPT:
            for name in ("fill", "rivals", "threshold", "length", "transactions", "limit"):
                ctx.set(getattr(dut, name), settings.get(name, 0))
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            await ctx.tick()
            while not ctx.get(dut.done):
                await ctx.tick()
            outputs = {name: ctx.get(getattr(dut, name)) for name in results(dut)}
            bins = {}
            for latency in range(16):
                ctx.set(dut.histogram_address, latency)
                await ctx.tick().repeat(2)
                if count := ctx.get(dut.histogram_count):
                    bins[latency] = count
            found.append((outputs, bins))

    simulate(dut, drive)
    return found


@pytest.fixture(scope="module")
def round_of_a_board():
    return sent_by(BoardTop(harness=harness(), script=SCRIPT, divisor=2))


@pytest.fixture
def text(round_of_a_board):
    return round_of_a_board[0]


def test_what_is_received_is_what_was_measured(round_of_a_board):
    """Also what the same harness measures without a board around it, as far as that does not
    depend on the cycle in which a measurement begins: where the arbiter was left, and draws."""
    text, seen = round_of_a_board
    measured = received(text, harness(), SCRIPT)
    assert [(one.outputs, one.bins) for one in measured] == seen
    assert [one.settings for one in measured] == SCRIPT
    for one, (outputs, bins), settings in zip(measured, by_ports(), SCRIPT, strict=True):
        assert [one.outputs[name] for name in ("count", "failed")] == [outputs["count"], 0]
        assert sum(bins.values()) == sum(one.bins.values()) == settings.get("transactions", 0)
        if settings.get("threshold") == 256:
            assert one.outputs["maximum"] == outputs["maximum"] == settings["limit"]
        assert one.verdict == ("" if "limit" not in settings else
                               "exact" if one.outputs["maximum"] == settings["limit"] else "held")


def test_a_bound_that_is_exceeded_is_told():
    script = [{**settings, **({"limit": settings["limit"] - 1} if "limit" in settings else {})}
              for settings in SCRIPT]
    text, _ = sent_by(BoardTop(harness=harness(), script=script, divisor=1))
    told = received(text, harness(), script)
    assert [one.verdict for one in told if one.settings.get("threshold") == 256] == ["violated"] * 3


@pytest.mark.parametrize(("change", "says"), [
    (lambda text: text.replace("O", "o", 1), r"^line 2: 'o[0-9A-F]+' is no line of a board's$"),
    (lambda text: text.replace("S0001", "S0002", 1), r": measurement 2 begins, 1 is due$"),
    (lambda text: text.rpartition("H")[0] + "E0007\n", r"histogram holds \d of 5 that were cou"),
    (lambda text: text[:-6], r"^it ends before the script is through: 7 of 7 measurements$"),
    (lambda text: "", r"^it holds no beginning of a script"),
    (lambda text: text.replace("E0007", "E0006"), r"^line \d+: a script of 6 measurements, not 7$"),
    (lambda text: text.replace("\nO", "\nO0", 1), r"^line 2: .* has \d+ digits, not \d+$"),
])
def test_text_that_is_not_a_boards(text, change, says):
    with pytest.raises(UserError, match=says):
        received(change(text), harness(), SCRIPT)


def test_reading_begins_anywhere(text):
    """A terminal that is opened late sees the end of a round first."""
    assert received("17F\nH12\nE0007\n" + text, harness(), SCRIPT) == received(
        text, harness(), SCRIPT)


@pytest.mark.parametrize(("script", "says"), [
    ([], r"^Script must have at least one measurement$"),
    ([{"lenght": 1}], r"^Measurement 0 sets 'lenght', which is no input$"),
    ([{"length": 1}, {"length": 65536}], r"^Measurement 1: length has 16 bits, too few for 65536$"),
    ([{"start": 1}], r"^Measurement 0 sets 'start', which is no input$"),
])
def test_scripts_that_are_none(script, says):
    with pytest.raises(ValueError, match=says):
        BoardTop(harness=harness(), script=script, divisor=1)


def test_a_component_that_is_no_harness():
    with pytest.raises(ValueError, match=r"^A harness on a board must have the port 'start'$"):
        BoardTop(harness=UartSender(divisor=1), script=[{}], divisor=1)
