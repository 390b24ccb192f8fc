#include "backend/cpu/launch_state.hpp"

#include <cstdarg>

#include "backend/cpu/simt/unit.hpp"

namespace k2k::backend::cpu {

void LaunchState::fail(int code, const char* format, ...) {
  if (failed.exchange(1, std::memory_order_relaxed) == 0) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(failure, sizeof(failure), format, arguments);
    va_end(arguments);
    std::uint32_t running_on = 0;
    stop.compare_exchange_strong(running_on, static_cast<std::uint32_t>(code),
                                 std::memory_order_release, std::memory_order_relaxed);
  }
  wake_units();
}

void LaunchState::wake_units() const noexcept {
  for (std::uint32_t unit = 0; unit < unit_count; ++unit) units[unit]->wake();
}

}  // namespace k2k::backend::cpu
