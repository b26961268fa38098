// Visits every state that a circuit can reach, under every choice of its inputs in every clock, and
// finds the longest time that a followed request takes in any of these runs.
//
// Reads numbers (see sim/proof/explore.py): of inputs, registers, gates; the most states to visit; the
// registers' first values; the gates' literals; the registers' next literals; and the literals of
//   broken   a register differs from what it was taken for (sim/netlist/aiger.py)
//   wrong    the environment has done what it must not, or the probe has lost count
//   illegal  the environment does not make this choice
//   waiting  the followed request is under way in this clock
//   closes   it ends in this clock
//   ticks    this clock counts
//
// Many choices are worked out side by side, one a bit of a machine word. A followed request's states
// are kept as a graph; the longest path in it is the answer, and a cycle that counts means that a
// request may wait for ever.
//
// Prints one line, and then the inputs of each clock of the run that it speaks of:
//   done STATES TRANSITIONS WORST | endless STATES TRANSITIONS 0 | broken .. | wrong .. | full ..

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using Word = uint64_t;
using State = uint32_t;

constexpr uint32_t WORDS = 8, LANES = 64 * WORDS;  // choices that are worked out at once
constexpr State ENDED = ~0u >> 1;                  // where a followed request leads when it ends

struct Lanes {
    Word word[WORDS];
};

static uint32_t inputs, registers, gates, words, most;
static uint64_t choices;
static std::vector<uint32_t> one, other, following;
enum { BROKEN, WRONG, ILLEGAL, WAITING, CLOSES, TICKS, OUTPUTS };
static uint32_t outputs[OUTPUTS];
static std::vector<Lanes> node;

static std::vector<Word> states;      // `words` of each
static State known = 0;               // how many
static std::vector<State> table;      // their numbers, by hash
static std::vector<State> came_from;  // by state, the one from which it was found

static uint32_t number() {
    unsigned value;
    if (scanf("%u", &value) != 1) {
        fprintf(stderr, "the circuit ends too early\n");
        exit(3);
    }
    return value;
}

static Lanes of(uint32_t literal) {
    Lanes value = node[literal >> 1];
    if (literal & 1)
        for (auto& word : value.word) word = ~word;
    return value;
}

static bool bit(const Lanes& value, uint32_t lane) { return value.word[lane / 64] >> lane % 64 & 1; }

static void evaluate() {
    for (uint32_t gate = 0; gate < gates; gate++) {
        Word left = -(Word)(one[gate] & 1), right = -(Word)(other[gate] & 1);
        const Lanes &a = node[one[gate] >> 1], &b = node[other[gate] >> 1];
        Lanes& out = node[1 + inputs + registers + gate];
        for (uint32_t w = 0; w < WORDS; w++)
            out.word[w] = (a.word[w] ^ left) & (b.word[w] ^ right);
    }
}

static void transpose(Word block[64]) {
    Word mask = 0xffffffff;
    for (int far = 32; far; far >>= 1, mask ^= mask << far)
        for (int row = 0; row < 64; row = ((row | far) + 1) & ~far) {
            Word swap = ((block[row] >> far) ^ block[row | far]) & mask;
            block[row] ^= swap << far;
            block[row | far] ^= swap;
        }
}

static uint64_t hash(const Word* state) {
    uint64_t value = 0x9e3779b97f4a7c15;
    for (uint32_t w = 0; w < words; w++) {
        value = (value ^ state[w]) * 0xd6e8feb86659fd93;
        value ^= value >> 32;
    }
    return value;
}

static uint64_t place(const Word* state) {
    uint64_t mask = table.size() - 1, at = hash(state) & mask;
    while (table[at] != ENDED && memcmp(&states[(uint64_t)table[at] * words], state, 8 * words))
        at = (at + 1) & mask;
    return at;
}

// The number of a state, which is a new one if it has none; ENDED if there are too many.
static State find(const Word* state, State from) {
    uint64_t at = place(state);
    if (table[at] != ENDED) return table[at];
    if (known == most) return ENDED;
    states.insert(states.end(), state, state + words);
    came_from.push_back(from);
    table[at] = known++;
    if (2ull * known > table.size()) {
        table.assign(2 * table.size(), ENDED);
        for (State old = 0; old < known; old++) table[place(&states[(uint64_t)old * words])] = old;
    }
    return known - 1;
}

