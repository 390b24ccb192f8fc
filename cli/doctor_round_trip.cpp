// Separate from doctor_checks.cpp, because a kernel includes functions named read, close, getpid.
// It does not use fmt, because nvcc does not evaluate fmt's format strings.

#include <unistd.h>

#include "cli/doctor_checks.hpp"
#include "device/k2k.hpp"

namespace k2k::cli::K2K_ON {

const char* backend_name() { return kernel_backend; }

Check round_trip(const RuntimeConfig& config) {
  const std::string why = "a kernel of one work-item called getpid";
  const auto failed = [&why](const std::string& message) {
    return Check{"runtime", Grade::fail, message, why, "mend what it names"};
  };
  Result<Runtime> runtime = Runtime::create(config);
  if (!runtime) return failed(runtime.error().message);
  const Result<void*> shared = runtime->allocate_shared(sizeof(long));
  if (!shared) return failed(shared.error().message);
  long* const answer = static_cast<long*>(shared.value());
  const Result<LaunchReport> report =
      runtime->launch({1, 1}, [=] K2K_DEVICE { *answer = k2k::getpid(k2k::work_item); }, "doctor");
  const long answered = *answer;
  runtime->free_shared(answer);
  if (!report) return failed(report.error().message);
  if (answered != ::getpid()) {
    return {
        "runtime", Grade::fail,
        "getpid answered " + std::to_string(answered) + " instead of " + std::to_string(::getpid()),
        why, "please report this with the output of k2k info --json"};
  }
  const auto microseconds = report.value().elapsed.count() / 1000;
  return {"runtime", Grade::ok,
          "a kernel's call was answered on " + runtime->device().name + ", " +
              std::to_string(microseconds) + " µs the launch",
          why, ""};
}

}  // namespace k2k::cli::K2K_ON
