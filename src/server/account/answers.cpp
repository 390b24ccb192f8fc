#include "server/account/answers.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/clock.hpp"
#include "base/naps.hpp"

namespace k2k::server {

void Answers::answer_late(ThreadStats& stats, const services::Request& request, std::int64_t value,
                          const Moments& moments) {
  const std::lock_guard lock(late_);
  if (refused_) return;
  const auto error =
      value == -ECANCELED ? protocol::TransportError::shutdown : protocol::TransportError::none;
  answer_by(stats, request, value, error, moments);
}

void Answers::answer_faults(ThreadStats& stats, std::vector<std::uint32_t>& rows,
                            std::span<const services::Fault> faults, const Moments& moments) {
  rows.clear();
  stats.counting.begin();
  std::uint64_t answers = 0;
  {
    AnswerCounts counts(stats, moments);
    for (const services::Fault& fault : faults) {
      const services::Request& request = fault.request;
      if (fault.answer.would_wait) continue;
      const auto error = fault.answer.value == -ECANCELED ? protocol::TransportError::shutdown
                                                          : protocol::TransportError::none;
      trace_answer(stats, request.wave, request.lane, request.number, moments);
      publish_answer(area_, request, fault.answer.value, error, moments, errors_);
      counts.add(request, fault.answer.value);
      ++answers;
      if (rows.empty() || rows.back() != request.wave) rows.push_back(request.wave);
    }
  }
  stats.counting.end();
  stats.times.record(telemetry::RequestPart::processing, moments.done - moments.begun, answers);
  backend_->resume(rows.data(), rows.size());
  charge_shares(stats, telemetry::Stage::completion, cycles() - moments.done, answers);
}

void Answers::answer_faults_late(ThreadStats& stats, std::vector<std::uint32_t>& rows,
                                 std::span<const services::Fault> faults, const Moments& moments) {
  const std::lock_guard lock(late_);
  if (!refused_) answer_faults(stats, rows, faults, moments);
}

Answers::Open Answers::open_slots() const {
  Open open = Open::none;
  for (std::uint32_t wave = 0; wave < area_.wave_count; ++wave) {
    for (std::uint32_t lane = 0; lane < area_.wave_lanes; ++lane) {
      const protocol::SlotState state = observe(area_.slot(wave, lane)).state;
      if (state == protocol::SlotState::ready) return Open::ready;
      if (owner_of(state) == protocol::Side::host) open = Open::processing;
    }
  }
  return open;
}

bool Answers::wait_for_all(Nanoseconds longest, const Work& work) const {
  using namespace std::chrono_literals;
  const Instant end = now() + std::min<Nanoseconds>(longest, 365 * 24h);
  Naps naps(20us, 1ms);
  std::optional<std::uint64_t> at_rest;
  for (Open open = open_slots(); open != Open::none; open = open_slots()) {
    if (now() >= end) return false;
    // A slot that the host has not accepted is `processing` only if the device wrote so.
    const auto rest = open == Open::processing && work ? work() : std::nullopt;
    if (rest && rest == at_rest) return true;
    at_rest = rest;
    backend_->wake_server();  // A poller may sleep although its parked requests are admitted now.
    naps.take();
  }
  return true;
}

void Answers::refuse_the_rest() {
  using protocol::Side;
  using protocol::SlotState;
  const std::lock_guard lock(late_);
  refused_ = true;
  protocol::store_release(area_.closed, 1u);  // Pairs with closed() on the device.
  for (std::uint32_t wave = 0; wave < area_.wave_count; ++wave) {
    for (std::uint32_t lane = 0; lane < area_.wave_lanes; ++lane) {
      protocol::Slot& slot = area_.slot(wave, lane);
      const protocol::Control control = observe(slot);
      if (owner_of(control.state) != Side::host) continue;
      if (control.state == SlotState::ready) {
        protocol::move<SlotState::ready, SlotState::processing, Side::host>(slot, control.number);
      }
      services::Request request;
      request.wave = wave;
      request.lane = static_cast<std::uint8_t>(lane);
      request.number = control.number;
      request.attributes = protocol::unpack_attributes(slot.attributes);
      const std::uint64_t moment = cycles();
      complete(area_, request, -ECANCELED, protocol::TransportError::shutdown, {moment, moment},
               *unread_, errors_);
    }
    backend_->resume(&wave, 1);
  }
}

}  // namespace k2k::server
