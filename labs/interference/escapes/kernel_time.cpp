#include "labs/interference/escapes/kernel_time.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "host/proc_file.hpp"

namespace k2k::labs::escapes {

namespace {

constexpr std::string_view parent_of_kernel_threads = "2";  // kthreadd

std::string first_line(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

Result<std::uint64_t> ticks_in_interrupts(std::string_view line) {
  // cpu user nice system idle iowait IRQ SOFTIRQ
  constexpr std::size_t first = 5;
  std::string_view left = line;
  const bool is_sum = next_word(left) == "cpu";
  for (std::size_t field = 0; field < first; ++field) next_word(left);
  std::uint64_t sum = 0;
  for (int kind = 0; kind < 2; ++kind) {
    const std::string_view word = next_word(left);
    std::uint64_t ticks = 0;
    const char* const behind = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data(), behind, ticks);
    if (!is_sum || error != std::errc() || end != behind) {
      return Error{EPROTO, fmt::format("/proc/stat begins with '{}'", line)};
    }
    sum += ticks;
  }
  return sum;
}

bool is_kernel_thread(std::string_view stat) {
  std::string_view fields = host::fields_behind_name(stat);
  next_word(fields);  // The state.
  return next_word(fields) == parent_of_kernel_threads;
}

Result<KernelSeconds> KernelTime::read() {
  const Result<std::uint64_t> ticks = ticks_in_interrupts(first_line(proc_ + "/stat"));
  if (!ticks) return ticks.error();
  std::map<int, Nanoseconds> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(proc_, error)) {
    const std::string name = entry.path().filename();
    int number = 0;
    const char* const behind = name.data() + name.size();
    if (std::from_chars(name.data(), behind, number).ptr != behind) continue;
    if (!is_kernel_thread(first_line(entry.path() / "stat"))) continue;
    const auto cpu = host::cpu_time_of(first_line(entry.path() / "schedstat"));
    if (cpu) threads.emplace(number, *cpu);
  }
  threads_ = threads.size();
  sum_.update(std::move(threads));
  return KernelSeconds{.threads = static_cast<double>(sum_.total().count()) / 1e9,
                       .interrupts = static_cast<double>(ticks.value()) /
                                     static_cast<double>(::sysconf(_SC_CLK_TCK))};
}

}  // namespace k2k::labs::escapes
