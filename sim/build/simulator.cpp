// The program of a simulator: Verilator's model of module `top`, with cocotb on its VPI.
//
// The design's clock is this program's. Python says once how long half a period is
// (`design_clock`, see tb/bench.py); an edge is an assignment then, and not a callback, a value
// put through VPI and two evaluations. While nothing waits for an edge, clocks follow each other
// without any call of VPI, and a falling edge, on which no register depends, without an evaluation.
//
// Python may also hand over the inputs of many clocks at once (`design_play`), and finds the outputs
// of each when they are over.
//
// The order in a time step is what cocotb's testbenches rely on: a coroutine that waits for an edge
// runs before the registers move, and what it writes counts from after that edge on.

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "Vtop.h"
#include "Vtop___024root.h"
#include "clock.h"  // if edges can be set in the model itself: CLOCK, and CLOCK_BEFORE, what it was
#include "verilated.h"
#include "verilated_vpi.h"

// Ends the program at once, without waiting for Python or other threads, if something that it has
// observed cannot be written. The status is known to tb/reads.py.
[[noreturn]] static void end_unwritten() { _exit(74); }

#if VM_TRACE
#if VM_TRACE_FST
#include <verilated_fst_c.h>
using Trace = VerilatedFstC;
static Trace* new_trace() { return new Trace; }
#else
#include <verilated_vcd_c.h>
using Trace = VerilatedVcdC;
// Verilator's own takes an error for fatal while it holds a lock, and then waits for that lock.
class TraceFile final : public VerilatedVcdFile {
    ssize_t write(const char* text, ssize_t count) override {
        ssize_t got = VerilatedVcdFile::write(text, count);
        if (got < 0 && errno != EAGAIN && errno != EINTR) end_unwritten();
        return got;
    }
};
static Trace* new_trace() { return new Trace(new TraceFile); }
#endif
#endif

static const uint64_t NEVER = ~0ULL;

static uint64_t now = 0;        // in time steps
static uint64_t half = 0;       // a period, in time steps; 0: there is no clock
static uint64_t edge = NEVER;   // when the clock's next edge is
static bool rises = false;      // the clock has been started, and is still to rise
static Vtop* top = nullptr;     // never deleted: an assertion ends the program from inside of it
#if VM_TRACE
static Trace* trace = nullptr;
#endif

// Read by the model, if `CLOCK` is known: work out again what depends on inputs.
bool inputs_move = true;

double sc_time_stamp() { return now; }

extern "C" void vlog_startup_routines_bootstrap(void);

// Start the clock, or start it anew: it rises now, with what Python has put, if it is not high.
extern "C" void design_clock(uint64_t half_a_period) {
    half = half_a_period;
    edge = now + half;
    rises = !top->clk;
}

// The ports `inputs` and `outputs`, of designs that have them.
template <class Model>
static auto inputs_of(Model& model) {
    if constexpr (requires { model.inputs; })
        return std::as_writable_bytes(std::span(&model.inputs, 1));
    else
        return std::span<std::byte>();
}
template <class Model>
static auto outputs_of(Model& model) {
    if constexpr (requires { model.outputs; })
        return std::as_bytes(std::span(&model.outputs, 1));
    else
        return std::span<const std::byte>();
}

// A play: how many clocks of it have begun and ended, and their inputs and outputs.
static struct {
    const std::byte* words = nullptr;
    std::byte* seen = nullptr;
    uint64_t count = 0, begun = 0, ended = 0;
} play;

// Bytes of the inputs, and of the outputs, of a clock of a play.
extern "C" uint64_t design_input_bytes() { return inputs_of(*top).size(); }
extern "C" uint64_t design_output_bytes() { return outputs_of(*top).size(); }

// From the clock on that begins now: `count` clocks, whose inputs lie in a row, as their outputs
// will. Both have to stay where they are until then.
extern "C" void design_play(const std::byte* words, std::byte* seen, uint64_t count) {
    play = {words, seen, count};
}

// The next clock of a play begins, if there is one.
static bool play_inputs() {
    if (play.begun == play.count || play.begun > play.ended) return false;
    auto inputs = inputs_of(*top);
    memcpy(inputs.data(), play.words + inputs.size() * play.begun++, inputs.size());
    return true;
}

// The clock ends, before the registers move.
static void play_outputs() {
    if (play.begun == play.ended) return;
    auto outputs = outputs_of(*top);
    memcpy(play.seen + outputs.size() * play.ended++, outputs.data(), outputs.size());
}

