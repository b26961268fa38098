// A mesh of wormhole routers as golden/noc/wormhole_router.py has it, with neither data nor bad
// packets, and for each stream a search for the plan of all senders with which one of its packets
// takes longest. tightness.py plays each plan that is found on the model in Python.
//
// In:  delta, depth, cycles for which a receiver may stall a flit, cycles of a search, plans without
//      a slower packet after which it begins anew, seed
//      channels; by channel: 1 if it comes from an interface, number of its inputs, which these are
//      streams; by stream: tile, least and most flits, cycles for which its sender may pause within
//      a packet, channels on its path, which these are, and cycles of a run
// Out: by stream: cycles of its slowest packet, the cycle that delivered it, packets of the plan;
//      by packet: stream, flits, first cycle, for how long the sender pauses, before which flit, and
//      for how long the receiver stalls each flit

#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <vector>

using std::vector;

struct Flit { int packet; bool first, last; };

struct Planned { int begin, stream, flits, pause = 0, at = 0, stall = 0; };

using Plan = vector<vector<Planned>>;  // by sender

struct Stream { int sender, least, most, pauses, cycles; vector<int> path; };

struct Channel {
    bool into, out = true;     // from an interface; to one
    vector<int> inputs;        // the channels before it, in the order of the router's ports
    int sender = -1;
};

static int delta, depth, stalls;
static vector<Channel> channels;
static vector<Stream> streams;
static vector<vector<int>> onward;  // by stream, channel: the channel after it
static vector<vector<int>> sends;   // by sender: its streams

struct Fifo {
    vector<std::pair<int, Flit>> ring;
    int head, count, space, output;
    bool begins, waits;
};

struct Output { bool valid; Flit flit; int owner, served, stalled; };

static vector<Fifo> fifos;
static vector<Output> outputs;

static bool there(const Fifo &fifo, int now) {
    return fifo.count && fifo.ring[fifo.head].first + delta - 1 <= now;
}

static void route(const vector<Planned> &packets, int now) {
    for (size_t c = 0; c < fifos.size(); ++c) {
        auto &fifo = fifos[c];
        if (fifo.begins && there(fifo, now)) {
            fifo.begins = false;
            fifo.waits = true;
            fifo.output = onward[packets[fifo.ring[fifo.head].second.packet].stream][c];
        }
    }
}

struct Slowest { int cycles, delivered, played; };

