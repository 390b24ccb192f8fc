#pragma once
// Memory that faults when it is touched, with a reader of its own. For tests; never installed.
//
// Threading: the test's.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "io/memory/separate_memory_fixture.hpp"
#include "router/read/device_channels.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::router {

struct SeparateDevice {
  explicit SeparateDevice(std::size_t bytes, const ReaderConfig& config = {})
      : memory(std::make_shared<io::SeparateMemory>(bytes)) {
    auto made = FileReader::create(memory, config, small());
    EXPECT_TRUE(made.ok()) << made.error().message;
    reader = std::move(made).value();
    std::ranges::fill(memory->inside(), std::byte{0xee});
  }
  static DeviceChannelsConfig small() {
    return {.paths = {.buffers = 2, .buffer_bytes = 64 * 1024}, .channels_kept = 2};
  }

  [[nodiscard]] std::byte* address() const { return memory->address(); }
  [[nodiscard]] std::byte* inside() const { return memory->inside().data(); }

  std::shared_ptr<io::SeparateMemory> memory;
  std::shared_ptr<FileReader> reader;
};

}  // namespace k2k::router
