#include "server/bottom_half.hpp"

#include <array>
#include <bit>
#include <thread>

#include "base/cache_line.hpp"
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

inline bool BottomHalf::process_row(const protocol::Doorbell& doorbell, const Processing& how,
                                    std::uint64_t moment, Pending& here,
                                    std::vector<Pending>& batch, ThreadStats& stats) const {
  std::uint64_t accepted = 0;
  bool answered = false;
  for (std::uint64_t lanes = doorbell.lanes & row_lanes_; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    protocol::Slot& slot = area_->slot(doorbell.wave, lane);
    const protocol::Control control = observe(slot);  // Pairs with publish() on the device.
    if (control.state != protocol::SlotState::ready) continue;
    const std::int16_t row = row_of(control.number);
    const bool never_blocks = row >= 0 && calls::rows[row].blocking == calls::Blocking::never;
    // What is answered here has a place that is used again and again.
    Pending& pending = never_blocks ? here : batch.emplace_back();
    services::Request& request = pending.request;
    for (int index = 0; index < protocol::argument_count; ++index) {
      request.arguments[index] = slot.arguments[index];
    }
    request.wave = doorbell.wave;
    request.lane = static_cast<std::uint8_t>(lane);
    request.number = control.number;
    request.row = row;
    request.stamp = slot.stamp;
    request.attributes = protocol::unpack_attributes(slot.attributes);
    protocol::move<protocol::SlotState::ready, protocol::SlotState::processing,
                   protocol::Side::host>(slot, control.number);
    ++accepted;
    if (how.trace) {
      stats.events.record({moment, telemetry::EventKind::accepted, static_cast<std::uint8_t>(lane),
                           request.number, request.wave});
    }
    std::int64_t value =
        row >= 0 && !checks_pointers_ ? 0 : services::admit(request, how.openness, *backend_);
    if (value == 0 && !never_blocks) continue;
    if (value != 0) {
      stats.refused.add();
    } else {
      value = services::execute_without_waiting(request, pending.progress).value;
    }
    complete(*area_, request, value, protocol::TransportError::none, moment, stats,
             *detached_errors_);
    if (!never_blocks) batch.pop_back();
    answered = true;
  }
  stats.accepted.add(accepted);
  return answered;
}

void BottomHalf::process(const Bundle& bundle, const Processing& how, std::vector<Pending>& batch,
                         std::vector<std::uint32_t>& answered, ThreadStats& stats) const {
  // All lines are asked for before the first is needed, and with ownership: each will be written.
  for (const protocol::Doorbell& doorbell : bundle) {
    for (std::uint64_t lanes = doorbell.lanes & row_lanes_; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
      prefetch_to_write(&area_->slot(doorbell.wave, lane));
    }
  }
  const std::uint64_t moment = cycles();
  Pending here;
  stats.booking.begin();
  for (const protocol::Doorbell& doorbell : bundle) {
    std::atomic_flag& busy = busy_rows_[doorbell.wave];
    while (how.shared && busy.test_and_set(std::memory_order_acquire)) {  // Pairs with the clear.
      std::this_thread::yield();
    }
    const bool answered_here = process_row(doorbell, how, moment, here, batch, stats);
    if (how.shared) busy.clear(std::memory_order_release);
    if (answered_here) answered.push_back(doorbell.wave);
  }
  stats.booking.end();
}

}  // namespace k2k::server
