// Goal: the table agrees with Linux' own headers, and is consistent.

#include "calls/rows.hpp"

#include <asm/unistd.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <csignal>
#include <ctime>
#include <map>
#include <set>
#include <string>

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

TEST(Rows, say_how_long_everything_is_that_a_pointer_points_to) {
  for (const Row& row : rows) {
    const int count = parameter_count(row);
    for (int index = 0; index < count; ++index) {
      SCOPED_TRACE(std::string(row.name) + ", " + row.parameters[index].name);
      const Parameter& parameter = row.parameters[index];
      const std::string type = parameter.type;
      const bool pointer = type.find('*') != std::string::npos;
      EXPECT_EQ(pointer, is_buffer(parameter.kind) || parameter.kind == Kind::address ||
                             parameter.kind == Kind::opaque);
      switch (parameter.kind) {
        case Kind::in_bytes:
        case Kind::out_bytes:
        case Kind::in_sized:
          ASSERT_LT(parameter.size_from, count);
          EXPECT_EQ(row.parameters[parameter.size_from].kind, Kind::value);
          break;
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
          parameter.kind == Kind::out_sized) {
        EXPECT_GT(parameter.bytes, 0);
      }
      // Read-only parameters are const for the caller, written ones are not.
      const bool read_only = parameter.kind == Kind::path || parameter.kind == Kind::in_bytes ||
                             parameter.kind == Kind::in_struct || parameter.kind == Kind::in_sized;
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
}

#if defined(__x86_64__)
TEST(Rows, have_the_numbers_of_linux_on_x86_64) {
  const std::map<std::string, long> expected = {
      {"read", __NR_read},
      {"write", __NR_write},
      {"open", __NR_open},
      {"close", __NR_close},
      {"fstat", __NR_fstat},
      {"fstatfs", __NR_fstatfs},
      {"lseek", __NR_lseek},
      {"mmap", __NR_mmap},
      {"munmap", __NR_munmap},
      {"ioctl", __NR_ioctl},
      {"pread", __NR_pread64},
      {"pwrite", __NR_pwrite64},
      {"madvise", __NR_madvise},
      {"nanosleep", __NR_nanosleep},
      {"getpid", __NR_getpid},
      {"sendto", __NR_sendto},
      {"recvfrom", __NR_recvfrom},
      {"fsync", __NR_fsync},
      {"getrusage", __NR_getrusage},
      {"rt_sigqueueinfo", __NR_rt_sigqueueinfo},
      {"getdents64", __NR_getdents64},
      {"openat", __NR_openat},
      {"newfstatat", __NR_newfstatat},
      {"fault_in", fault_in_number},
      {"nop", nop_number},
  };
  for (const Row& row : rows) {
    const auto found = expected.find(row.name);
    ASSERT_NE(found, expected.end()) << row.name << ": name its number here too";
    EXPECT_EQ(row.number, found->second) << row.name;
  }
  EXPECT_EQ(expected.size(), static_cast<std::size_t>(row_count));
}
#endif

}  // namespace
}  // namespace k2k::calls
