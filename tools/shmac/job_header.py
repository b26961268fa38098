"""Writes c/jobs.h, the registers of jobs for programs in C, from the table of these:
``python -m cyclebound.tools.shmac.job_header > tools/shmac/c/jobs.h``; a test keeps it current."""

from collections.abc import Iterator

from cyclebound.golden.shmac.address_map import tile_base
from cyclebound.golden.system.job_table import JOB_TILES, JobRegister, KernelOperand, job_table

__all__ = ["job_header"]

_FUNCTIONS = """
#define JOB_REGISTER(tile, offset) SHMAC_WORD((tile) + (offset))

/* Words of a configuration, or of commands; at least one. */
static inline void job_words(unsigned tile, const unsigned *words, unsigned count)
{
    do
        JOB_REGISTER(tile, JOB_WORD) = *words++;
    while (--count);
}

/* Operands from number 0 on. */
static inline void job_operands(unsigned tile, const unsigned *words, unsigned count)
{
    for (unsigned number = 0; number < count; number++)
        JOB_REGISTER(tile, JOB_OPERAND + 4 * number) = words[number];
}

static inline void job_start(unsigned tile)
{
    JOB_REGISTER(tile, JOB_CONTROL) = JOB_CONTROL_START;
}

/* Until the job is over, or has failed, after which it may never be over: JOB_STATUS_FAULT,
 * JOB_STATUS_REFUSED (which is forgotten then), or 0. */
static inline unsigned job_wait(unsigned tile)
{
    unsigned status;
    do
        status = JOB_REGISTER(tile, JOB_STATUS);
    while (!(status & (JOB_STATUS_IDLE | JOB_STATUS_FAULT)));
    JOB_REGISTER(tile, JOB_STATUS) = JOB_STATUS_REFUSED;
    return status & (JOB_STATUS_FAULT | JOB_STATUS_REFUSED);
}
"""


def job_header() -> Iterator[str]:
    """The header's lines."""
    yield "/* Registers by which a core starts jobs of tiles: docs/system.md."
    yield " * Made by python -m cyclebound.tools.shmac.job_header. */"
    yield from ("#ifndef JOBS_H", "#define JOBS_H", "", "#include <shmac.h>", "")
    for kind, tile in JOB_TILES.items():
        yield f"#define JOBS_{kind.upper()} {tile_base(*tile.place):#010x}u"
    yield ""
    for register in JobRegister:
        yield f"#define JOB_{register.name} {register.value:#04x}u"
    for row in job_table(operands=0).rows:
        for one in row.fields:
            if one.width == 1:
                yield f"#define JOB_{row.name}_{one.name} {1 << one.low:#x}u"
    yield ""
    for operand in KernelOperand:
        yield f"#define JOB_KERNEL_{operand.name} {operand.value}u"
    yield from _FUNCTIONS.splitlines()
    yield from ("", "#endif")


if __name__ == "__main__":
    print(*job_header(), sep="\n")
