#include "server/bottom_half.hpp"

#include <array>
#include <bit>
#include <thread>

#include "base/clock.hpp"

namespace k2k::server {

namespace {

// Row of every call number, so that classifying is one load.
constexpr std::size_t table_size = services::call_number_end;
constexpr std::array<std::int16_t, table_size> row_table = [] {
  std::array<std::int16_t, table_size> table{};
  for (std::int16_t& entry : table) entry = -1;
  for (int row = 0; row < calls::row_count; ++row) {
    if (calls::rows[row].number < table_size) {
      table[calls::rows[row].number] = static_cast<std::int16_t>(row);
    }
  }
  return table;
}();
constexpr auto nop_row = static_cast<std::int16_t>(calls::find(calls::nop_number));

std::int16_t row_of(std::uint16_t number) {
  if (number < table_size) return row_table[number];
  return number == calls::nop_number ? nop_row : std::int16_t{-1};
}

}  // namespace

services::Request BottomHalf::copy(const protocol::Slot& slot, std::uint32_t wave,
                                   std::uint32_t lane, std::uint16_t number) {
  services::Request request;
  for (int index = 0; index < protocol::argument_count; ++index) {
    request.arguments[index] = slot.arguments[index];
  }
  request.wave = wave;
  request.lane = static_cast<std::uint8_t>(lane);
  request.number = number;
  request.row = row_of(number);
  request.stamp = slot.stamp;
  request.attributes = protocol::unpack_attributes(slot.attributes);
  return request;
}

void BottomHalf::process(const Bundle& bundle, services::Openness openness, bool trace,
                         std::vector<Pending>& batch, std::vector<std::uint32_t>& answered,
                         ThreadStats& stats) const {
  const std::uint64_t row_lanes =
      area_->wave_lanes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << area_->wave_lanes) - 1;
  // All lines are asked for before the first is needed, and with ownership: each will be written.
  for (const protocol::Doorbell& doorbell : bundle) {
    for (std::uint64_t lanes = doorbell.lanes & row_lanes; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
      __builtin_prefetch(&area_->slot(doorbell.wave, lane), 1);
    }
  }
  const std::uint64_t moment = cycles();
  std::uint64_t accepted = 0;
  for (const protocol::Doorbell& doorbell : bundle) {
    bool answered_here = false;
    std::atomic_flag& busy = busy_rows_[doorbell.wave];
    while (busy.test_and_set(std::memory_order_acquire)) {  // Pairs with the clear below.
      std::this_thread::yield();
    }
    for (std::uint64_t lanes = doorbell.lanes & row_lanes; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
      protocol::Slot& slot = area_->slot(doorbell.wave, lane);
      const protocol::Control control = observe(slot);  // Pairs with publish() on the device.
      if (control.state != protocol::SlotState::ready) continue;
      const services::Request request = copy(slot, doorbell.wave, lane, control.number);
      protocol::move<protocol::SlotState::ready, protocol::SlotState::processing,
                     protocol::Side::host>(slot, control.number);
      ++accepted;
      if (trace) {
        stats.events.record({moment, telemetry::EventKind::accepted,
                             static_cast<std::uint8_t>(lane), request.number, request.wave});
      }
      std::int64_t value = services::admit(request, openness, *backend_);
      const bool never_blocks =
          request.row >= 0 && calls::rows[request.row].blocking == calls::Blocking::never;
      if (value == 0 && !never_blocks) {
        batch.push_back({request, {}});
        continue;
      }
      if (value != 0) {
        stats.refused.add();
      } else {
        services::Progress progress;
        value = services::execute_without_waiting(request, progress).value;
      }
      complete(*area_, request, value, protocol::TransportError::none, moment, stats,
               *detached_errors_);
      answered_here = true;
    }
    busy.clear(std::memory_order_release);
    if (answered_here) answered.push_back(doorbell.wave);
  }
  stats.accepted.add(accepted);
}

}  // namespace k2k::server
