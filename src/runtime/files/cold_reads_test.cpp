// Goal: reads that wait for a disk delay no other call, and several of them wait at the same time.
// Method: the cpu device and the server without a Runtime, with a router whose reads wait until a
// work-item releases them. A take-over takes seconds here, so a test that needs one is late.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/k2k.hpp"
#include "router/door/files.hpp"
#include "router/file/file_fixture.hpp"
#include "runtime/backends.hpp"
#include "server/server.hpp"
#include "services/reader_fixture.hpp"

namespace k2k {
namespace {

constexpr std::uint32_t page = 4096;

template <class Body>
Status launch(backend::Backend& device, std::uint32_t groups, const Body& body) {
  backend::KernelImage kernel;
  kernel.entry = [](const void* closure) { (*static_cast<const Body*>(closure))(); };
  kernel.closure = &body;
  kernel.name = "cold reads";
  const auto report = device.launch(kernel, {groups, 1});
  return report ? Status() : Status(report.error());
}

struct Mode {
  server::BottomHalfMode bottom_half;
  const char* name;
};

class ColdReads : public testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    backend::DeviceConfig config;
    config.compute_units = 1;
    config.resident_waves = 16;
    config.resident_groups = 16;
    auto made = runtime::create_backend("cpu", config);
    ASSERT_TRUE(made.ok()) << made.error().message;
    device = std::move(made).value();
    server::ServerConfig serving;
    serving.takeover_us = 1'000'000;
    serving.bottom_half = GetParam().bottom_half;
    auto started =
        server::Server::start(*device, serving, {.files = std::make_shared<router::Files>(reader)});
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(started).value();
  }

  std::shared_ptr<services::WaitingReader> reader = std::make_shared<services::WaitingReader>();
  std::unique_ptr<backend::Backend> device;
  std::unique_ptr<server::Server> server;  // Ends before its device.
  router::DataFile file{64 * page};
  router::Memory memory = router::memory_of(64 * page);
};

TEST_P(ColdReads, wait_together_and_hold_no_other_call) {
  constexpr int reads = 5;
  std::atomic<int> wrong{0};
  const int descriptor = file.descriptor();
  std::byte* const into = memory.get();
  services::WaitingReader* const disk = reader.get();
  const Status status = launch(*device, 1 + reads, [&] {
    const std::uint32_t rank = group_rank();
    if (rank != 0) {
      const long count = pread(work_item, descriptor, into + rank * page, page, rank * page);
      wrong += count == page ? 0 : 1;
      return;
    }
    while (disk->inside() < reads) wrong += nop(work_item) == 0 ? 0 : 1;
    for (int call = 0; call < 1'000; ++call) wrong += nop(work_item) == 0 ? 0 : 1;
    disk->let_go();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(wrong.load(), 0);
  const server::Stats stats = server->stats();
  EXPECT_EQ(stats.takeovers, 0u);
  EXPECT_EQ(stats.in_flight, 0u);
}

TEST_P(ColdReads, that_are_more_than_threads_queue_and_are_answered) {
  constexpr int reads = 15;
  server::ServerConfig few = server->config();
  few.threads_max = 4;
  ASSERT_TRUE(server->reconfigure(few).ok());
  std::atomic<int> wrong{0};
  const int descriptor = file.descriptor();
  std::byte* const into = memory.get();
  services::WaitingReader* const disk = reader.get();
  const Status status = launch(*device, 1 + reads, [&] {
    const std::uint32_t rank = group_rank();
    if (rank != 0) {
      const long count = pread(work_item, descriptor, into + rank * page, page, rank * page);
      wrong += count == page ? 0 : 1;
      return;
    }
    for (int call = 0; call < 1'000; ++call) wrong += nop(work_item) == 0 ? 0 : 1;
    disk->let_go();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(server->stats().in_flight, 0u);
}

INSTANTIATE_TEST_SUITE_P(, ColdReads,
                         testing::Values(Mode{server::BottomHalfMode::monolithic, "monolithic"},
                                         Mode{server::BottomHalfMode::split, "split"}),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace k2k
