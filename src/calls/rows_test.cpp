// Goal: the table agrees with Linux' own headers, and is consistent.

#include "calls/rows.hpp"

#include <gtest/gtest.h>
#include <mqueue.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <utime.h>

#include <csignal>
#include <ctime>
#include <map>
#include <set>
#include <string>

#include "calls/table.hpp"

namespace k2k::calls {
namespace {

bool is_buffer(Kind kind) {
  switch (kind) {
    case Kind::path:
    case Kind::in_bytes:
    case Kind::out_bytes:
    case Kind::in_struct:
    case Kind::out_struct:
    case Kind::in_sized:
    case Kind::out_sized:
    case Kind::inout_struct:
    case Kind::out_limited:
    case Kind::text:
    case Kind::in_array:
    case Kind::out_array:
    case Kind::inout_array:
      return true;
    default:
      return false;
  }
}

TEST(Rows, have_a_number_and_a_name_of_their_own) {
  std::set<std::uint16_t> numbers;
  std::set<std::string> names;
  for (const Row& row : rows) {
    EXPECT_TRUE(numbers.insert(row.number).second) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

TEST(Rows, are_found_by_their_number_and_only_by_it) {
  for (std::uint32_t number = 0; number <= 0xffff; ++number) {
    const int index = find(static_cast<std::uint16_t>(number));
    if (index < 0) continue;
    EXPECT_EQ(rows[index].number, number);
  }
  for (int index = 0; index < row_count; ++index) EXPECT_EQ(find(rows[index].number), index);
  EXPECT_EQ(find(1023), -1);
}

TEST(Rows, have_shapes_for_the_host_at_the_same_places) {
  for (int index = 0; index < row_count; ++index) {
    const Row& row = rows[index];
    const Shape& shape = shapes[index];
    EXPECT_STREQ(shape.name, row.name);
    EXPECT_EQ(shape.number, row.number);
    EXPECT_EQ(shape.family, row.family);
    EXPECT_EQ(shape.blocking, row.blocking);
    for (int at = 0; at < parameters_max; ++at) {
      EXPECT_EQ(shape.parameters[at].kind, row.parameters[at].kind) << row.name;
      EXPECT_EQ(shape.parameters[at].size_from, row.parameters[at].size_from) << row.name;
      EXPECT_EQ(shape.parameters[at].bytes, row.parameters[at].bytes) << row.name;
    }
  }
}

TEST(Rows, count_as_linux_does) {
  EXPECT_EQ(number_in(Kind::value, ~std::uint64_t{0}), ~std::uint64_t{0});
  EXPECT_EQ(number_in(Kind::length, ~std::uint64_t{0}), 0u);
  EXPECT_EQ(number_in(Kind::length, 0x80000000), 0u) << "an int below 0";
  EXPECT_EQ(number_in(Kind::length, 0x700000007), 7u) << "32 bits of it";
  EXPECT_EQ(bytes_of(3, 12), 36u);
  EXPECT_EQ(bytes_of(std::uint64_t{1} << 62, 12), std::uint64_t{1} << 62);
}

TEST(Rows, of_basic_calls_come_first) {
  EXPECT_TRUE(is_basic(find(0)));
  EXPECT_TRUE(is_basic(find(nop_number)));
  EXPECT_EQ(find(nop_number), basic_count - 1);
  EXPECT_FALSE(is_basic(find(324)));
  EXPECT_FALSE(is_basic(-1));
}

TEST(Rows, say_how_long_everything_is_that_a_pointer_points_to) {
  for (const Row& row : rows) {
    const int count = parameter_count(row);
    for (int index = 0; index < count; ++index) {
      SCOPED_TRACE(std::string(row.name) + ", " + row.parameters[index].name);
      const Parameter& parameter = row.parameters[index];
      const std::string type = parameter.type;
      // A wrapper has parameters of these names, too.
      EXPECT_STRNE(parameter.name, "scope");
      EXPECT_STRNE(parameter.name, "options");
      const bool pointer = type.find('*') != std::string::npos;
      EXPECT_EQ(pointer, is_buffer(parameter.kind) || parameter.kind == Kind::address ||
                             parameter.kind == Kind::opaque);
      switch (parameter.kind) {
        case Kind::in_bytes:
        case Kind::out_bytes:
        case Kind::in_sized:
        case Kind::in_array:
        case Kind::out_array:
        case Kind::inout_array:
          ASSERT_LT(parameter.size_from, count);
          // Linux reads an int as one.
          EXPECT_EQ(row.parameters[parameter.size_from].kind,
                    std::string(row.parameters[parameter.size_from].type) == "int" ? Kind::length
                                                                                   : Kind::value);
          break;
        case Kind::out_limited:
        case Kind::out_sized:
          ASSERT_LT(parameter.size_from, count);
          EXPECT_EQ(row.parameters[parameter.size_from].kind, Kind::inout_struct);
          EXPECT_EQ(row.parameters[parameter.size_from].bytes, sizeof(std::uint32_t));
          break;
        default:
          break;
      }
      if (parameter.kind == Kind::in_struct || parameter.kind == Kind::out_struct ||
          parameter.kind == Kind::inout_struct || parameter.kind == Kind::in_sized ||
          parameter.kind == Kind::out_sized || parameter.kind == Kind::out_limited ||
          parameter.kind == Kind::text || is_array(parameter.kind)) {
        EXPECT_GT(parameter.bytes, 0);
      }
      // Read-only parameters are const for the caller, written ones are not.
      const bool read_only = parameter.kind == Kind::path || parameter.kind == Kind::in_bytes ||
                             parameter.kind == Kind::in_struct ||
                             parameter.kind == Kind::in_sized || parameter.kind == Kind::text ||
                             parameter.kind == Kind::in_array;
      EXPECT_EQ(type.starts_with("const "), read_only);
    }
    for (int index = count; index < parameters_max; ++index) {
      EXPECT_EQ(row.parameters[index].kind, Kind::none) << row.name << " has a gap";
    }
  }
}

TEST(Rows, give_defaults_only_to_the_last_parameters) {
  for (const Row& row : rows) {
    bool seen = false;
    for (int index = 0; index < parameter_count(row); ++index) {
      const bool has = row.parameters[index].fallback != nullptr;
      EXPECT_TRUE(has || !seen) << row.name;
      seen |= has;
    }
  }
}

TEST(Rows, know_the_sizes_of_the_system_s_structures) {
  const auto bytes = [](std::uint16_t number, int parameter) {
    return std::size_t{rows[find(number)].parameters[parameter].bytes};
  };
  EXPECT_EQ(bytes(35, 0), sizeof(timespec));
  EXPECT_EQ(bytes(35, 1), sizeof(timespec));
  EXPECT_EQ(bytes(98, 1), sizeof(rusage));
  EXPECT_EQ(bytes(129, 2), sizeof(siginfo_t));
  EXPECT_EQ(bytes(5, 1), sizeof(struct stat));
  EXPECT_EQ(bytes(138, 1), sizeof(struct statfs));
  EXPECT_EQ(bytes(262, 2), sizeof(struct stat));
  EXPECT_EQ(bytes(4, 1), sizeof(struct stat));
  EXPECT_EQ(bytes(6, 1), sizeof(struct stat));
  EXPECT_EQ(bytes(63, 0), sizeof(utsname));
  EXPECT_EQ(bytes(96, 0), sizeof(timeval));
  EXPECT_EQ(bytes(96, 1), sizeof(struct timezone));
  EXPECT_EQ(bytes(97, 1), sizeof(rlimit));
  EXPECT_EQ(bytes(99, 0), sizeof(struct sysinfo));
  EXPECT_EQ(bytes(100, 0), sizeof(tms));
  EXPECT_EQ(bytes(118, 2), sizeof(uid_t));
  EXPECT_EQ(bytes(137, 1), sizeof(struct statfs));
  EXPECT_EQ(bytes(228, 1), sizeof(timespec));
  EXPECT_EQ(bytes(280, 2), 2 * sizeof(timespec));
  EXPECT_EQ(bytes(293, 0), 2 * sizeof(int));
  EXPECT_EQ(bytes(326, 1), sizeof(loff_t));
  EXPECT_EQ(bytes(332, 4), sizeof(struct statx));
  EXPECT_EQ(bytes(7, 0), sizeof(pollfd));
  EXPECT_EQ(bytes(36, 1), sizeof(itimerval));
  EXPECT_EQ(bytes(65, 1), sizeof(sembuf));
  EXPECT_EQ(bytes(115, 1), sizeof(gid_t));
  EXPECT_EQ(bytes(132, 1), sizeof(utimbuf));
  EXPECT_EQ(bytes(159, 0), sizeof(timex));
  EXPECT_EQ(bytes(232, 1), sizeof(epoll_event));
  EXPECT_EQ(bytes(240, 3), sizeof(mq_attr));
  EXPECT_EQ(bytes(244, 1), sizeof(sigevent));
  EXPECT_EQ(bytes(247, 2), sizeof(siginfo_t));
  EXPECT_EQ(bytes(286, 2), sizeof(itimerspec));
}

TEST(Rows, have_the_names_of_linux_or_of_the_manual) {
  const std::map<std::string, std::string> of_manual = {{"pread", "pread64"},
                                                        {"pwrite", "pwrite64"}};
  for (const Row& row : rows) {
    if (row.family == Family::own) continue;
    const auto found = of_manual.find(row.name);
    const Entry* const entry = entry_of(row.number);
    ASSERT_NE(entry, nullptr) << row.name;
    EXPECT_EQ(found == of_manual.end() ? row.name : found->second, entry->name);
  }
}

}  // namespace
}  // namespace k2k::calls
