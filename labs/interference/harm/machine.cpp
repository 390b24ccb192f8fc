#include "labs/interference/harm/machine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "bench/thread_cores.hpp"
#include "host/interrupt_time.hpp"
#include "labs/interference/harm/user_counters.hpp"

namespace k2k::labs::harm {

namespace {

constexpr int states_max = 16;

std::string processor() {
  std::istringstream lines(text_of("/proc/cpuinfo"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) {
      return line.substr(line.find(": ") + 2);
    }
  }
  return "unknown";
}

bool in_guest() { return text_of("/proc/cpuinfo").find(" hypervisor") != std::string::npos; }

}  // namespace

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

double interrupts_of(std::string_view interrupts, std::string_view kind) {
  std::istringstream lines{std::string(interrupts)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name != kind) continue;
    double sum = 0;
    for (double count = 0; words >> count;) sum += count;
    return sum;
  }
  return -1;
}

Counters counters_of(std::string_view stat, std::string_view interrupts) {
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  Counters counters;
  const auto ticks = host::core_ticks_of(stat).value_or(host::CoreTicks{});
  const auto seconds_of = [tick](std::uint64_t count) { return static_cast<double>(count) * tick; };
  counters.idle_s = seconds_of(ticks.idle + ticks.disk);
  counters.stolen_s = seconds_of(ticks.stolen);
  counters.busy_s = seconds_of(ticks.user + ticks.nice + ticks.system + ticks.hard + ticks.soft);
  for (const char* const kind : {"RES:", "CAL:"}) {
    counters.interrupts += std::max(0.0, interrupts_of(interrupts, kind));
  }
  return counters;
}

IdleSeconds idle_seconds(const std::string& cores) {
  IdleSeconds idle;
  std::error_code none;  // Without the folder there are no cores.
  for (const auto& entry : std::filesystem::directory_iterator(cores, none)) {
    // Numbers may be missing. Beside them are cpufreq and cpuidle.
    const std::string folder = entry.path();
    const std::string name = entry.path().filename();
    if (!name.starts_with("cpu") || name.find_last_not_of("0123456789") != 2) continue;
    for (int state = 0; state < states_max; ++state) {
      const std::string files = fmt::format("{}/cpuidle/state{}/", folder, state);
      const std::string kind = text_of(files + "name");
      const std::string time = text_of(files + "time");  // In microseconds.
      if (kind.empty() || time.empty()) continue;
      const double seconds = std::strtod(time.c_str(), nullptr) / 1e6;
      idle.polling = std::max(idle.polling, 0.0);  // A state is shown.
      if (kind == "POLL") {
        idle.polling += seconds;
      } else {
        idle.asleep = std::max(idle.asleep, 0.0) + seconds;
      }
    }
  }
  return idle;
}

void visit_cores() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (::sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  for (const int core : bench::cores_of_thread()) bench::stay_on(core);
  ::sched_setaffinity(0, sizeof(usable), &usable);
}

Counters read_counters() {
  Counters counters = counters_of(text_of("/proc/stat"), text_of("/proc/interrupts"));
  const IdleSeconds idle = idle_seconds("/sys/devices/system/cpu");
  counters.asleep_s = idle.asleep;
  counters.polling_s = idle.polling;
  return counters;
}

std::string sleep_states() {
  std::string names;
  for (int state = 0; state < states_max; ++state) {
    const std::string name =
        text_of("/sys/devices/system/cpu/cpu0/cpuidle/state" + std::to_string(state) + "/name");
    if (name.empty()) break;
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

nlohmann::ordered_json machine() {
  utsname system{};
  ::uname(&system);
  const std::string governor = text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return {{"processor", processor()},
          {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)},
          {"kernel", system.release},
          {"virtual", in_guest()},
          {"load", text_of("/proc/loadavg")},
          {"frequency_governor", governor.empty() ? "not shown" : governor},
          {"sleep_states", sleep_states()},
          {"hardware_counters", has_hardware_counters()}};
}

}  // namespace k2k::labs::harm