// The slowest packet of this stream, from its header's acceptance to its last flit's delivery, of
// those that are delivered within so many cycles; -1 if there is none.
static Slowest play(const Plan &plan, int target, int cycles) {
    static vector<Planned> packets;
    static vector<int> taken, next, end, sent, offered, paused;
    size_t count = channels.size();
    packets.clear();
    next.assign(plan.size(), 0), end.assign(plan.size(), 0);
    sent.assign(plan.size(), 0), offered.assign(plan.size(), 0), paused.assign(plan.size(), 0);
    int left = 0, now = 0;
    Slowest slowest{-1, 0, 0};
    for (size_t s = 0; s < plan.size(); ++s) {
        next[s] = packets.size();
        packets.insert(packets.end(), plan[s].begin(), plan[s].end());
        end[s] = packets.size();
        for (auto &planned : plan[s]) left += planned.stream == target;
    }
    taken.assign(packets.size(), 0);
    fifos.resize(count), outputs.resize(count);
    for (size_t c = 0; c < count; ++c) {
        fifos[c].ring.resize(depth);
        fifos[c].head = fifos[c].count = 0, fifos[c].space = depth;
        fifos[c].begins = true, fifos[c].waits = false;
        outputs[c] = {false, {}, -1, (int)channels[c].inputs.size() - 1, 0};
    }
    static vector<Flit> arriving;
    static vector<char> arrives, ready, leaves;
    arriving.resize(count);
    for (; left && now < cycles; ++now) {
        arrives.assign(count, 0), ready.assign(count, 0), leaves.assign(count, 0);
        for (size_t c = 0; c < count; ++c) {
            auto &channel = channels[c];
            ready[c] = channel.out || fifos[c].space > 0;
            if (channel.into) {
                int s = channel.sender;
                if (next[s] == end[s]) continue;
                auto &packet = packets[next[s]];
                if (!offered[s] && packet.begin <= now) {
                    offered[s] = !sent[s] || sent[s] != packet.at || paused[s] == packet.pause;
                    ++paused[s];
                }
                if (!offered[s] || !ready[c]) continue;
                bool first = sent[s] == 0, last = sent[s] == packet.flits - 1;
                arrives[c] = true, arriving[c] = {next[s], first, last};
                if (first) taken[next[s]] = now;
                offered[s] = false, paused[s] = 0;
                ++sent[s];
                if (last) sent[s] = 0, ++next[s];
            } else if (outputs[c].valid && ready[c]) {
                auto flit = outputs[c].flit;
                if (channel.out && outputs[c].stalled < packets[flit.packet].stall) {
                    ready[c] = false, ++outputs[c].stalled;
                    continue;
                }
                outputs[c].stalled = 0;
                if (!channel.out) {
                    arrives[c] = true, arriving[c] = flit;
                } else if (flit.last && packets[flit.packet].stream == target) {
                    --left;
                    int its = now - taken[flit.packet] + 1;
                    if (its > slowest.cycles) slowest.cycles = its, slowest.delivered = now;
                }
            }
        }
        route(packets, now);
        for (size_t c = 0; c < count; ++c) {
            auto &output = outputs[c];
            if (channels[c].into || (output.valid && !ready[c])) continue;
            output.valid = output.owner >= 0 && there(fifos[output.owner], now);
            if (!output.valid) continue;
            auto &fifo = fifos[output.owner];
            output.flit = fifo.ring[fifo.head].second;
            leaves[output.owner] = true;
            if (output.flit.last) output.owner = -1;
        }
        for (size_t c = 0; c < count; ++c) {
            if (!leaves[c]) continue;
            auto &fifo = fifos[c];
            if (fifo.ring[fifo.head].second.last) fifo.begins = true, fifo.output = -1;
            fifo.head = fifo.head + 1 == depth ? 0 : fifo.head + 1;
            --fifo.count;
        }
        route(packets, now);
        for (size_t c = 0; c < count; ++c) {
            auto &output = outputs[c];
            if (channels[c].into || output.owner >= 0) continue;
            auto &inputs = channels[c].inputs;
            int number = inputs.size(), waiting = -1, comes = -1, rank = number;
            for (int place = 0; place < number; ++place) {
                auto &fifo = fifos[inputs[place]];
                if (!fifo.waits || fifo.output != (int)c) continue;
                int its = (place - output.served - 1 + 2 * number) % number;
                if (comes < 0) comes = place;
                if (!leaves[inputs[place]] && its < rank) rank = its, waiting = place;
            }
            // turns are counted among those at a head; else it is the first input that comes
            int who = waiting >= 0 ? waiting : comes;
            if (who < 0) continue;
            output.served = who;
            output.owner = inputs[who];
            fifos[inputs[who]].waits = false;
        }
        for (size_t c = 0; c < count; ++c) {
            auto &fifo = fifos[c];
            if (arrives[c]) {
                fifo.ring[(fifo.head + fifo.count) % depth] = {now, arriving[c]};
                ++fifo.count, --fifo.space;
            }
            fifo.space += leaves[c];
        }
    }
    slowest.played = now;
    return slowest;
}

static std::mt19937_64 rng;

static int below(int count) { return count > 0 ? rng() % count : 0; }

static Planned drawn(int sender, int begin) {
    auto &mine = sends[sender];
    int name = mine[below(mine.size())];
    auto &stream = streams[name];
    int kind = below(3), flits = kind == 0 ? stream.least : kind == 1 ? stream.most
        : stream.least + below(stream.most - stream.least + 1);
    Planned planned{begin, name, flits};
    if (stream.pauses && flits > 1) {
        planned.pause = below(2) ? stream.pauses : below(stream.pauses + 1);
        planned.at = 1 + below(flits - 1);
    }
    if (stalls) planned.stall = below(2) ? stalls : below(stalls + 1);
    return planned;
}

