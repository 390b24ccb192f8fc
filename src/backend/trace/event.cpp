#include "backend/trace/event.hpp"

#include <algorithm>

namespace k2k::backend::trace {

namespace {

// In the order of Operation.
constexpr OperationRow rows[operation_count] = {
    {Operation::nop, "nop", Unit::none, 0, 0},
    {Operation::getpid, "getpid", Unit::none, 0, 0},
    {Operation::clock_gettime, "clock_gettime", Unit::none, 0, 0},
    {Operation::nanosleep, "nanosleep", Unit::microseconds, 0, 1e6},
    {Operation::pread, "pread", Unit::bytes, 0, item_bytes},
    {Operation::pwrite, "pwrite", Unit::bytes, 0, item_bytes},
    {Operation::fault, "fault", Unit::bytes, 1, item_bytes},
    {Operation::cost, "cost", Unit::microseconds, 0, 1e4},
    {Operation::release, "release", Unit::bytes, 1, item_bytes},
    {Operation::move_pages, "move_pages", Unit::pages, 1, pages_a_call_max},
    {Operation::signal, "signal", Unit::none, 0, 0},
};
static_assert(std::all_of(std::begin(rows), std::end(rows), [](const OperationRow& row) {
  return &row == &rows[int(row.operation)];
}));

}  // namespace

std::span<const OperationRow, operation_count> operation_rows() { return rows; }

const OperationRow* find_operation(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(rows), std::end(rows),
                   [name](const OperationRow& row) { return row.name == name; });
  return found == std::end(rows) ? nullptr : found;
}

std::string_view name_of(Operation operation) { return rows[static_cast<int>(operation)].name; }

}  // namespace k2k::backend::trace