static void check_written() {
    if (ferror_unlocked(stderr) || ferror_unlocked(stdout)) end_unwritten();
}

// Once: when the simulation is over, or stops because of an error.
static void end(void*) {
    static bool ended = false;
    if (ended) return;
    ended = true;
    VerilatedVpi::callCbs(cbEndOfSimulation);
#if VM_TRACE
    if (trace) trace->close();
#endif
}

static void call_value_callbacks() {
    while (VerilatedVpi::callValueCbs()) {
    }
}

// Puts and what they change, for coroutines that wait for that; whether the design has to move.
static bool put_values() {
    VerilatedVpi::doInertialPuts();
    bool moves = play_inputs() || rises;
    if (rises) {
        top->clk = 1;
        rises = false;
    }
    call_value_callbacks();
    return moves || VerilatedVpi::evalNeeded();
}

// The design moves, and coroutines that waited for what changes run, until nothing moves any more.
static void settle() {
    if (edge == now) {
        top->clk = !top->clk;
        edge += half;
        if (top->clk) play_outputs();
        call_value_callbacks();
    }
    do {
        do {
            top->eval_step();
            VerilatedVpi::clearEvalNeeded();
        } while (put_values());
        VerilatedVpi::callCbs(cbReadWriteSynch);
    } while (put_values());
    top->eval_end_step();
    VerilatedVpi::callCbs(cbReadOnlySynch);
}

static bool somebody_waits() {
    return VerilatedVpi::hasCbs(cbValueChange) || VerilatedVpi::hasCbs(cbNextSimTime)
           || VerilatedVpi::hasCbs(cbReadWriteSynch) || VerilatedVpi::hasCbs(cbReadOnlySynch);
}

// One of the edges that nothing waits for. Inputs stay but for the clock, which is set where registers
// look at it, and for those of a play.
static void pass_edge() {
    top->clk = !top->clk;
#ifdef CLOCK
    top->rootp->CLOCK = top->clk;
    if (!top->clk) {
        top->rootp->CLOCK_BEFORE = 0;
        return;
    }
    inputs_move = false;
#endif
    if (top->clk) play_outputs();
    top->eval();
    inputs_move = true;
    if (top->clk && play_inputs()) top->eval();
}

// Edges before the time of the next callback, while nothing waits for one of them.
static void run_until(uint64_t deadline) {
    while (edge < deadline && !Verilated::gotFinish()) {
        now = edge;
        edge += half;
        pass_edge();
        check_written();
    }
}

int main(int argc, char** argv) {
    const char* waveform = nullptr;
    for (int number = 1; number < argc; number++) {
        if (!strcmp(argv[number], "--trace")) {
            continue;
        } else if (!strcmp(argv[number], "--trace-file") && number + 1 < argc) {
            waveform = argv[++number];
        } else if (argv[number][0] != '+') {
            fprintf(stderr, "usage: %s [--trace --trace-file FILE] [+PLUSARG ...]\n",
                    basename(argv[0]));
            return 2;
        }
    }
#if !VM_TRACE
    if (waveform) {
        fprintf(stderr, "%s: built without waveforms\n", basename(argv[0]));
        return 2;
    }
#endif
    Verilated::commandArgs(argc, argv);
    top = new Vtop("");
    Verilated::fatalOnVpiError(false);  // cocotb asks for names that there are not
#if VM_TRACE
    if (waveform) {
        Verilated::traceEverOn(true);
        trace = new_trace();
        top->trace(trace, 99);
        trace->open(waveform);
    }
#endif
    vlog_startup_routines_bootstrap();
    Verilated::addExitCb(end, nullptr);
    VerilatedVpi::callCbs(cbStartOfSimulation);
    call_value_callbacks();

    while (!Verilated::gotFinish()) {
        settle();
        check_written();
#if VM_TRACE
        if (trace) trace->dump(now);
#endif
        uint64_t deadline = VerilatedVpi::cbNextDeadline();
        if (!waveform && !somebody_waits()) run_until(deadline);
        now = std::min(deadline, edge);
        if (now == NEVER) break;
        VerilatedVpi::callCbs(cbNextSimTime);
        call_value_callbacks();
        VerilatedVpi::callTimedCbs();
        call_value_callbacks();
    }

    top->final();
    end(nullptr);
    fflush(stdout);
    check_written();
    return Verilated::threadContextp()->errorCount() > 0;
}
