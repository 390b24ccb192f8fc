// Goal: the table has every call of the installed kernel header, under its name and number, and
// agrees with the rows of the typed wrappers.

#include "calls/table.hpp"

#include <gtest/gtest.h>
#include <linux/io_uring.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "calls/ring_operations.hpp"
#include "calls/rows.hpp"
#include "calls/waits.hpp"

namespace k2k::calls {
namespace {

// The calls that <asm/unistd_64.h> of this build names, as the preprocessor found the file.
std::map<std::uint16_t, std::string> calls_of_header() {
  std::map<std::uint16_t, std::string> calls;
  std::ifstream header(K2K_UNISTD_64);
  const std::string prefix = "__NR_";
  for (std::string line; std::getline(header, line);) {
    std::istringstream words(line);
    std::string define;
    std::string name;
    std::uint16_t number = 0;
    if (!(words >> define >> name >> number) || define != "#define") continue;
    if (name.starts_with(prefix)) calls[number] = name.substr(prefix.size());
  }
  return calls;
}

TEST(Table, has_every_call_of_the_installed_header) {
  const auto header = calls_of_header();
  ASSERT_GT(header.size(), 300u) << K2K_UNISTD_64;
  for (const auto& [number, name] : header) {
    const Entry* const entry = entry_of(number);
    ASSERT_NE(entry, nullptr) << name << ", number " << number
                              << ": add its row to src/calls/families/";
    EXPECT_EQ(entry->name, name) << number;
  }
}

TEST(Table, has_one_row_a_number_and_a_name) {
  std::set<std::string> names;
  int found = 0;
  for (std::uint32_t number = 0; number <= 0xffff; ++number) {
    const Entry* const entry = entry_of(static_cast<std::uint16_t>(number));
    if (entry == nullptr) continue;
    EXPECT_EQ(entry->number, number);
    EXPECT_TRUE(names.insert(entry->name).second) << entry->name;
    ++found;
  }
  EXPECT_EQ(found, entry_count) << "two rows have one number";
}

// No call waits without an end, and nothing ends what does not wait.
TEST(Table, says_of_each_call_that_waits_how_the_wait_ends) {
  std::set<std::uint16_t> numbers;
  for (const Wait& wait : waits) EXPECT_TRUE(numbers.insert(wait.number).second) << wait.number;
  for (std::uint16_t number = 0; number < entry_numbers_end; ++number) {
    const Entry* const entry = entry_of(number);
    const bool waits_for_peer =
        entry != nullptr && entry->blocking == Blocking::waits && entry->access != Access::refused;
    EXPECT_EQ(wait_end_of(number) != WaitEnd::none, waits_for_peer)
        << number << (entry == nullptr ? "" : entry->name);
  }
  EXPECT_EQ(wait_end_of(entry_numbers_end), WaitEnd::none);
}

TEST(Table, names_the_operations_of_io_uring_as_the_installed_header_does) {
  const std::map<std::string, int> header = {
      {"READV", IORING_OP_READV},
      {"WRITEV", IORING_OP_WRITEV},
      {"FSYNC", IORING_OP_FSYNC},
      {"SYNC_FILE_RANGE", IORING_OP_SYNC_FILE_RANGE},
      {"SENDMSG", IORING_OP_SENDMSG},
      {"RECVMSG", IORING_OP_RECVMSG},
      {"TIMEOUT", IORING_OP_TIMEOUT},
      {"ACCEPT", IORING_OP_ACCEPT},
      {"CONNECT", IORING_OP_CONNECT},
      {"FALLOCATE", IORING_OP_FALLOCATE},
      {"OPENAT", IORING_OP_OPENAT},
      {"CLOSE", IORING_OP_CLOSE},
      {"STATX", IORING_OP_STATX},
      {"READ", IORING_OP_READ},
      {"WRITE", IORING_OP_WRITE},
      {"FADVISE", IORING_OP_FADVISE},
      {"MADVISE", IORING_OP_MADVISE},
      {"SEND", IORING_OP_SEND},
      {"RECV", IORING_OP_RECV},
      {"OPENAT2", IORING_OP_OPENAT2},
      {"EPOLL_CTL", IORING_OP_EPOLL_CTL},
      {"SPLICE", IORING_OP_SPLICE},
      {"TEE", IORING_OP_TEE},
      {"SHUTDOWN", IORING_OP_SHUTDOWN},
      {"RENAMEAT", IORING_OP_RENAMEAT},
      {"UNLINKAT", IORING_OP_UNLINKAT},
      {"MKDIRAT", IORING_OP_MKDIRAT},
      {"SYMLINKAT", IORING_OP_SYMLINKAT},
      {"LINKAT", IORING_OP_LINKAT},
      {"FSETXATTR", IORING_OP_FSETXATTR},
      {"SETXATTR", IORING_OP_SETXATTR},
      {"FGETXATTR", IORING_OP_FGETXATTR},
      {"GETXATTR", IORING_OP_GETXATTR},
      {"SOCKET", IORING_OP_SOCKET},
  };
  constexpr int newer = 49;  // READ_MULTISHOT, of Linux 6.7.
  std::set<std::uint16_t> numbers;
  for (const RingOperation& operation : ring_operations) {
    EXPECT_TRUE(numbers.insert(operation.number).second) << operation.number;
    ASSERT_NE(entry_of(operation.number), nullptr) << operation.number;
    const auto known = header.find(operation.name);
    EXPECT_EQ(known == header.end(), operation.code >= newer) << operation.name;
    if (known == header.end()) continue;
    EXPECT_EQ(known->second, operation.code) << operation.name;
  }
  EXPECT_STREQ(ring_operation_of(17)->name, "READ");
  EXPECT_EQ(ring_operation_of(39), nullptr) << "getpid";
}

TEST(Table, gives_a_reason_for_every_call_that_is_not_simply_served) {
  for (std::uint16_t number = 0; number < entry_numbers_end; ++number) {
    const Entry* const entry = entry_of(number);
    if (entry == nullptr) continue;
    const bool plain = entry->kind == Class::ready && entry->access != Access::refused;
    if (!plain) {
      EXPECT_STRNE(entry->reason, "") << entry->name;
    }
  }
}

// A service thread is shared: what a call sets in it would stay for other requests.
TEST(Table, leaves_open_no_call_that_sets_a_thread_s_state) {
  const std::set<std::string> answers = {"capget",
                                         "get_mempolicy",
                                         "get_robust_list",
                                         "getcpu",
                                         "getpriority",
                                         "ioprio_get",
                                         "lsm_get_self_attr",
                                         "rt_sigpending",
                                         "sched_getaffinity",
                                         "sched_getattr",
                                         "sched_getparam",
                                         "sched_getscheduler",
                                         "sched_rr_get_interval"};
  for (std::uint16_t number = 0; number < entry_numbers_end; ++number) {
    const Entry* const entry = entry_of(number);
    if (entry == nullptr || entry->changes != Changes::thread) continue;
    EXPECT_NE(entry->kind, Class::ready) << entry->name;
    EXPECT_EQ(entry->access == Access::open, answers.count(entry->name) != 0) << entry->name;
  }
}

TEST(Table, agrees_with_the_rows_of_the_wrappers) {
  for (const Row& row : rows) {
    if (row.family == Family::own) continue;
    SCOPED_TRACE(row.name);
    const Entry* const entry = entry_of(row.number);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->family, row.family);
    EXPECT_EQ(entry->blocking, row.blocking);
    EXPECT_EQ(entry->kind, Class::ready);
    EXPECT_EQ(entry->access != Access::refused, is_open(find(row.number)))
        << "rows of refused calls are in arrays whose names begin with refused";
  }
}

TEST(Table, has_a_wrapper_for_every_ready_call) {
  for (std::uint16_t number = 0; number < entry_numbers_end; ++number) {
    const Entry* const entry = entry_of(number);
    if (entry == nullptr || entry->kind != Class::ready) continue;
    EXPECT_GE(find(number), 0) << entry->name << ": add its arguments to src/calls/wrapped/";
  }
}

TEST(Table, classifies_the_calls_of_linux_4_11_as_the_reference_says) {  // docs/reference/calls.md
  std::map<Class, int> counts;
  for (std::uint16_t number = 0; number < 333; ++number) {
    const Entry* const entry = entry_of(number);
    ASSERT_NE(entry, nullptr) << number;
    ++counts[entry->kind];
  }
  EXPECT_EQ(counts[Class::ready], 239);
  EXPECT_EQ(counts[Class::needs_device_hardware], 55);
  EXPECT_EQ(counts[Class::extensive_change], 20);
  EXPECT_EQ(counts[Class::obsolete], 19);
}

TEST(Table, knows_no_call_of_k2k_itself) {
  EXPECT_EQ(entry_of(nop_number), nullptr);
  EXPECT_EQ(entry_of(fault_in_number), nullptr);
}

}  // namespace
}  // namespace k2k::calls
