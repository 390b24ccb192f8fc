#pragma once
// Shared by a test and the library in this folder, which replaces CUDA's driver, cuFile and
// hipFile: the test's settings, and the library's counts. For tests; never installed.

#include <atomic>
#include <cstring>

namespace k2k::io::vendor {

// Of Read: -1, and the rest of the code in errno.
inline constexpr int by_errno = 10'000;

struct Control {
  // The function of that name returns `code` from its call number `after`, from 0 on.
  char failing[64] = "";
  int code = 0;
  int after = 0;

  int devices = 1;
  bool context_for_queries = false;  // Queries of streams and events fail without one.
  std::atomic<int> contexts = 0;     // Retained and not released; so are the counts below.
  std::atomic<int> pushed = 0;
  std::atomic<int> pushes = 0;  // Ever; so are the three below.
  std::atomic<int> queries = 0;
  std::atomic<int> recorded = 0;
  std::atomic<int> current_set = 0;
  std::atomic<int> streams = 0;
  std::atomic<int> events = 0;
  std::atomic<int> pinned = 0;
  std::atomic<int> synchronized = 0;
  std::atomic<int> allocations = 0;                // Of device memory.
  std::atomic<int> wrong_copies = 0;               // Into or out of freed memory.
  std::atomic<const void*> last_stream = nullptr;  // Of an allocation or free in stream order.
  std::atomic<const void*> last_pool = nullptr;
  std::atomic<int> opened = 0;
  std::atomic<int> starts = 0;  // Of cuFile's driver or hipFile's, ever.
  std::atomic<int> files = 0;
  std::atomic<int> registrations = 0;  // Of files, ever.
  std::atomic<int> ranges = 0;
  std::atomic<int> gdr_open = 0;  // Of GDRCopy: its library, pinned ranges and mappings.
  std::atomic<int> gdr_pinned = 0;
  std::atomic<int> gdr_mapped = 0;
  std::atomic<const void*> last_base = nullptr;
  std::atomic<long> last_offset = -1;

  void fail(const char* name, int with, int call = 0) {
    std::strncpy(failing, name, sizeof failing - 1);
    code = with;
    after = call;
  }
};

}  // namespace k2k::io::vendor
