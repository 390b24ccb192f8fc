#pragma once
// Memory that faults when it is touched, with a reader of its own. For tests; never installed.
//
// Threading: the test's.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "io/memory/separate_memory_fixture.hpp"
#include "router/read/device_reader.hpp"

namespace k2k::router {

struct SeparateDevice {
  explicit SeparateDevice(std::size_t bytes, const DeviceReaderConfig& config = small())
      : memory(std::make_shared<io::SeparateMemory>(bytes)) {
    auto made = DeviceReader::create(memory, config);
    EXPECT_TRUE(made.ok()) << made.error().message;
    reader = std::move(made).value();
    std::ranges::fill(memory->inside(), std::byte{0xee});
  }
  static DeviceReaderConfig small() {
    return {.paths = {.buffers = 2, .buffer_bytes = 64 * 1024}, .channels_kept = 2};
  }

  [[nodiscard]] std::byte* address() const { return memory->address(); }
  [[nodiscard]] std::byte* inside() const { return memory->inside().data(); }

  std::shared_ptr<io::SeparateMemory> memory;
  std::shared_ptr<DeviceReader> reader;
};

}  // namespace k2k::router
