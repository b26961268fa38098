"""Jobs of a user on tiles that share a DRAM: when each began and ended, and what is in DRAM then.

The job's folder has ``system.json`` and ``content.npz`` (`sim.families.system.run` writes them):
the jobs, in the order in which a tile runs its own; content by its first byte. ``ran.json`` and
``after.npz`` are written there. A host that looks at the tiles every 64 clocks starts each job when
all that it comes after have ended.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cyclebound.golden.dram.request import WORD_BYTES
from cyclebound.golden.simd.isa import decode
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.program import Buffer, Program
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator_tester import Ran
from cyclebound.tb.system.tiled import TiledTester

_LOOK = 64  # clocks


def _buffers(listed: dict[str, list[int]]) -> dict[int, Buffer]:
    return {int(number): Buffer(int(number), address, x, y)
            for number, (address, x, y) in listed.items()}


@dataclass
class _Running:
    """A job that has been started, in which clock, and what a kernel has done."""

    job: dict[str, Any]
    asked: int
    ran: Ran = field(default_factory=Ran)


class _Host(TiledTester):
    """Starts jobs, and sees them end."""

    async def begin(self, job: dict[str, Any]) -> _Running:
        """Start a job on its tile, which is idle."""
        if job["tile"] == "systolic":
            await self.map_array(job["words"], job["address"])
            running = _Running(job, self.now)
            taken = await self.play(self.commands(job["commands"]))
            assert all(map(self.bench.outputs["systolic_command.ready"].of, taken)), "no room"
            return running
        if job["tile"] == "dataflow":
            await self.map_core(job["words"], job["address"])
            running = _Running(job, self.now)
            await self.play(self.core_words(job["configuration"]))
            return running
        program = Program(job["name"], tuple(map(decode, job["words"])),
                          buffers=_buffers(job["buffers"]),
                          scratchpad_buffers=_buffers(job["scratchpad_buffers"]))
        await self.map(program)
        x, y, width = job["grid"]
        running = _Running(job, self.now)
        await self.cycle(self.started(program, Grid(x, y, self.machine, width), job["address"]))
        return running

    async def look(self, running: dict[str, _Running]) -> list[dict[str, Any]]:
        """A look at the tiles, some clocks later; the jobs that have ended."""
        outputs, seen, over = self.bench.outputs, await self.wait(_LOOK), []
        if kernel := running.get("simd"):
            seen = await self._records(kernel.ran, seen)
            if outputs["idle"].of(seen):
                self.ended(kernel.ran, seen)
                cycles = -(-kernel.ran.cycles * self.machine.compute_ps // self.part.tck_ps)
                over.append(self._over(running.pop("simd"),
                                       outputs["began"].of(seen) - kernel.asked + cycles,
                                       cycles=kernel.ran.cycles, fault=kernel.ran.fault))
        for tile in running.keys() & {"systolic", "dataflow"}:
            fault = outputs[f"{tile}_fault"].of(seen)
            if outputs[f"{tile}_idle"].of(seen) or fault:
                what = {"refusal": fault} if fault else None
                if tile == "dataflow" and outputs["dataflow_outside"].of(seen):
                    what = {"outside": 1}
                over.append(self._over(running.pop(tile), outputs[f"{tile}_cycles"].of(seen),
                                       fault=what))
        return over

    def _over(self, running: _Running, clocks: int, **more: object) -> dict[str, Any]:
        return {"name": running.job["name"], "asked": running.asked, "clocks": clocks,
                "seen": self.now, **more}


@testbench
async def jobs(bench: Bench) -> None:
    folder = Path(json.loads(Path(os.environ["CYCLEBOUND_JOB"]).read_text())["folder"])
    work = json.loads((folder / "system.json").read_text())
    progress = folder / "progress.json"
    tester = _Host(bench)
    with np.load(folder / "content.npz") as kept:
        content = {int(address): kept[address] for address in kept.files}
    await bench.reset()
    tester.now = 0
    for address, held in content.items():
        tester.put(address, held.tobytes())
    await tester.send()
    begun = tester.now
    waiting, running, ended = list(work), dict[str, _Running](), list[dict[str, Any]]()
    while waiting or running:
        done = {one["name"] for one in ended}
        for tile in ("systolic", "simd", "dataflow"):
            job = next((job for job in waiting if job["tile"] == tile), None)
            if tile not in running and job and done.issuperset(job["after"]):
                waiting.remove(job)
                running[tile] = await tester.begin(job)
        assert running, f"no job can start: {', '.join(job['name'] for job in waiting)}"
        ended += await tester.look(running)
        if any(one["fault"] for one in ended):
            break
        progress.with_suffix(".new").write_text(json.dumps([len(ended), tester.now]))
        progress.with_suffix(".new").rename(progress)
    last = tester.now
    await tester.wait(tester.part.nCAS + 60)  # the last words reach DRAM
    await tester.fetch()
    after = {str(address): np.frombuffer(tester.get(address, held.size), np.uint8)
             for address, held in content.items()}
    np.savez(folder / "after.npz", **after)  # type: ignore[arg-type]  # numpy's own stub
    (folder / "ran.json").write_text(json.dumps({
        "begun": begun, "last": last, "words": sum(map(len, after.values())) // WORD_BYTES,
        "jobs": ended}))
