// Plain C only, see sanitizers.hpp.

#include "backend/cpu/simt/wait_report.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "calls/rows.hpp"

namespace k2k::backend::cpu {

namespace {

constexpr std::uint32_t items_named_max = 8;

// A text of bounded size that is appended to, and how many work-items it names.
struct Text {
  char* next;
  std::size_t left;
  std::uint32_t named = 0;

  void add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list arguments;
    va_start(arguments, format);
    const int wanted = std::vsnprintf(next, left, format, arguments);
    va_end(arguments);
    const std::size_t written = wanted < 0 ? 0 : static_cast<std::size_t>(wanted);
    const std::size_t taken = written < left ? written : left - 1;
    next += taken;
    left -= taken;
  }
};

const char* name_of(protocol::SlotState state) {
  constexpr const char* names[protocol::slot_state_count] = {"free", "populating", "ready",
                                                             "processing", "finished"};
  const auto index = static_cast<std::size_t>(state);
  return index < protocol::slot_state_count ? names[index] : "unknown";
}

const char* call_name(std::uint16_t number) {
  const int row = calls::find(number);
  return row < 0 ? "no row" : calls::shapes[row].name;
}

void describe_slot(Text& text, const protocol::AreaView& area, const protocol::Slot& slot) {
  const auto index = static_cast<std::uint64_t>(&slot - area.slots);
  const std::uint32_t word = __atomic_load_n(&slot.control, __ATOMIC_ACQUIRE);
  const auto number = static_cast<std::uint16_t>(word >> 16);
  text.add("waits for call %u (%s), slot %u/%u state %s", number, call_name(number),
           static_cast<std::uint32_t>(index / area.wave_lanes),
           static_cast<std::uint32_t>(index % area.wave_lanes),
           name_of(static_cast<protocol::SlotState>(word & 0xff)));
}

void describe_item(Text& text, const protocol::AreaView& area, const WorkItem& item) {
  const Group& group = *item.group;
  text.add("group %u item %u ", group.id, item.visible.rank);
  switch (item.state) {
    case ItemState::at_barrier:
      return text.add("at a barrier (%u of %u arrived)", group.arrived, group.live);
    case ItemState::at_ballot:
      return text.add("at a %s of its wave (%d of %d lanes arrived)",
                      item.wave->meeting == Meeting::shuffle ? "shuffle" : "ballot",
                      __builtin_popcountll(item.wave->arrived),
                      __builtin_popcountll(item.wave->live));
    case ItemState::at_page:
      return text.add("waits for a page that another lane of its wave asked for");
    case ItemState::polling:
    case ItemState::halted:
      return describe_slot(text, area, *item.slot);
    case ItemState::ready:
    case ItemState::running:
    case ItemState::done:
      return text.add(item.yielded ? "yields" : "ready");
  }
}

enum class Waits : std::uint8_t { all, slots, yields };

void describe_waiting(Text& text, const protocol::AreaView& area, const Residents& residents,
                      Waits which) {
  residents.for_each([&](const WorkItem& item) {
    const bool slot = item.state == ItemState::polling || item.state == ItemState::halted;
    const bool yields = item.state == ItemState::ready && item.yielded;
    if ((which == Waits::slots && !slot) || (which == Waits::yields && !yields)) return;
    if (text.named > items_named_max) return;
    if (text.named++ == items_named_max) return text.add(", ...");
    text.add("%s", text.named == 1 ? "" : ", ");
    describe_item(text, area, item);
  });
}

}  // namespace

void WaitReport::deadlock() {
  char items[1536];
  Text text{items, sizeof(items)};
  describe_waiting(text, area_, residents_, Waits::all);
  launch_.fail(EDEADLK, "kernel '%s': %u of %llu work-items wait forever: %s", launch_.name,
               residents_.live_items(),
               static_cast<unsigned long long>(launch_.groups) * launch_.group_items, items);
}

void WaitReport::answer_watchdog(std::uint64_t progress) {
  if (progress_before_ == progress) stall();
  progress_before_ = progress;
}

void WaitReport::stall() {
  std::uint32_t asked = stall_requested;
  if (!launch_.stall.compare_exchange_strong(asked, stall_writing, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
    return;
  }
  Text text{launch_.stall_text, sizeof(launch_.stall_text)};
  describe_waiting(text, area_, residents_, Waits::slots);
  describe_waiting(text, area_, residents_, Waits::yields);
  launch_.stall.store(stall_written, std::memory_order_release);  // Pairs with the watchdog.
}

}  // namespace k2k::backend::cpu
