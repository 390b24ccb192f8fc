#include "shim/cuda_reader.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "io/cuda_memory.hpp"
#include "router/profile.hpp"

namespace k2k::shim {
namespace {

using router::DeviceReader;
using router::DirectWay;

std::mutex making;
std::atomic<bool> tried{false};
std::atomic<DeviceReader*> made{nullptr};

Result<DirectWay> direct_way() {
  const char* const wanted = ::secure_getenv("K2K_IO_DIRECT");
  const std::string way = wanted == nullptr ? "" : wanted;
  if (way.empty()) return DirectWay::automatic;
  if (way == "staging") return DirectWay::staging;
  if (way == "cufile") return DirectWay::cufile;
  return Error{EINVAL, "K2K_IO_DIRECT is '" + way + "': permitted are staging and cufile"};
}

Result<std::unique_ptr<DeviceReader>> make() {
  const Result<DirectWay> way = direct_way();
  if (!way) return way.error();
  Result<std::unique_ptr<io::DeviceMemory>> memory = io::make_cuda_memory();
  if (!memory) return memory.error();
  return DeviceReader::create(std::move(memory).value(), {.model_of = router::calibrated_model_by,
                                                          .ways = {.direct = way.value()}});
}

}  // namespace

DeviceReader* cuda_reader() {
  if (tried.load(std::memory_order_acquire)) return made.load(std::memory_order_acquire);
  const std::lock_guard lock(making);
  if (tried.load(std::memory_order_relaxed)) return made.load(std::memory_order_relaxed);
  Result<std::unique_ptr<DeviceReader>> reader = make();
  if (reader) {
    made.store(std::move(reader).value().release(), std::memory_order_release);
  } else {
    ::dprintf(STDERR_FILENO, "k2k_io: %s; calls with memory of CUDA go to libc\n",
              reader.error().message.c_str());
  }
  tried.store(true, std::memory_order_release);
  return made.load(std::memory_order_relaxed);
}

DeviceReader* cuda_reader_if_made() { return made.load(std::memory_order_acquire); }

void cuda_after_fork_child() {
  new (&making) std::mutex;  // Another thread of the parent may have held it.
  if (DeviceReader* const reader = cuda_reader_if_made()) reader->after_fork_child();
}

}  // namespace k2k::shim
