#pragma once
// Every system call of Linux on x86-64 (one Entry a call), found by number in constant time. For
// host code: policy, `k2k calls`, tests.
//
// A test compares the entries with the installed header of Linux. Entries that are newer than the
// header of Linux 6.1 (451 to 471) were compared with the Go module golang.org/x/sys, version
// 0.50.0 (unix/zsysnum_linux_amd64.go), whose 385 names and numbers equal the names and numbers of
// this table.
//
// C++17, freestanding, constant.

#include <cstddef>
#include <cstdint>

#include "calls/entry.hpp"
#include "calls/families/device.hpp"
#include "calls/families/directory.hpp"
#include "calls/families/event.hpp"
#include "calls/families/file.hpp"
#include "calls/families/ipc.hpp"
#include "calls/families/memory.hpp"
#include "calls/families/network.hpp"
#include "calls/families/process.hpp"
#include "calls/families/scheduling.hpp"
#include "calls/families/system.hpp"
#include "calls/families/time.hpp"

namespace k2k::calls {

// The first number beyond the entries.
inline constexpr std::uint16_t entry_numbers_end = 512;

namespace detail {

struct Table {
  const Entry* of_number[entry_numbers_end] = {};
  int count = 0;
};

template <std::size_t size>
constexpr void add_family(Table& table, const Entry (&family)[size]) {
  for (const Entry& entry : family) {
    table.of_number[entry.number] = &entry;
    ++table.count;
  }
}

constexpr Table table_of_families() {
  Table table;
  add_family(table, file_entries);
  add_family(table, directory_entries);
  add_family(table, network_entries);
  add_family(table, memory_entries);
  add_family(table, process_entries);
  add_family(table, scheduling_entries);
  add_family(table, device_entries);
  add_family(table, time_entries);
  add_family(table, event_entries);
  add_family(table, ipc_entries);
  add_family(table, system_entries);
  return table;
}

inline constexpr Table table = table_of_families();

}  // namespace detail

inline constexpr int entry_count = detail::table.count;

// Returns nullptr for a call that this version of K2K does not know.
constexpr const Entry* entry_of(std::uint16_t number) {
  return number < entry_numbers_end ? detail::table.of_number[number] : nullptr;
}

}  // namespace k2k::calls
