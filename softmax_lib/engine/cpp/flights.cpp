// Copies in the background: what they touch is in flight until its thread has waited for their batch, or
// anybody for the phase of a barrier. Then it counts as touched by that thread, at that moment.
#include "hazards.h"

namespace engine {

void Hazards::begin_copies(int, uint64_t word, size_t owner) {
    if (word != NO_WORD && owner != here_) return;   // a barrier of another block: made at once
    is_copying_ = true;
    copied_until_ = word;
}

void Hazards::take_off(Stretch& stretch, const ThreadAccess& access, uint64_t offset) {
    if (access.ask == Ask::LOAD && stretch.is_input) return;
    own(access.thread).flights.push_back({access, &stretch, offset, copied_until_, NO_BATCH});
}

void Hazards::commit_copies(int thread, uint64_t, size_t) {
    ThreadState& copier = own(thread);
    for (Flight& flight : copier.flights) {
        if (flight.batch == NO_BATCH && flight.word == NO_WORD) flight.batch = copier.batches;
    }
    copier.batches++;
}

// Moves those for which `is_chosen` out of `flights`.
template <class Flights, class Choice>
static Flights take(Flights& flights, Choice is_chosen) {
    auto first = std::stable_partition(flights.begin(), flights.end(), [&](const auto& one) { return !is_chosen(one); });
    Flights taken(first, flights.end());
    flights.erase(first, flights.end());
    return taken;
}

void Hazards::await_copies(int thread, uint64_t but_last, bool only_reads) {
    ThreadState& copier = own(thread);
    auto is_over = [&](const Flight& flight) {
        bool is_early = flight.batch < copier.batches && copier.batches - flight.batch > but_last;
        return is_early && !(only_reads && flight.access.ask != Ask::LOAD);
    };
    for (const Flight& flight : take(copier.flights, is_over)) land(flight);
}

void Hazards::bind_copies(int thread, uint64_t word, size_t owner) {
    if (owner != here_) return;
    for (Flight& flight : own(thread).flights) {
        if (flight.word == NO_WORD) flight.word = word;
    }
}

void Hazards::end_phase(int, uint64_t word, size_t owner) {
    WordKnowledge& over = blocks_[owner].words[word];
    const WordKnowledge& arrived = blocks_[owner].words[word | ARRIVING];
    over.threads.learn(arrived.threads);
    learn(over.blocks, arrived.blocks);
    for (ThreadState& copier : blocks_[owner].threads) {
        auto landing = take(copier.flights, [&](const Flight& flight) { return flight.word == word; });
        over.landing.insert(over.landing.end(), landing.begin(), landing.end());
    }
}

void Hazards::land(const Flight& flight, bool is_kept) {
    Stretch& stretch = *flight.stretch;
    const ThreadAccess& access = flight.access;
    Touch mine = touch_of(access);
    auto is_mine = [&](const Touch& touch) { return touch.epoch == IN_FLIGHT && touch.warp == mine.warp; };
    for (uint64_t at = 0; at < access.size; at += stretch.word_bytes) {
        Word& word = stretch.word_at(flight.offset + at);
        if (access.ask != Ask::LOAD) {
            if (is_mine(word.write) && word.write.lanes == mine.lanes) word.write.epoch = is_kept ? epoch_ : 0;
            continue;
        }
        for (uint32_t* link = &word.readers; *link;) {
            Touch& other = stretch.pool[*link];
            if (is_mine(other) && other.place == mine.place) other.lanes &= ~mine.lanes;
            if (other.lanes) link = &other.next;
            else stretch.remove(*link);
        }
        if (is_kept) remember(stretch, word.readers, access);
    }
}

// Of the block `owner`; who sees the phase over comes behind them.
void Hazards::land_at_phase(WordKnowledge& word, size_t owner) {
    size_t back = here_;
    here_ = owner;
    for (const Flight& flight : word.landing) land(flight);
    epoch_++;
    for (const Flight& flight : word.landing) word.threads.learn(flight.access.thread, epoch_);
    learn(word.blocks, here().number, epoch_);
    word.landing.clear();
    here_ = back;
}

// A block has ended, and its copies with it. Its shared memory is no more.
void Hazards::forget_flights(size_t slot) {
    here_ = slot;
    BlockState& block = here();
    auto forget = [&](const Flight& flight) { land(flight, !flight.access.is_shared); };
    for (const ThreadState& copier : block.threads) std::for_each(copier.flights.begin(), copier.flights.end(), forget);
    for (const auto& [offset, word] : block.words) std::for_each(word.landing.begin(), word.landing.end(), forget);
}

}  // namespace engine
