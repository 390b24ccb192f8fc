#pragma once
// What a test tells the library beside it, which stands for CUDA's driver, cuFile and hipFile where
// there are none, and what that tells the test. For tests; never installed.

#include <atomic>
#include <cstring>

namespace k2k::io::vendor {

struct Control {
  // The function of that name answers `code` to its call number `after`, from 0 on.
  char failing[64] = "";
  int code = 0;
  int after = 0;

  int devices = 1;
  std::atomic<int> contexts = 0;  // Retained and not released; likewise below.
  std::atomic<int> pushed = 0;
  std::atomic<int> current_set = 0;
  std::atomic<int> streams = 0;
  std::atomic<int> events = 0;
  std::atomic<int> pinned = 0;
  std::atomic<int> synchronized = 0;
  std::atomic<int> allocations = 0;   // Of device memory.
  std::atomic<int> wrong_copies = 0;  // Into or out of memory that was freed meanwhile.
  std::atomic<const void*> last_stream = nullptr;  // Of an allocation or free in its order.
  std::atomic<const void*> last_pool = nullptr;
  std::atomic<int> opened = 0;
  std::atomic<int> files = 0;
  std::atomic<int> registrations = 0;  // Of files, ever.
  std::atomic<int> ranges = 0;
  std::atomic<const void*> last_base = nullptr;
  std::atomic<long> last_offset = -1;

  void fail(const char* name, int with, int call = 0) {
    std::strncpy(failing, name, sizeof failing - 1);
    code = with;
    after = call;
  }
};

}  // namespace k2k::io::vendor
