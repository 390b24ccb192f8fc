#pragma once
// The system calls that have typed wrappers, one row per call. The wrapper generator, the device
// code that copies buffers to host-visible memory, and the server's services read it. Every call of
// Linux, for the host alone, is in calls/table.hpp.
//
// Numbers are those of Linux on x86-64: the services pass them to the kernel, and do not compile
// for another processor (services/raw.hpp).
//
// C++17, freestanding, constant.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"
#include "calls/row.hpp"
#include "calls/wrapped/device.hpp"
#include "calls/wrapped/directory.hpp"
#include "calls/wrapped/event.hpp"
#include "calls/wrapped/file.hpp"
#include "calls/wrapped/ipc.hpp"
#include "calls/wrapped/memory.hpp"
#include "calls/wrapped/network.hpp"
#include "calls/wrapped/own.hpp"
#include "calls/wrapped/process.hpp"
#include "calls/wrapped/scheduling.hpp"
#include "calls/wrapped/system.hpp"
#include "calls/wrapped/time.hpp"

namespace k2k::calls {

namespace detail {

template <int count>
constexpr int size_of(const Row (&)[count]) {
  return count;
}

inline constexpr int rows_of_basic =
    size_of(wrapped::file_rows) + size_of(wrapped::directory_rows) +
    size_of(wrapped::network_rows) + size_of(wrapped::memory_rows) +
    size_of(wrapped::process_rows) + size_of(wrapped::device_rows) + size_of(wrapped::time_rows) +
    size_of(wrapped::event_rows) + size_of(wrapped::system_rows) + size_of(wrapped::own_rows);

inline constexpr int rows_of_all =
    rows_of_basic + size_of(wrapped::further_file_rows) + size_of(wrapped::further_directory_rows) +
    size_of(wrapped::further_event_rows) + size_of(wrapped::further_time_rows) +
    size_of(wrapped::further_network_rows) + size_of(wrapped::further_memory_rows) +
    size_of(wrapped::further_process_rows) + size_of(wrapped::further_ipc_rows) +
    size_of(wrapped::further_system_rows) + size_of(wrapped::further_scheduling_rows);

struct Rows {
  Row row[rows_of_all] = {};
  int count = 0;
};

template <int count>
constexpr void add_rows(Rows& joined, const Row (&family)[count]) {
  for (const Row& row : family) joined.row[joined.count++] = row;
}

constexpr Rows rows_of_all_families() {
  Rows joined;
  add_rows(joined, wrapped::file_rows);
  add_rows(joined, wrapped::directory_rows);
  add_rows(joined, wrapped::network_rows);
  add_rows(joined, wrapped::memory_rows);
  add_rows(joined, wrapped::process_rows);
  add_rows(joined, wrapped::device_rows);
  add_rows(joined, wrapped::time_rows);
  add_rows(joined, wrapped::event_rows);
  add_rows(joined, wrapped::system_rows);
  add_rows(joined, wrapped::own_rows);
  add_rows(joined, wrapped::further_file_rows);
  add_rows(joined, wrapped::further_directory_rows);
  add_rows(joined, wrapped::further_event_rows);
  add_rows(joined, wrapped::further_time_rows);
  add_rows(joined, wrapped::further_network_rows);
  add_rows(joined, wrapped::further_memory_rows);
  add_rows(joined, wrapped::further_process_rows);
  add_rows(joined, wrapped::further_ipc_rows);
  add_rows(joined, wrapped::further_system_rows);
  add_rows(joined, wrapped::further_scheduling_rows);
  return joined;
}

inline constexpr Rows joined = rows_of_all_families();

struct Shapes {
  Shape shape[rows_of_all] = {};
};

constexpr Shapes shapes_of_rows() {
  Shapes shapes;
  for (int index = 0; index < rows_of_all; ++index) {
    const Row& row = joined.row[index];
    Shape& shape = shapes.shape[index];
    shape.name = row.name;
    shape.number = row.number;
    shape.family = row.family;
    shape.blocking = row.blocking;
    for (int at = 0; at < parameters_max; ++at) {
      const Parameter& parameter = row.parameters[at];
      shape.parameters[at] = {parameter.kind, parameter.size_from, parameter.bytes};
    }
  }
  return shapes;
}

inline constexpr Shapes shapes = shapes_of_rows();

}  // namespace detail

inline constexpr int row_count = detail::rows_of_all;
inline constexpr const Row (&rows)[row_count] = detail::joined.row;
// Of the same indices. For host code that runs, as opposed to what a compiler evaluates.
inline constexpr const Shape (&shapes)[row_count] = detail::shapes.shape;

// The basic calls: those that `server.policy = "known_only"` permits, and that have statistics of
// their own (decision 0075). Their rows come first. A call is basic only if its row is in an array
// of wrapped/ whose name does not begin with `further`.
inline constexpr int basic_count = detail::rows_of_basic;
K2K_HD constexpr bool is_basic(int row) { return row >= 0 && row < basic_count; }

// Index into rows, or -1: a call without a row is passed on unchanged (services/policy.hpp).
K2K_HD constexpr int find(std::uint16_t number) {
  for (int index = 0; index < row_count; ++index) {
    if (shapes[index].number == number) return index;
  }
  return -1;
}

// read, write, pread64, pwrite64: the host serves them with memory that only the device addresses,
// if it is registered (router/door/files.hpp).
K2K_HD constexpr bool takes_registered_memory(std::uint16_t number) {
  return number == 0 || number == 1 || number == 17 || number == 18;
}

}  // namespace k2k::calls
