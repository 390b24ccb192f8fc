#include "services/own_descriptors.hpp"

#include <linux/close_range.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

#include "base/own_descriptors.hpp"
#include "calls/rows.hpp"
#include "services/raw.hpp"

namespace k2k::services {

namespace {

// Bit i: argument i is a descriptor.
using Places = std::uint8_t;

constexpr std::array<Places, calls::row_count> masks_of_rows = [] {
  std::array<Places, calls::row_count> masks{};
  for (std::size_t row = 0; row < masks.size(); ++row) {
    for (unsigned index = 0; index < calls::parameters_max; ++index) {
      if (calls::shapes[row].parameters[index].kind != calls::Kind::descriptor) continue;
      masks[row] = static_cast<Places>(masks[row] | 1u << index);
    }
  }
  return masks;
}();

// Of calls without a row, by number; what policy.cpp refuses is not here.
struct Named {
  std::uint16_t number;
  Places mask;
};
constexpr Places first = 1;
constexpr Named named[] = {
    {282, first},  // signalfd
    {289, first},  // signalfd4
};

constexpr std::size_t numbers_end = 512;
// A call with a row is found by its number, too: a policy may take its row away (call_rules.hpp).
constexpr std::array<Places, numbers_end> masks_of_numbers = [] {
  std::array<Places, numbers_end> masks{};
  for (std::size_t row = 0; row < masks_of_rows.size(); ++row) {
    const std::uint16_t number = calls::shapes[row].number;
    if (number < numbers_end) masks[number] = masks_of_rows[row];
  }
  for (const Named& call : named) masks[call.number] = call.mask;
  return masks;
}();

Places mask_of(const Request& request) {
  if (request.row >= 0) return masks_of_rows[static_cast<std::size_t>(request.row)];
  return request.number < numbers_end ? masks_of_numbers[request.number] : Places{0};
}

}  // namespace

bool names_own(const Request& request) {
  for (unsigned left = mask_of(request); left != 0; left &= left - 1) {
    const auto index = static_cast<std::size_t>(std::countr_zero(left));
    if (is_own(static_cast<int>(request.arguments[index]))) return true;
  }
  return false;
}

std::int64_t close_range(std::uint64_t first_number, std::uint64_t last_number,
                         std::uint64_t flags) {
  if ((flags & CLOSE_RANGE_UNSHARE) != 0) return -EPERM;
  // As Linux takes them.
  const auto first = static_cast<std::uint32_t>(first_number);
  const auto last = static_cast<std::uint32_t>(last_number);
  if (first > last) return raw(SYS_close_range, first, last, flags);
  std::uint64_t from = first;
  while (from <= last) {
    const auto own = static_cast<std::uint64_t>(
        from < std::uint64_t{own_numbers_max} ? next_own(static_cast<int>(from)) : own_numbers_max);
    const bool meets = own < own_numbers_max && own <= last;
    const std::uint64_t end = meets ? own : std::uint64_t{last} + 1;
    if (end > from) {
      const std::int64_t closed = raw(SYS_close_range, from, end - 1, flags);
      if (closed != 0) return closed;
    }
    from = end + (meets ? 1 : 0);
  }
  return 0;
}

}  // namespace k2k::services
