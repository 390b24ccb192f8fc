#pragma once
// The work-items and service threads of a schedule: fibres of one thread. A random choice
// determines the next fibre to run.
//
// Threading: confined to one thread; functions for fibres are marked.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "backend/cpu/fibre/fibre_switch.hpp"
#include "backend/cpu/fibre/sanitizers.hpp"
#include "protocol/slot_state.hpp"
#include "tests/simulation/random.hpp"

namespace k2k::simulation {

struct alignas(64) Agent {
  std::uint32_t index = 0;
  protocol::Side side = protocol::Side::host;
  bool ended = false;
  // Asleep while both words have their seen values and the clock is before `until`.
  bool asleep = false;
  const std::uint32_t* word = nullptr;
  std::uint32_t seen = 0;
  const std::uint32_t* other_word = nullptr;
  std::uint32_t other_seen = 0;
  std::uint64_t until = 0;

  std::function<void()> body;
  backend::cpu::Context context;
  backend::cpu::SanitizerContext sanitizer;
};

class Agents {
 public:
  static constexpr std::uint32_t agents_max = 32;
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  Agents();
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  // Forgets all agents. `slow` is the index of an agent that rarely runs; agents_max: none.
  // `before_switch` is called on the fibre that is left; `nobody_runs` is called when all agents
  // sleep: it changes something, or returns false if nothing can wake them.
  void begin(Random& random, const std::uint64_t& clock, std::uint32_t slow,
             void (*before_switch)(), bool (*nobody_runs)());
  Agent& add(protocol::Side side, std::function<void()> body);
  // Runs until all agents have ended or one agent stopped the schedule.
  void run();

  // Lets all sleeping agents look again.
  void wake();
  // The earliest time at which a sleeping agent wakes by the clock.
  [[nodiscard]] std::uint64_t first_alarm() const;

  // --- On a fibre.
  [[nodiscard]] Agent* running() { return running_; }
  void pass();  // Another agent may run now.
  // Sleeps until one of the words differs from its seen value, or the clock shows `until`.
  void sleep(const std::uint32_t* word, std::uint32_t seen, const std::uint32_t* other_word,
             std::uint32_t other_seen, std::uint64_t until = never);
  [[noreturn]] void leave();  // This agent never runs again.
  [[noreturn]] void stop();   // The schedule is over.

 private:
  static void base();
  [[nodiscard]] Agent* pick();
  [[nodiscard]] bool sleeps(const Agent& agent) const {
    return agent.asleep && *clock_ < agent.until && *agent.word == agent.seen &&
           *agent.other_word == agent.other_seen;
  }
  void change_to(Agent& next);
  [[noreturn]] void change_to_main(Agent& from);

  std::unique_ptr<std::byte[]> stacks_;
  std::unique_ptr<Agent[]> agents_;
  std::uint32_t count_ = 0;
  Random* random_ = nullptr;
  const std::uint64_t* clock_ = nullptr;
  std::uint32_t slow_ = agents_max;
  void (*before_switch_)() = nullptr;
  bool (*nobody_runs_)() = nullptr;
  Agent* running_ = nullptr;
  backend::cpu::SanitizerContext* came_from_ = nullptr;
  backend::cpu::Context main_;
  backend::cpu::SanitizerContext main_sanitizer_;
};

}  // namespace k2k::simulation