// Put states, each with as many choices as there are or fit, at the circuit's inputs.
static void put(State first, uint32_t count, uint64_t from_choice, uint32_t each) {
    for (uint32_t i = 0; i < inputs; i++) {
        Lanes& value = node[1 + i];
        memset(&value, 0, sizeof value);
        for (uint32_t lane = 0; lane < LANES; lane++)
            value.word[lane / 64] |= ((from_choice + lane % each) >> i & 1) << lane % 64;
    }
    for (uint32_t r = 0; r < registers; r++) {
        Lanes& value = node[1 + inputs + r];
        memset(&value, 0, sizeof value);
        for (uint32_t s = 0; s < count; s++) {
            if (!(states[(uint64_t)(first + s) * words + r / 64] >> r % 64 & 1)) continue;
            if (each < 64)
                value.word[s * each / 64] |= ((1ull << each) - 1) << s * each % 64;
            else
                memset(&value.word[s * each / 64], 0xff, each / 8);
        }
    }
}

// The next states of 64 lanes, one after the other.
static void next_of(const std::vector<Lanes>& next, uint32_t w, std::vector<Word>& out) {
    for (uint32_t k = 0; k < words; k++) {
        Word block[64];
        for (uint32_t b = 0; b < 64; b++)
            block[b] = 64 * k + b < registers ? next[64 * k + b].word[w] : 0;
        transpose(block);
        for (uint32_t b = 0; b < 64; b++) out[b * words + k] = block[b];
    }
}

// An inputs' choice that leads from one state to another (ENDED: in which the request ends); with
// `follows`, one in which it is under way, and which counts if `counts` is set.
static uint64_t choice_between(State from, State to, bool follows, bool counts) {
    std::vector<Lanes> next(registers);
    std::vector<Word> after(64 * (uint64_t)words);
    uint32_t each = std::min<uint64_t>(choices, LANES);
    for (uint64_t base = 0; base < choices; base += each) {
        put(from, 1, base, each);
        evaluate();
        for (uint32_t r = 0; r < registers; r++) next[r] = of(following[r]);
        for (uint32_t lane = 0; lane < each; lane++) {
            if (lane % 64 == 0) next_of(next, lane / 64, after);
            bool ends = bit(of(outputs[CLOSES]), lane);
            if (bit(of(outputs[ILLEGAL]), lane)) continue;
            if (follows && !bit(of(outputs[WAITING]), lane)) continue;
            if (follows && bit(of(outputs[TICKS]), lane) != counts) continue;
            if (ends != (to == ENDED)) continue;
            if (ends || !memcmp(&states[(uint64_t)to * words], &after[lane % 64 * words], 8 * words))
                return base + lane;
        }
    }
    fprintf(stderr, "no choice leads from state %u to %u\n", from, to);
    exit(3);
}

static std::vector<uint64_t> way_to(State state) {
    std::vector<uint64_t> way;
    for (; came_from[state] != ENDED; state = came_from[state])
        way.push_back(choice_between(came_from[state], state, false, false));
    std::reverse(way.begin(), way.end());
    return way;
}

static int say(const char* what, uint64_t transitions, uint64_t worst, const std::vector<uint64_t>& way) {
    printf("%s %u %llu %llu\n", what, known, (unsigned long long)transitions, (unsigned long long)worst);
    for (uint64_t choice : way) printf("%llu\n", (unsigned long long)choice);
    return 0;
}

