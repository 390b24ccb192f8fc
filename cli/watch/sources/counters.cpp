#include "cli/watch/sources/counters.hpp"

#include <algorithm>

#include "cli/watch/sources/text_files.hpp"

namespace k2k::watch {

namespace {

constexpr std::size_t lines_max = 65'536;

// "cpu12" or "CPU12" as 12; -1 for another word.
int core_named(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return -1;
  const auto number = number_of(word.substr(prefix.size()));
  return number && *number < cores_max ? static_cast<int>(*number) : -1;
}

}  // namespace

CoreTimes& CoreTimes::operator+=(const CoreTimes& other) {
  user_s += other.user_s;
  system_s += other.system_s;
  idle_s += other.idle_s;
  interrupt_s += other.interrupt_s;
  softirq_s += other.softirq_s;
  steal_s += other.steal_s;
  return *this;
}

CoreTimes CoreTimes::since(const CoreTimes& earlier) const {
  const auto gone = [](double now, double then) { return std::max(now - then, 0.0); };
  return {gone(user_s, earlier.user_s),       gone(system_s, earlier.system_s),
          gone(idle_s, earlier.idle_s),       gone(interrupt_s, earlier.interrupt_s),
          gone(softirq_s, earlier.softirq_s), gone(steal_s, earlier.steal_s)};
}

Times parse_stat(std::string_view text, double ticks_per_s) {
  // user nice system idle iowait irq softirq steal; the guests' times are part of user and nice.
  constexpr std::size_t fields_least = 4;
  constexpr std::size_t fields = 8;
  Times times;
  for (std::size_t line = 0; line < lines_max; ++line) {
    const auto next = take_line(text);
    if (!next) break;
    const std::vector<std::string_view> words = words_of(*next);
    const int core = words.empty() ? -1 : core_named(words[0], "cpu");
    if (core < 0 || words.size() <= fields_least) continue;
    double seconds[fields] = {};
    bool right = true;
    for (std::size_t at = 0; at < fields && at + 1 < words.size(); ++at) {
      const auto ticks = number_of(words[at + 1]);
      right &= ticks.has_value();
      seconds[at] = static_cast<double>(ticks.value_or(0)) / ticks_per_s;
    }
    if (!right) continue;
    times[core] = {.user_s = seconds[0] + seconds[1],
                   .system_s = seconds[2],
                   .idle_s = seconds[3] + seconds[4],
                   .interrupt_s = seconds[5],
                   .softirq_s = seconds[6],
                   .steal_s = seconds[7]};
  }
  return times;
}

std::vector<CountedLine> parse_counts(std::string_view text) {
  std::vector<int> cores;
  const auto heading = take_line(text);
  if (!heading) return {};
  for (const std::string_view word : words_of(*heading)) {
    const int core = core_named(word, "CPU");
    if (core < 0) return {};
    cores.push_back(core);
  }
  std::vector<CountedLine> lines;
  while (lines.size() < lines_max) {
    const auto next = take_line(text);
    if (!next) break;
    const std::vector<std::string_view> words = words_of(*next);
    if (cores.empty() || words.size() <= cores.size() || !words[0].ends_with(':')) continue;
    CountedLine line;
    line.id = words[0].substr(0, words[0].size() - 1);
    bool right = !line.id.empty();
    for (std::size_t at = 0; at < cores.size() && right; ++at) {
      const auto count = number_of(words[at + 1]);
      right = count.has_value();
      line.by_core[cores[at]] = count.value_or(0);
    }
    if (!right) continue;
    for (std::size_t at = cores.size() + 1; at < words.size(); ++at) {
      if (!line.rest.empty()) line.rest += ' ';
      line.rest += words[at];
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace k2k::watch