static Plan fresh(int target, int cycles) {
    Plan plan(sends.size());
    bool all = below(4) == 0;
    for (size_t s = 0; s < plan.size(); ++s) {
        int style = all ? 0 : below(4), now = below(2) ? 0 : below(cycles), few = 1 + below(3);
        while (now < cycles && (style != 3 || (int)plan[s].size() < few)) {
            auto planned = drawn(s, now);
            plan[s].push_back(planned);
            now += style == 0 ? 1 : style == 1 ? below(3 * planned.flits + 1)
                : style == 2 ? (below(3) ? 1 : 10 + below(70)) : below(20);
        }
    }
    int sender = streams[target].sender;
    for (auto &planned : plan[sender]) if (planned.stream == target) return plan;
    plan[sender].push_back({plan[sender].empty() ? below(cycles) : plan[sender].back().begin,
                            target, streams[target].most, 0, 0, stalls});
    return plan;
}

// Within so many cycles packets begin.
static void change(Plan &plan, int cycles) {
    int sender = below(plan.size());
    auto &packets = plan[sender];
    int at = below(packets.size()), count = packets.size();
    int far = below(2) ? 1 + below(2) : 1 + below(1 << below(7));
    if (below(2)) far = -far;
    switch (below(8)) {
    case 0:  // one packet
        if (count) packets[at].begin += far;
        break;
    case 1:  // one packet and those after it
        for (int n = at; n < count; ++n) packets[n].begin += far;
        break;
    case 2:  // all of a sender
        for (auto &planned : packets) planned.begin += far;
        break;
    case 3:
        if (count) packets.erase(packets.begin() + at);
        break;
    case 4:
    case 5: {
        int begin = below(2) && count ? packets[at].begin + below(3) : below(cycles);
        packets.insert(packets.begin() + (count ? at + below(2) : 0), drawn(sender, begin));
        break;
    }
    case 6:
        if (count) packets[at] = drawn(sender, packets[at].begin);
        break;
    case 7:  // the rest is left out, or put off
        if (below(2)) packets.resize(at);
        else for (int n = at; n < count; ++n) packets[n].begin = packets[at].begin;
    }
    int before = 0;
    for (auto &planned : packets)
        before = planned.begin = std::min(std::max(planned.begin, before), cycles);
}

static int number() {
    int value;
    if (std::scanf("%d", &value) != 1) std::exit(2);
    return value;
}

int main() {
    delta = number(), depth = number(), stalls = number();
    int budget = number(), patience = number(), seed = number();
    channels.resize(number());
    for (auto &channel : channels) {
        channel.into = number();
        channel.inputs.resize(number());
        for (auto &input : channel.inputs) input = number();
    }
    for (auto &channel : channels) for (int input : channel.inputs) channels[input].out = false;
    streams.resize(number());
    std::map<int, int> senders;
    for (auto &stream : streams) {
        int tile = number();
        stream.sender = senders.emplace(tile, senders.size()).first->second;
        stream.least = number(), stream.most = number(), stream.pauses = number();
        stream.path.resize(number());
        for (auto &channel : stream.path) channel = number();
        channels[stream.path[0]].sender = stream.sender;
        stream.cycles = number();
    }
    sends.resize(senders.size());
    for (size_t name = 0; name < streams.size(); ++name) {
        sends[streams[name].sender].push_back(name);
        onward.emplace_back(channels.size(), -1);
        auto &path = streams[name].path;
        for (size_t hop = 1; hop < path.size(); ++hop) onward[name][path[hop - 1]] = path[hop];
    }
    for (int target = 0; target < (int)streams.size(); ++target) {
        int cycles = streams[target].cycles, begins = cycles * 2 / 3, since = patience, here = -1;
        Slowest most{-1, 0, 0};
        rng.seed((uint64_t)seed * 1000003 + target);
        Plan current, trial, found;
        for (long played = 0; played < budget;) {
            if (since >= patience) {
                here = -1, since = 0, trial = fresh(target, begins);
            } else {
                trial = current;
                do change(trial, begins); while (below(2));
            }
            auto slowest = play(trial, target, cycles);
            played += slowest.played + 1;
            since = slowest.cycles > here ? 0 : since + 1;
            if (slowest.cycles >= here) here = slowest.cycles, std::swap(current, trial);
            if (slowest.cycles > most.cycles) most = slowest, found = current;
        }
        int count = 0;
        for (auto &packets : found) count += packets.size();
        std::printf("%d %d %d\n", most.cycles, most.delivered, count);
        for (auto &packets : found) for (auto &planned : packets)
            std::printf("%d %d %d %d %d %d\n", planned.stream, planned.flits, planned.begin,
                        planned.pause, planned.at, planned.stall);
    }
}
