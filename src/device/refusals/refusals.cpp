// Code that must not compile, with the expected message. One case per build: -DREFUSED=<n>, 0 is
// the control. Run by refusals.cmake as the test device/refusals.

#include "device/k2k.hpp"
#include "protocol/slot.hpp"

using k2k::protocol::Side;
using k2k::protocol::SlotState;

void refused(k2k::protocol::Slot& slot, char* buffer) {
#if REFUSED == 0  // Everything that is allowed, so that a refusal below is not a broken include.
  k2k::protocol::move<SlotState::free, SlotState::populating, Side::device>(slot);
  k2k::read(k2k::work_item, 0, buffer, 1);
  k2k::read(k2k::work_item, k2k::async | k2k::urgent | k2k::halting, 0, buffer, 1).redeem();
  k2k::read(k2k::work_item, k2k::wave_wide, 0, buffer, 1);
  k2k::read(k2k::work_group, k2k::relaxed | k2k::detached, 0, buffer, 1);
  k2k::read(k2k::kernel(1), k2k::relaxed, 0, buffer, 1);
  k2k::write(k2k::kernel(2), k2k::relaxed | k2k::detached, 0, buffer, 1);
  k2k::lseek(k2k::kernel(3), k2k::relaxed | k2k::as_producer, 0, 0, 0);
  k2k::syscall(k2k::kernel(4), k2k::relaxed | k2k::as_consumer | k2k::async, 39).redeem();
  long long word = 0;
  k2k::AtomicRef(word).store(1, k2k::memory_order_release, k2k::memory_scope_system);
  (void)k2k::AtomicRef(word).load(k2k::memory_order_acquire, k2k::memory_scope_system);
  (void)k2k::AtomicRef(word).fetch_min(1, k2k::memory_order_relaxed, k2k::memory_scope_work_group);
#elif REFUSED == 1
  k2k::read(k2k::work_item, k2k::relaxed, 0, buffer, 1);
  // expect: work-item scope is always strong
#elif REFUSED == 2
  k2k::read(k2k::kernel(0), 0, buffer, 1);
  // expect: kernel scope must be k2k::relaxed
#elif REFUSED == 3
  k2k::lseek(k2k::kernel(0), k2k::relaxed, 0, 0, 0);
  // expect: at kernel scope say which of the two is meant
#elif REFUSED == 4
  k2k::write(k2k::work_item, k2k::async | k2k::detached, 0, buffer, 1);
  // expect: a call is async or detached, not both
#elif REFUSED == 5
  k2k::write(k2k::work_group, k2k::wave_wide, 0, buffer, 1);
  // expect: wave_wide goes with work_item scope
#elif REFUSED == 6
  k2k::write(k2k::work_group, k2k::relaxed | k2k::as_consumer | k2k::as_producer, 0, buffer, 1);
  // expect: a call is as_consumer or as_producer, not both
#elif REFUSED == 7
  k2k::read(k2k::kernel(0), k2k::relaxed | k2k::async, 0, buffer, 1);
  // expect: a kernel-scope producer call is blocking
#elif REFUSED == 8
  k2k::syscall(k2k::kernel(0), k2k::relaxed, 39);
  // expect: at kernel scope a generic call names its role
#elif REFUSED == 9
  k2k::syscall(k2k::work_item, k2k::strong, 39, 1, 2, 3, 4, 5, 6, 7);
  // expect: a system call has at most six arguments
#elif REFUSED == 10
  k2k::syscall(k2k::work_item, k2k::strong, 39, 1.5);
  // expect: system calls take integers and pointers
#elif REFUSED == 11
  k2k::protocol::move<SlotState::free, SlotState::ready, Side::device>(slot);
  // expect: slot_state.hpp draws no such move for this side
#elif REFUSED == 12
  k2k::protocol::move<SlotState::free, SlotState::populating, Side::host>(slot);
  // expect: slot_state.hpp draws no such move for this side
#elif REFUSED == 13
  k2k::protocol::move<SlotState::processing, SlotState::ready, Side::host>(slot);
  // expect: slot_state.hpp draws no such move for this side
#elif REFUSED == 14
  int word = 0;
  k2k::AtomicRef(word).fetch_add(1, k2k::memory_order_relaxed, k2k::memory_scope_system);
  // expect: at system scope there are load and store alone
#elif REFUSED == 15
  int word = 0;
  k2k::AtomicRef(word).store(1, k2k::memory_order_acquire);
  // expect: a store is relaxed or release
#elif REFUSED == 16
  int word = 0;
  (void)k2k::AtomicRef(word).load(k2k::memory_order_release);
  // expect: a load is relaxed or acquire
#elif REFUSED == 17
  (void)k2k::AtomicRef(*buffer).load();
  // expect: AtomicRef takes integers of 32 or 64 bits
#endif
  static_cast<void>(slot);
  static_cast<void>(buffer);
}
