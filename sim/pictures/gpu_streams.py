"""Blocks of streams over time: a row for each SM, its height the threads that are in use."""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from cyclebound.golden.gpu.streams import Gpu, StreamsRun

__all__ = ["figure"]

_COLOURS = ("#4477aa", "#cc6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999933", "#882255")


def figure(gpu: Gpu, run: StreamsRun) -> Figure:
    """The dispatch of all blocks; triangles mark launches, bars below the copies."""
    end = max(ran.end for ran in run.operations)
    chart = Figure(figsize=(11, 1.2 + 1.5 * gpu.sms), layout="constrained")
    axes = chart.subplots()
    names = list(dict.fromkeys(ran.operation.name for ran in run.operations))
    colour = {name: _COLOURS[number % len(_COLOURS)] for number, name in enumerate(names)}
    threads = {ran.operation.name: ran.operation.threads for ran in run.operations}
    placed: list[tuple[int, int, int, int, int]] = []  # SM, start, end, bottom, top
    for block in run.blocks:
        # an end counts before a start at the same time
        taken = sorted((low, high) for sm, start, stop, low, high in placed
                       if sm == block.sm and start < block.end and stop > block.start)
        bottom = 0
        for low, high in taken:
            if low - bottom >= threads[block.operation]:
                break
            bottom = max(bottom, high)
        top = bottom + threads[block.operation]
        placed.append((block.sm, block.start, block.end, bottom, top))
        base = block.sm + 0.9 * bottom / gpu.threads
        height = 0.9 * threads[block.operation] / gpu.threads
        axes.add_patch(Rectangle((block.start, base), block.end - block.start, height,
                                 facecolor=colour[block.operation], edgecolor="white"))
        axes.text((block.start + block.end) / 2, base + height / 2,
                  f"{block.operation}:{block.number}", ha="center", va="center", fontsize=6)
    for ran in run.operations:
        if not ran.operation.blocks:
            axes.add_patch(Rectangle((ran.start, -0.35), ran.end - ran.start, 0.25,
                                     facecolor=colour[ran.operation.name], edgecolor="white"))
            axes.text((ran.start + ran.end) / 2, -0.22, ran.operation.name, ha="center",
                      va="center", fontsize=6)
        axes.plot([ran.launched], [-0.5], marker="^", color=colour[ran.operation.name],
                  markersize=5, clip_on=False)
    axes.set_xlim(0, max(1, end))
    axes.set_ylim(-0.55, gpu.sms)
    axes.set_yticks([-0.22, *(sm + 0.45 for sm in range(gpu.sms))],
                    ["copies", *(f"SM {sm}" for sm in range(gpu.sms))])
    axes.set_xlabel("time; triangles are launches")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return chart
