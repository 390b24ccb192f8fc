#include "tests/simulation/agents.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/contract.hpp"

#if defined(K2K_ASAN)
// The stack of an agent that never runs again is not unwound, as on a device.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "detect_leaks=0";
}
#endif

namespace k2k::simulation {

namespace cpu = backend::cpu;

namespace {
#if defined(K2K_ASAN)
constexpr std::size_t stack_bytes = 256 * 1024;
#else
constexpr std::size_t stack_bytes = 64 * 1024;
#endif
Agents* current = nullptr;  // For base(), which takes no argument.
}  // namespace

Agents::Agents()
    : stacks_(std::make_unique_for_overwrite<std::byte[]>(agents_max * stack_bytes)),
      agents_(std::make_unique<Agent[]>(agents_max)) {
  for (std::uint32_t index = 0; index < agents_max; ++index) agents_[index].index = index;
}

void Agents::begin(Random& random, const std::uint64_t& clock, std::uint32_t slow,
                   void (*before_switch)(), bool (*nobody_runs)()) {
  current = this;
  count_ = 0;
  random_ = &random;
  clock_ = &clock;
  slow_ = slow;
  before_switch_ = before_switch;
  nobody_runs_ = nobody_runs;
}

Agent& Agents::add(protocol::Side side, std::function<void()> body) {
  K2K_EXPECT(count_ < agents_max);
  Agent& agent = agents_[count_];
  std::byte* const stack = stacks_.get() + count_ * stack_bytes;
  ++count_;
  agent.side = side;
  agent.ended = false;
  agent.asleep = false;
  agent.body = std::move(body);
  cpu::adopt_stack(agent.sanitizer, stack, stack_bytes);
  cpu::prepare_context(agent.context, stack, stack_bytes, &Agents::base);
  return agent;
}

void Agents::base() {
  Agents& all = *current;
  cpu::arrive(all.running_->sanitizer, *all.came_from_);
  all.running_->body();
  all.leave();
}

void Agents::run() {
  Agent* const first = pick();
  if (first == nullptr) return;
  running_ = first;
  came_from_ = &main_sanitizer_;
  cpu::leave(main_sanitizer_, first->sanitizer);
  cpu::switch_context(main_, first->context);
  cpu::arrive(main_sanitizer_, *came_from_);
}

Agent* Agents::pick() {
  do {
    const std::uint32_t start = random_->below(count_);
    bool any_left = false;
    Agent* passed_by = nullptr;
    for (std::uint32_t step = 0; step < count_; ++step) {
      const std::uint32_t index = start + step < count_ ? start + step : start + step - count_;
      Agent& agent = agents_[index];
      if (agent.ended) continue;
      any_left = true;
      if (sleeps(agent)) continue;
      if (index != slow_ || random_->one_in(8)) return &agent;
      passed_by = &agent;
    }
    if (passed_by != nullptr || !any_left) return passed_by;
  } while (nobody_runs_());
  return nullptr;
}

void Agents::pass() {
  Agent& self = *running_;
  before_switch_();
  Agent* const next = pick();
  if (next == nullptr) change_to_main(self);
  if (next != &self) change_to(*next);
}

void Agents::sleep(const std::uint32_t* word, std::uint32_t seen, const std::uint32_t* other_word,
                   std::uint32_t other_seen, std::uint64_t until) {
  Agent& self = *running_;
  self.asleep = true;
  self.word = word;
  self.seen = seen;
  self.other_word = other_word;
  self.other_seen = other_seen;
  self.until = until;
  pass();
  self.asleep = false;
}

void Agents::wake() {
  for (std::uint32_t index = 0; index < count_; ++index) agents_[index].asleep = false;
}

std::uint64_t Agents::first_alarm() const {
  std::uint64_t first = never;
  for (std::uint32_t index = 0; index < count_; ++index) {
    const Agent& agent = agents_[index];
    if (!agent.ended && agent.asleep) first = std::min(first, agent.until);
  }
  return first;
}

void Agents::leave() {
  running_->ended = true;
  pass();
  std::abort();
}

void Agents::stop() { change_to_main(*running_); }

void Agents::change_to(Agent& next) {
  Agent& self = *running_;
  running_ = &next;
  came_from_ = &self.sanitizer;
  cpu::leave(self.sanitizer, next.sanitizer);
  cpu::switch_context(self.context, next.context);
  cpu::arrive(self.sanitizer, *came_from_);
}

void Agents::change_to_main(Agent& from) {
  running_ = nullptr;
  came_from_ = &from.sanitizer;
  cpu::leave(from.sanitizer, main_sanitizer_);
  cpu::switch_context(from.context, main_);
  std::abort();  // The agent got another turn.
}

}  // namespace k2k::simulation
