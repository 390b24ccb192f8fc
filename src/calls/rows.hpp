#pragma once
// The system calls that have typed wrappers, one row per call. The wrapper generator, the device
// code that copies buffers to host-visible memory, and the server's services read it. Every call of
// Linux, for the host alone, is in calls/table.hpp.
//
// Numbers are those of Linux on x86-64: the services pass them to Linux, and do not compile for
// another processor (services/raw.hpp).
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

template <int size>
struct Rows {
  Row row[size] = {};
};

template <int size, int count>
K2K_HD constexpr void add_rows(Rows<size>& joined, int& end, const Row (&rows)[count]) {
  for (const Row& row : rows) joined.row[end++] = row;
}

template <int... counts>
K2K_HD constexpr Rows<(counts + ...)> join(const Row (&... arrays)[counts]) {
  Rows<(counts + ...)> joined{};
  int end = 0;
  (add_rows(joined, end, arrays), ...);
  return joined;
}

template <int size>
K2K_HD constexpr int size_of(const Rows<size>&) {
  return size;
}

inline constexpr auto basic =
    join(wrapped::file_rows, wrapped::directory_rows, wrapped::network_rows, wrapped::memory_rows,
         wrapped::process_rows, wrapped::device_rows, wrapped::time_rows, wrapped::event_rows,
         wrapped::system_rows, wrapped::own_rows);
inline constexpr auto open =
    join(basic.row, wrapped::further_file_rows, wrapped::further_directory_rows,
         wrapped::further_event_rows, wrapped::further_time_rows, wrapped::further_network_rows,
         wrapped::further_memory_rows, wrapped::further_process_rows, wrapped::further_ipc_rows,
         wrapped::further_system_rows, wrapped::further_scheduling_rows);
inline constexpr auto joined =
    join(open.row, wrapped::refused_file_rows, wrapped::refused_memory_rows,
         wrapped::refused_process_rows, wrapped::refused_time_rows);
inline constexpr int rows_of_basic = size_of(basic);
inline constexpr int rows_of_open = size_of(open);
inline constexpr int rows_of_all = size_of(joined);

struct Shapes {
  Shape shape[rows_of_all] = {};
};

K2K_HD constexpr Shapes shapes_of_rows() {
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
// Of the same indices. For host code at run time; `rows` is for constant expressions.
inline constexpr const Shape (&shapes)[row_count] = detail::shapes.shape;

// The basic calls: those that `server.policy = "known_only"` permits, and that have statistics of
// their own (decision 0075). Their rows come first. A call is basic only if its row is in an array
// of wrapped/ whose name does not begin with `further`.
inline constexpr int basic_count = detail::rows_of_basic;
K2K_HD constexpr bool is_basic(int row) { return row >= 0 && row < basic_count; }

// The calls that are not refused by every policy; rows of refused calls come last. They are in the
// arrays of wrapped/ whose names begin with `refused`.
inline constexpr int open_count = detail::rows_of_open;
K2K_HD constexpr bool is_open(int row) { return row >= 0 && row < open_count; }

// Index into rows, or -1: a call without a row is passed on unchanged (services/policy.hpp).
K2K_HD constexpr int find(std::uint16_t number) {
  for (int index = 0; index < row_count; ++index) {
    if (detail::shapes.shape[index].number == number) return index;
  }
  return -1;
}
// The row of a call that has one. Device code reads rows by it: nvcc takes the reference `rows` for
// a variable of the host and refuses it there (warning 20094), the object behind it not.
K2K_HD constexpr const Row& row_with(std::uint16_t number) {
  return detail::joined.row[find(number)];
}

// mmap, mremap, shmat: the answer is an address, which the device may not be able to follow.
K2K_HD constexpr bool answers_an_address(std::uint16_t number) {
  return number == 9 || number == 25 || number == 30;
}

// read, write, pread64, pwrite64: the host serves them with memory that only the device addresses,
// if it is registered (router/door/files.hpp).
K2K_HD constexpr bool takes_registered_memory(std::uint16_t number) {
  return number == 0 || number == 1 || number == 17 || number == 18;
}

}  // namespace k2k::calls
