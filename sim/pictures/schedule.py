"""A picture of one DRAM request: what every bank does, and what the data bus carries."""

from matplotlib.figure import Figure

from cyclebound.golden.dram.command_arbiter import Schedule
from cyclebound.golden.dram.rules import CAS, READS, WRITES, Command
from cyclebound.golden.dram.timing import Part

__all__ = ["figure"]

_COLOURS = {Command.ACT: "#4477aa", Command.PRE: "#888888", Command.RD: "#228833",
            Command.RDA: "#228833", Command.WR: "#cc6677", Command.WRA: "#cc6677"}


def figure(part: Part, planned: Schedule) -> Figure:
    """A row for each bank that is used, and one for the data bus."""
    banks = sorted({command.bank for command in planned.commands})
    rows = {bank: number + 1 for number, bank in enumerate(reversed(banks))}
    chart = Figure(figsize=(max(8, planned.issue_delay / 12), 1.4 + 0.5 * len(banks)),
                   layout="constrained")
    axes = chart.subplots()
    opened: dict[int, int] = {}
    for command in planned.commands:
        y, op = rows[command.bank], command.op
        if op is Command.ACT:
            opened[command.bank] = command.cycle
        if op in (Command.PRE, Command.RDA, Command.WRA):
            start = opened.pop(command.bank)
            axes.barh(y, command.cycle - start, left=start, height=0.3, color="#dddddd")
        axes.plot(command.cycle, y, "|", color=_COLOURS[op], markersize=16, markeredgewidth=2)
        axes.annotate(op.name, (command.cycle, y), (1, 7), textcoords="offset points", fontsize=6)
        if op in CAS:
            begin = command.cycle + (part.nCAS if op in READS else part.nCWD)
            axes.barh(0, part.nBURST, left=begin, height=0.6, edgecolor="white",
                      color=_COLOURS[op], hatch="//" if op in WRITES else None)
    axes.axvline(planned.issue_delay, color="black", linestyle="--", linewidth=1)
    axes.annotate(f"issue delay {planned.issue_delay}", (planned.issue_delay, len(banks) + 0.55),
                  (-3, 0), textcoords="offset points", ha="right", fontsize=8)
    axes.set_yticks([0, *rows.values()],
                    ["data", *(f"bank {bank} (group {part.bank_group(bank)})" for bank in rows)])
    axes.set_ylim(-0.6, len(banks) + 0.9)
    axes.set_xlim(-2, planned.issue_delay + 4)
    axes.set_xlabel("DRAM clocks from the first command")
    axes.set_title(part.name, loc="left", fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return chart
