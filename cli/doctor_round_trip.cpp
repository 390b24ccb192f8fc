// Apart from doctor_checks.cpp: what a kernel includes has functions named read, close, getpid.

#include <fmt/format.h>
#include <unistd.h>

#include "cli/doctor_checks.hpp"
#include "device/k2k.hpp"

namespace k2k::cli {

Check round_trip(const RuntimeConfig& config) {
  const std::string why = "a kernel of one work-item called getpid";
  Result<Runtime> runtime = Runtime::create(config);
  if (!runtime) return {"runtime", Grade::fail, runtime.error().message, why, "mend what it names"};
  long answer = 0;
  const Result<LaunchReport> report = runtime->launch(
      {.groups = 1, .group_items = 1}, [&answer] { answer = k2k::getpid(k2k::work_item); },
      "doctor");
  if (!report) return {"runtime", Grade::fail, report.error().message, why, "mend what it names"};
  if (answer != ::getpid()) {
    return {"runtime", Grade::fail,
            fmt::format("getpid answered {} instead of {}", answer, ::getpid()), why,
            "please report this with the output of k2k info --json"};
  }
  return {"runtime", Grade::ok,
          fmt::format("a kernel's call was answered, {} µs the launch",
                      report.value().elapsed.count() / 1000),
          why, ""};
}

}  // namespace k2k::cli
