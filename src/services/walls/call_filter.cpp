#include "services/walls/call_filter.hpp"

#include <linux/audit.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <span>

#include "services/policy.hpp"
#include "services/walls/own_calls.hpp"

namespace k2k::services {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t filter_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t filter_architecture = AUDIT_ARCH_AARCH64;
#else
#error "name the AUDIT_ARCH of this architecture"
#endif
static_assert(std::endian::native == std::endian::little);  // Of low_word().

constexpr std::uint32_t pass = SECCOMP_RET_ALLOW;
constexpr std::uint32_t answer_eperm = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t answer_enosys = SECCOMP_RET_ERRNO | ENOSYS;
constexpr std::size_t jump_max = 255;  // Of a conditional jump.

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter returns(std::uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }

std::size_t low_word(unsigned argument) {
  return offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t);
}

// What happens to the numbers from `first` on.
struct FilterRange {
  std::uint32_t first;
  bool refused;
  const OwnCall* own;  // Null, or the condition under which the refused number passes.

  [[nodiscard]] bool continues(const FilterRange& before) const {
    return own == nullptr && before.own == nullptr && refused == before.refused;
  }
};

void append_condition(const OwnCall& call, pid_t own, FilterProgram& program) {
  using When = OwnCall::When;
  const std::size_t word = low_word(call.argument);
  // One instruction that passes is the last one, and one that refuses stands before it.
  switch (call.when) {
    case When::always:
      break;
    case When::never_known:
      program.push_back(returns(answer_enosys));
      return;
    case When::argument_has:
      program.push_back(load(word));
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, call.values[0], 1, 0));
      program.push_back(returns(answer_eperm));
      break;
    case When::argument_is_zero:
      program.push_back(load(word));
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2));
      program.push_back(load(word + sizeof(std::uint32_t)));
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
      program.push_back(returns(answer_eperm));
      break;
    case When::process_is_own:
      program.push_back(load(word));
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(own), 1, 0));
      program.push_back(returns(answer_eperm));
      break;
    case When::argument_is: {
      const auto count = static_cast<std::uint8_t>(
          std::find(std::begin(call.values), std::end(call.values), 0u) - std::begin(call.values));
      program.push_back(load(word));
      for (std::uint8_t at = 0; at < count; ++at) {
        const auto to_pass = static_cast<std::uint8_t>(count - at);
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call.values[at], to_pass, 0));
      }
      program.push_back(returns(answer_eperm));
      break;
    }
  }
  program.push_back(returns(pass));
}

// A tree of comparisons whose leaves are the ranges.
FilterProgram tree_of(std::span<const FilterRange> ranges, pid_t own) {
  FilterProgram program;
  if (ranges.size() == 1) {
    const FilterRange& range = ranges.front();
    if (range.own != nullptr) {
      append_condition(*range.own, own, program);
    } else {
      program.push_back(returns(range.refused ? answer_eperm : pass));
    }
    return program;
  }
  const std::size_t middle = ranges.size() / 2;
  const FilterProgram low = tree_of(ranges.first(middle), own);
  const FilterProgram high = tree_of(ranges.subspan(middle), own);
  const std::uint32_t pivot = ranges[middle].first;
  const auto over_low = static_cast<std::uint32_t>(low.size());
  if (low.size() <= jump_max) {
    program.push_back(
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, pivot, static_cast<std::uint8_t>(over_low), 0));
  } else {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, pivot, 0, 1));
    program.push_back(BPF_STMT(BPF_JMP | BPF_JA, over_low));
  }
  program.insert(program.end(), low.begin(), low.end());
  program.insert(program.end(), high.begin(), high.end());
  return program;
}

const OwnCall* own_need(std::uint16_t number) {
  const auto* const found = std::ranges::find(own_calls, number, &OwnCall::number);
  return found == std::end(own_calls) ? nullptr : found;
}

std::vector<FilterRange> ranges_of(const std::function<bool(std::uint16_t)>& refuses) {
  std::vector<FilterRange> ranges;
  const auto add = [&ranges](FilterRange next) {
    if (ranges.empty() || !next.continues(ranges.back())) ranges.push_back(next);
  };
  for (std::uint16_t number = 0; number < call_number_end; ++number) {
    const bool refused = refuses(number);
    const OwnCall* const own = refused ? own_need(number) : nullptr;
    if (own != nullptr && own->when == OwnCall::When::always) {
      add({number, false, nullptr});
    } else {
      add({number, refused, own});
    }
  }
  add({call_number_end, true, nullptr});
  return ranges;
}

}  // namespace

FilterProgram filter_program(const std::function<bool(std::uint16_t)>& refuses, pid_t own) {
  FilterProgram program{
      load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, filter_architecture, 1, 0),
      returns(answer_eperm),
      load(offsetof(seccomp_data, nr)),
  };
  const FilterProgram tree = tree_of(ranges_of(refuses), own);
  program.insert(program.end(), tree.begin(), tree.end());
  return program;
}

}  // namespace k2k::services
