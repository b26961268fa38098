/* Registers by which a core starts jobs of tiles: docs/system.md.
 * Made by python -m cyclebound.tools.shmac.job_header. */
#ifndef JOBS_H
#define JOBS_H

#include <shmac.h>

#define JOBS_DATAFLOW 0x01000000u
#define JOBS_SYSTOLIC 0x10000000u
#define JOBS_SIMD 0x11000000u

#define JOB_CONTROL 0x00u
#define JOB_STATUS 0x04u
#define JOB_CYCLES 0x08u
#define JOB_WORD 0x0cu
#define JOB_OPERAND 0x10u
#define JOB_CONTROL_START 0x1u
#define JOB_STATUS_IDLE 0x1u
#define JOB_STATUS_FAULT 0x2u
#define JOB_STATUS_REFUSED 0x4u

#define JOB_KERNEL_PROGRAM 0u
#define JOB_KERNEL_INSTRUCTIONS 1u
#define JOB_KERNEL_GRID_X 2u
#define JOB_KERNEL_GRID_Y 3u
#define JOB_KERNEL_WIDTH 4u
#define JOB_KERNEL_POLICY 5u

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

#endif