int main() {
    inputs = number(), registers = number(), gates = number(), most = number();
    words = std::max(1u, (registers + 63) / 64);
    choices = 1ull << inputs;
    std::vector<Word> first(words);
    for (uint32_t r = 0; r < registers; r++) first[r / 64] |= (Word)number() << r % 64;
    one.resize(gates), other.resize(gates), following.resize(registers);
    for (uint32_t gate = 0; gate < gates; gate++) one[gate] = number(), other[gate] = number();
    for (auto& literal : following) literal = number();
    for (auto& literal : outputs) literal = number();
    node.resize(1 + inputs + registers + gates);
    table.assign(1 << 16, ENDED);
    find(first.data(), ENDED);

    // by state, where its edges begin: in which followed states one of its choices ends, and
    // whether that clock counts
    std::vector<uint64_t> edges_of{0};
    std::vector<uint32_t> edges, mine;
    uint64_t transitions = 0;
    uint32_t each = std::min<uint64_t>(choices, LANES), together = LANES / each;
    std::vector<Lanes> next(registers);
    std::vector<Word> after(64 * (uint64_t)words);
    for (State base = 0, count; base < known; base += count) {
        count = std::min<uint32_t>(together, known - base);
        for (uint64_t from_choice = 0; from_choice < choices; from_choice += each) {
            put(base, count, from_choice, each);
            evaluate();
            Lanes out[OUTPUTS];
            for (int o = 0; o < OUTPUTS; o++) out[o] = of(outputs[o]);
            for (uint32_t r = 0; r < registers; r++) next[r] = of(following[r]);
            for (uint32_t lane = 0; lane < count * each; lane++) {
                if (lane % 64 == 0) next_of(next, lane / 64, after);
                State from = base + lane / each;
                if (!bit(out[ILLEGAL], lane)) {
                    transitions++;
                    for (int wrong : {BROKEN, WRONG})
                        if (bit(out[wrong], lane)) {
                            auto way = way_to(from);
                            way.push_back(from_choice + lane % each);
                            return say(wrong == BROKEN ? "broken" : "wrong", transitions, 0, way);
                        }
                    State to = ENDED;
                    if (!bit(out[CLOSES], lane)) {
                        to = find(&after[lane % 64 * words], from);
                        if (to == ENDED) return say("full", transitions, 0, {});
                    }
                    if (bit(out[WAITING], lane)) mine.push_back(to << 1 | bit(out[TICKS], lane));
                }
                if (lane % each == each - 1 && from_choice + each == choices) {
                    std::sort(mine.begin(), mine.end());
                    edges.insert(edges.end(), mine.begin(), std::unique(mine.begin(), mine.end()));
                    edges_of.push_back(edges.size());
                    mine.clear();
                }
            }
        }
    }

    // The longest path: strongly connected components in reverse order (Tarjan). All states of one
    // have the same rest to go, if none of its own edges counts.
    constexpr uint32_t NEW = ~0u;
    std::vector<uint32_t> longest(known, 0), order(known, NEW), low(known, 0);
    std::vector<uint8_t> open(known, 0);
    std::vector<std::pair<State, uint64_t>> calls;
    std::vector<State> stack;
    uint32_t counter = 0;
    for (State root = 0; root < known; root++) {
        if (order[root] != NEW) continue;
        calls.push_back({root, edges_of[root]});
        order[root] = low[root] = counter++, open[root] = 1, stack.push_back(root);
        while (!calls.empty()) {
            auto& [state, edge] = calls.back();
            if (edge < edges_of[state + 1]) {
                State to = edges[edge++] >> 1;
                if (to == ENDED) continue;
                if (order[to] == NEW) {
                    calls.push_back({to, edges_of[to]});
                    order[to] = low[to] = counter++, open[to] = 1, stack.push_back(to);
                } else if (open[to])
                    low[state] = std::min(low[state], order[to]);
                continue;
            }
            State done = state;
            calls.pop_back();
            if (!calls.empty()) low[calls.back().first] = std::min(low[calls.back().first], low[done]);
            if (low[done] != order[done]) continue;
            auto top = std::find(stack.rbegin(), stack.rend(), done).base() - 1;
            uint32_t rest = 0;
            for (auto at = top; at != stack.end(); ++at)
                for (uint64_t e = edges_of[*at]; e < edges_of[*at + 1]; e++) {
                    State to = edges[e] >> 1;
                    bool own = to != ENDED && open[to] && order[to] >= order[done];
                    if (own && edges[e] & 1) return say("endless", transitions, 0, way_to(*at));
                    if (!own)
                        rest = std::max(rest, (edges[e] & 1) + (to == ENDED ? 0 : longest[to]));
                }
            for (auto at = top; at != stack.end(); ++at) longest[*at] = rest, open[*at] = 0;
            stack.erase(top, stack.end());
        }
    }

    State at = std::max_element(longest.begin(), longest.end()) - longest.begin();
    uint32_t worst = longest[at];
    std::vector<uint64_t> way = way_to(at);
    std::vector<uint8_t> seen(known, 0);
    while (at != ENDED && worst) {  // along edges that keep what is left; each state once
        seen[at] = 1;
        bool found = false;
        for (uint64_t e = edges_of[at]; !found && e < edges_of[at + 1]; e++) {
            State to = edges[e] >> 1;
            uint32_t left = (edges[e] & 1) + (to == ENDED ? 0 : longest[to]);
            if (left != longest[at] || (to != ENDED && seen[to])) continue;
            way.push_back(choice_between(at, to, true, edges[e] & 1));
            at = to, found = true;
        }
        if (!found) break;
    }
    return say("done", transitions, worst, way);
}
