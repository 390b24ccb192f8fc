#pragma once
// For tests of the objects behind Server: a fake device and every object. The test's thread is the
// holder of a role. No other thread runs unless a test starts it.
//
// Threading: as the objects say.

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "base/asymmetric_barrier.hpp"
#include "base/clock.hpp"
#include "base/contract.hpp"
#include "server/core/guard.hpp"
#include "server/core/inline_units.hpp"
#include "server/core/leader.hpp"
#include "server/core/role_service.hpp"
#include "server/core/split_service.hpp"
#include "server/core/waiting_calls.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/pool/descriptor_watch.hpp"
#include "server/pool/fault_desk.hpp"
#include "server/pool/server_parts_fixture.hpp"
#include "server/reads/cold_reads.hpp"
#include "services/fault.hpp"

namespace k2k::server {

// The resolution of page faults; a test replaces it before the first fault.
inline std::function<std::size_t(std::span<services::Fault>, backend::Reading)> fake_resolution;
inline std::size_t resolve_by_test(std::span<services::Fault> faults, backend::Reading how) {
  return fake_resolution(faults, how);
}

struct CoreParts : ServerParts {
  ServerConfig config;

  BottomHalf bottom_half{answers.area(), backend, files, answers.errors()};
  FaultDesk faults{{.backend = backend,
                    .answers = answers,
                    .admission = admission,
                    .threads = threads,
                    .places = places,
                    .pool = pool,
                    .resolve = resolve_by_test}};
  DescriptorWatch descriptors{set_aside};
  FutexWatch words{set_aside};
  ColdReads reads{set_aside};
  HostDesk host_desk{set_aside, system_calls, functions};
  WaitingCalls waiting{system_calls, answers, descriptors, words, reads, host_desk, pool};
  RoleService service{{.backend = backend,
                       .files = files,
                       .answers = answers,
                       .bottom_half = bottom_half,
                       .admission = admission,
                       .system_calls = system_calls,
                       .threads = threads,
                       .places = places,
                       .pool = pool,
                       .faults = faults,
                       .waiting = waiting}};
  SplitService split_service{{.backend = backend,
                              .answers = answers,
                              .bottom_half = bottom_half,
                              .admission = admission,
                              .system_calls = system_calls,
                              .queue = split,
                              .pool = pool,
                              .faults = faults,
                              .waiting = waiting,
                              .config = config}};
  Leader leader{{.backend = backend,
                 .admission = admission,
                 .roles = roles,
                 .split_queue = split,
                 .pool = pool,
                 .service = service,
                 .split = split_service,
                 .config = config}};
  Guard guard{{.backend = backend,
               .bottom_half = bottom_half,
               .admission = admission,
               .split_queue = split,
               .split_service = split_service,
               .pool = pool,
               .faults = faults,
               .waiting = waiting,
               .leader = leader}};
  InlineUnits units{{.backend = backend, .threads = threads, .roles = roles, .service = service}};
};

class CoreTest : public testing::Test {
 protected:
  CoreTest() {
    register_asymmetric_barrier();
    parts->threads.keep_alive(parts);
    self.is_unit = false;
    self.reserve();
    K2K_EXPECT(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  }
  ~CoreTest() override {
    parts->faults.stop();
    parts->descriptors.stop();
    parts->words.stop();
    parts->reads.stop();
    parts->host_desk.stop();
    parts->pool.stop();
    self.is_unit = true;  // It runs on the test's thread, so there is no thread to wait for.
    parts->interrupt_until_ended();
    for (const int descriptor : pipe) ::close(descriptor);
  }

  // Makes the roles wanted, and takes the first for the test.
  Role& hold_role() {
    configure();
    Role* const role = parts->roles.take_vacant(self.index);
    K2K_EXPECT(role != nullptr);
    return *role;
  }
  void configure() {
    K2K_EXPECT(parts->roles.assign(parts->config).empty());
    parts->pool.resume(parts->config);
  }
  // Permits waits for descriptors, on a thread of their own.
  void watch_descriptors() {
    parts->descriptors.wake_by(Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  }

  // Publishes a request of `row`, without ringing.
  template <class... Arguments>
  void publish(std::uint32_t row, std::uint8_t lane, std::uint16_t number, Arguments... arguments) {
    protocol::Slot& slot = parts->backend.plain.view().slot(row, lane);
    int index = 0;
    ((slot.arguments[index++] = (std::uint64_t)(arguments)), ...);
    parts->backend.plain.publish(row, lane, number);
  }
  // `text` must live until the answer.
  void publish_write(std::uint32_t row, std::uint8_t lane, std::string_view text) {
    publish(row, lane, __NR_write, pipe[1], text.data(), text.size());
  }
  void publish_read(std::uint32_t row, std::uint8_t lane) {
    publish(row, lane, __NR_read, pipe[0], buffer.data(), buffer.size());
  }
  protocol::SlotState state(std::uint32_t row, std::uint8_t lane) {
    return parts->backend.plain.control(row, lane).state;
  }
  bool finishes(std::uint32_t row, std::uint8_t lane) { return parts->is_answered(row, lane); }
  std::int64_t answer(std::uint32_t row, std::uint8_t lane) {
    return parts->backend.plain.answer(row, lane);
  }
  std::string piped() {
    std::string text(64, '\0');
    const ssize_t count = ::read(pipe[0], text.data(), text.size());
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
  }

  std::shared_ptr<CoreParts> parts = std::make_shared<CoreParts>();
  ServiceThread& self = parts->threads.add_unit();
  std::array<int, 2> pipe{};
  std::array<char, 8> buffer{};
};

}  // namespace k2k::server
