#include "labs/interference/escapes/kernel_time.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "host/interrupt_time.hpp"
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

bool read_ticks(std::string_view word, std::uint64_t& number) {
  const char* const behind = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), behind, number);
  return error == std::errc() && end == behind;
}

}  // namespace

std::uint64_t ticks_of_children(std::string_view stat) {
  constexpr std::size_t before = 13;  // From the state to the time of the process itself.
  std::string_view fields = host::fields_behind_name(stat);
  for (std::size_t field = 0; field < before; ++field) next_word(fields);
  std::uint64_t sum = 0;
  for (int kind = 0; kind < 2; ++kind) {
    std::uint64_t ticks = 0;
    if (read_ticks(next_word(fields), ticks)) sum += ticks;
  }
  return sum;
}

KernelClocks KernelClocks::real() {
  const auto of_process = [](int process) -> std::optional<Nanoseconds> {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(process, &clock) != 0) return {};
    if (::clock_gettime(clock, &time) != 0) return {};
    return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
  };
  const long cores = std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
  return {[] { return k2k::now(); }, of_process, static_cast<double>(cores)};
}

bool is_kernel_thread(std::string_view stat) {
  std::string_view fields = host::fields_behind_name(stat);
  next_word(fields);  // The state.
  return next_word(fields) == parent_of_kernel_threads;
}

Result<KernelSeconds> KernelTime::read() {
  const Instant moment = clocks_.now();
  const std::string line = first_line(proc_ + "/stat");
  const std::optional<host::CoreTicks> ticks = host::core_ticks_of(line);
  if (!ticks) return Error{EPROTO, fmt::format("/proc/stat begins with '{}'", line)};
  const bool measured = ticks->hard != 0;  // Otherwise Linux only samples soft interrupts.
  const auto seconds_of = [](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  };
  std::map<int, Nanoseconds> threads;
  double in_threads = 0;  // Of all processes and of Linux.
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(proc_, error)) {
    const std::string name = entry.path().filename();
    int number = 0;
    const char* const behind = name.data() + name.size();
    if (std::from_chars(name.data(), behind, number).ptr != behind) continue;
    const std::string stat = first_line(entry.path() / "stat");
    if (!measured) {
      const auto cpu = clocks_.of_process(number);
      in_threads += seconds_of(ticks_of_children(stat));
      if (cpu) in_threads += std::chrono::duration<double>(*cpu).count();
    }
    if (!is_kernel_thread(stat)) continue;
    const auto cpu = host::cpu_time_of(first_line(entry.path() / "schedstat"));
    if (cpu) threads.emplace(number, *cpu);
  }
  threads_ = threads.size();
  sum_.update(std::move(threads));
  const double all = std::chrono::duration<double>(moment.time_since_epoch()).count();
  const double beside =
      clocks_.cores * all - seconds_of(ticks->idle + ticks->disk + ticks->stolen) - in_threads;
  return KernelSeconds{.threads = static_cast<double>(sum_.total().count()) / 1e9,
                       .interrupts = measured ? seconds_of(ticks->hard + ticks->soft) : beside};
}

}  // namespace k2k::labs::escapes
