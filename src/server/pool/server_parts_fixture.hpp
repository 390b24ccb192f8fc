#pragma once
// For tests of objects that use the thread pool: a fake device, and every object that they need.
//
// Threading: as the objects say. Service threads keep the parts alive.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "calls/rows.hpp"
#include "router/door/files.hpp"
#include "server/account/answers.hpp"
#include "server/govern/admission.hpp"
#include "server/pool/request_queue.hpp"
#include "server/pool/roles.hpp"
#include "server/pool/service_threads.hpp"
#include "server/pool/set_aside_parts.hpp"
#include "server/pool/split_queue.hpp"
#include "server/pool/system_calls.hpp"
#include "server/pool/thread_pool.hpp"
#include "services/fake_backend_fixture.hpp"
#include "services/services.hpp"

namespace k2k::server {

struct ServerParts {
  ServerParts() = default;
  ServerParts(const ServerParts&) = delete;
  ServerParts& operator=(const ServerParts&) = delete;

  services::FakeBackend backend{{.rings = 2}};
  router::Files files;
  Answers answers{backend};
  Admission admission;
  services::HostFunctions functions{backend};
  SystemCalls system_calls{backend, files, functions, admission};
  ServiceThreads threads{system_calls.sleeping()};
  RequestPlaces places{answers.area()};
  Roles roles{backend};
  SplitQueue split{places};
  ThreadPool pool{{.backend = backend,
                   .admission = admission,
                   .threads = threads,
                   .roles = roles,
                   .split = split,
                   .places = places}};
  SetAsideParts set_aside{.backend = backend,
                          .files = files,
                          .answers = answers,
                          .admission = admission,
                          .sleeping = system_calls.sleeping(),
                          .threads = threads,
                          .places = places,
                          .pool = pool};

  static std::shared_ptr<ServerParts> make() {
    auto parts = std::make_shared<ServerParts>();
    parts->threads.keep_alive(parts);
    return parts;
  }

  // Publishes and accepts a request with these arguments.
  template <class... Arguments>
  services::Request accept(std::uint8_t lane, std::uint16_t number, Arguments... arguments) {
    using protocol::SlotState;
    protocol::Slot& slot = backend.plain.publish(1, lane, number);
    protocol::move<SlotState::ready, SlotState::processing, protocol::Side::host>(slot, number);
    services::Request request;
    request.wave = 1;
    request.lane = lane;
    request.number = number;
    request.row = static_cast<std::int16_t>(calls::find(number));
    int index = 0;
    ((request.arguments[index++] = (std::uint64_t)(arguments)), ...);
    return request;
  }
  // The device takes the answer, and may publish the slot again.
  void take_answer(const services::Request& request) {
    using protocol::SlotState;
    protocol::Slot& slot = backend.area().slot(request.wave, request.lane);
    protocol::move<SlotState::finished, SlotState::free, protocol::Side::device>(slot);
    protocol::unlock(backend.area(), request.wave, std::uint64_t{1} << request.lane);
  }
  // A read of an empty pipe, tried once.
  Pending tried_read(std::uint8_t lane, int pipe, std::span<char> buffer) {
    Pending call;
    call.request = accept(lane, __NR_read, pipe, buffer.data(), buffer.size());
    const services::Answer answer =
        services::execute_without_waiting(call.request, call.progress, files);
    EXPECT_TRUE(answer.would_wait);
    call.readiness = answer.readiness;
    return call;
  }
  // Waits for the answer, ten seconds at most.
  bool is_answered(std::uint32_t wave, std::uint8_t lane) {
    using namespace std::chrono_literals;
    const auto answered = [&] {
      return backend.plain.control(wave, lane).state == protocol::SlotState::finished;
    };
    const Instant patience = now() + 10s;
    while (!answered() && now() < patience) std::this_thread::sleep_for(100us);
    return answered();
  }
  bool is_answered(const services::Request& request) {
    return is_answered(request.wave, request.lane);
  }
  // Interrupts threads that must end until they have ended, as the server does: a thread that was
  // not asleep yet misses a signal.
  void interrupt_until_ended() {
    using namespace std::chrono_literals;
    const Instant patience = now() + 10s;
    do {
      system_calls.sleeping().interrupt(true);
    } while (!threads.wait_ended(1ms) && now() < patience);
    EXPECT_TRUE(threads.wait_ended(0ms));
    threads.release();
  }
  protocol::Control control_of(const services::Request& request) {
    return backend.plain.control(request.wave, request.lane);
  }
  std::int64_t value_of(const services::Request& request) {
    return backend.plain.answer(request.wave, request.lane);
  }
};

}  // namespace k2k::server
