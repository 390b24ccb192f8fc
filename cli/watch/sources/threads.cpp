#include "cli/watch/sources/threads.hpp"

#include <vector>

#include "cli/watch/sources/text_files.hpp"
#include "host/proc_file.hpp"

namespace k2k::watch {

std::optional<ThreadStat> parse_thread(std::string_view stat) {
  // Numbers of the fields as in proc(5); the words begin with the third.
  constexpr std::size_t first_field = 3;
  constexpr std::size_t fields_least = 39;
  const std::size_t open = stat.find('(');
  const std::size_t close = stat.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  const std::vector<std::string_view> numbers = words_of(stat.substr(0, open));
  const std::vector<std::string_view> words = words_of(host::fields_behind_name(stat));
  if (numbers.size() != 1 || words.size() + first_field <= fields_least) return {};
  bool right = stat.ends_with('\n');
  const auto field = [&](std::size_t number) {
    const auto value = number_of(words[number - first_field]);
    right &= value.has_value();
    return value.value_or(0);
  };
  const auto id = number_of(numbers[0]);
  ThreadStat thread;
  thread.name = stat.substr(open + 1, close - open - 1);
  thread.flags = field(9);
  thread.ticks = field(14) + field(15);  // In user mode and in system calls.
  thread.child_ticks = field(16) + field(17);
  thread.threads = field(20);
  thread.start_ticks = field(22);
  const std::uint64_t core = field(39);
  if (!right || !id || *id > INT32_MAX || core >= cores_max) return {};
  thread.id = static_cast<int>(*id);
  thread.core = static_cast<int>(core);
  return thread;
}

ThreadName parse_name(std::string_view name) {
  ThreadName meaning;
  constexpr std::string_view worker = "kworker/";
  constexpr std::string_view interrupt = "irq/";
  if (name.starts_with(worker)) {
    meaning.worker = true;
    meaning.common = "kworker";
    // Behind the worker's own name: '-' and the last workqueue, or '+' and the current one.
    const std::size_t mark = name.find_first_of("-+", worker.size());
    if (mark != std::string_view::npos) meaning.workqueue = name.substr(mark + 1);
    if (!meaning.workqueue.empty()) meaning.common += " " + meaning.workqueue;
    return meaning;
  }
  if (name.starts_with(interrupt)) {
    const std::string_view rest = name.substr(interrupt.size());
    const std::size_t dash = rest.find('-');
    const auto number = number_of(rest.substr(0, dash));
    if (dash != std::string_view::npos && number && *number <= UINT32_MAX) {
      meaning.interrupt = static_cast<unsigned>(*number);
      meaning.common = name;
      return meaning;
    }
  }
  const std::size_t slash = name.rfind('/');
  const bool numbered = slash != std::string_view::npos && number_of(name.substr(slash + 1));
  meaning.common = numbered ? name.substr(0, slash) : name;
  return meaning;
}

}  // namespace k2k::watch
