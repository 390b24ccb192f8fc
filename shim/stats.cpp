// K2K_IO_STATS: the numbers of calls with device memory, by outcome, in one line at the program's
// exit.
//
//   true     on standard error; many programs close it before they are at their end
//   /PATH    appended to that file
//
// Words for true and false are those of settings (base/setting_text.hpp).

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/setting_text.hpp"
#include "shim/counts.hpp"
#include "shim/router_library.hpp"

namespace k2k::shim {
namespace {

constinit bool asked = false;

// At the start, where the environment is an argument: a call of getenv() takes ten times the
// instructions. The value is read at the end.
[[gnu::constructor]] void look_whether_asked(int, char**, char** environment) {
  constexpr std::string_view name = "K2K_IO_STATS=";
  for (; *environment != nullptr; ++environment) {
    std::size_t same = 0;
    while (same < name.size() && (*environment)[same] == name[same]) ++same;
    if (same == name.size()) asked = true;
  }
}

[[gnu::destructor]] void print() {
  if (!asked) return;
  const char* const wanted = secure_getenv("K2K_IO_STATS");
  if (wanted == nullptr) return;
  const Inside inside;
  const std::optional<bool> truth = parse_truth(wanted);
  if (truth == false) return;
  if (!truth && *wanted != '/') {
    dprintf(STDERR_FILENO,
            "k2k_io: environment K2K_IO_STATS = '%.100s'; permitted: %s, or the absolute path of a "
            "file; the variable is ignored\n",
            wanted, permitted_truth);
    return;
  }
  const int to = *wanted == '/' ? open(wanted, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)
                                : STDERR_FILENO;
  k2k_io_counts router{};
  k2k_io_ahead ahead{};
  std::uint64_t writes_direct = 0;
  if (const k2k_io_table* const table = router_library_if_loaded()) {
    table->stats(&router);
    if (table->ahead != nullptr) table->ahead(&ahead);
    if (table->writes_direct != nullptr) writes_direct = table->writes_direct();
  }
  const struct {
    const char* name;
    std::uint64_t value;
  } rows[] = {
      {"reads", counts.reads},
      {"writes", counts.writes},
      {"pieces", counts.pieces},
      {"by_kernel", counts.by_kernel},
      {"without_router", counts.without_router},
      {"nested", counts.nested},
      {"forgotten", counts.forgotten},
      {"kept", counts.kept},
      {"unregistered", counts.unregistered},
      {"by_number", counts.by_number},
      {"rings", counts.rings},
      {"unprobed", router.unprobed},
      {"mixed", router.mixed},
      {"bytes_cache", router.bytes_cache},
      {"bytes_direct", router.bytes_direct},
      {"fall_backs", router.fall_backs},
      {"files_refused", router.files_refused},
      {"misaligned", router.misaligned},
      {"pages_ahead", router.pages_ahead},
      {"pages_evicted", router.pages_evicted},
      {"pages_held", ahead.held},
      {"pages_kept", ahead.kept},
      {"pages_again", ahead.again},
      {"writes_direct", writes_direct},
  };
  char line[1024];
  int length = std::snprintf(line, sizeof line, "k2k_io %d:", getpid());
  for (const auto& row : rows) {
    length += std::snprintf(line + length, sizeof line - static_cast<std::size_t>(length),
                            " %s=%" PRIu64, row.name, row.value);
  }
  dprintf(to, "%s\n", line);
}

}  // namespace
}  // namespace k2k::shim
