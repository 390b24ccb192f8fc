#include "backend/trace/event.hpp"

#include <algorithm>

namespace k2k::backend::trace {

namespace {

// In the order of Ask.
constexpr AskRow rows[ask_count] = {
    {Ask::nop, "nop", Unit::none, 0, 0},
    {Ask::getpid, "getpid", Unit::none, 0, 0},
    {Ask::clock_gettime, "clock_gettime", Unit::none, 0, 0},
    {Ask::nanosleep, "nanosleep", Unit::microseconds, 0, 1e6},
    {Ask::pread, "pread", Unit::bytes, 0, item_bytes},
    {Ask::pwrite, "pwrite", Unit::bytes, 0, item_bytes},
    {Ask::fault, "fault", Unit::bytes, 1, item_bytes},
    {Ask::cost, "cost", Unit::microseconds, 0, 1e4},
};
static_assert(std::all_of(std::begin(rows), std::end(rows),
                          [](const AskRow& row) { return &row == &rows[int(row.ask)]; }));

}  // namespace

std::span<const AskRow, ask_count> ask_rows() { return rows; }

const AskRow* find_ask(std::string_view name) {
  const auto* const found = std::find_if(std::begin(rows), std::end(rows),
                                         [name](const AskRow& row) { return row.name == name; });
  return found == std::end(rows) ? nullptr : found;
}

std::string_view name_of(Ask ask) { return rows[static_cast<int>(ask)].name; }

}  // namespace k2k::backend::trace
