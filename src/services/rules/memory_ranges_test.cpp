// Goal: under a policy that names memory, no word of a request leads Linux to other memory:
// pointers, sizes, addresses of mappings; and no call passes whose memory its words do not tell.

#include "services/rules/memory_ranges.hpp"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/own_process.hpp"
#include "base/ranges.hpp"
#include "calls/rows.hpp"
#include "calls/table.hpp"
#include "router/door/files.hpp"
#include "services/rules/call_judge.hpp"
#include "services/rules/call_rules.hpp"
#include "services/rules/giving_backend_fixture.hpp"
#include "services/services_fixture.hpp"

namespace k2k::services {
namespace {

class MemoryRangesTest : public testing::Test {
 protected:
  void make(WantedMemory wanted) { ranges = std::make_unique<MemoryRanges>(std::move(wanted)); }
  std::int64_t answer(long number, std::initializer_list<std::uint64_t> words) {
    Request request;
    request.number = static_cast<std::uint16_t>(number);
    request.row = static_cast<std::int16_t>(calls::find(request.number));
    std::copy(words.begin(), words.end(), request.arguments);
    const auto refusal = ranges->refusal(request, backend, registered);
    return refusal ? refusal->value : 0;
  }

  GivingBackend backend;
  Ranges registered;
  const WholePages heap{2};
  const std::uint64_t inside = as_word(backend.given.data());
  const std::uint64_t wild = as_word(heap.data());
  const std::uint64_t constant = as_word(backend.constants.data());
  std::unique_ptr<MemoryRanges> ranges;
};

TEST_F(MemoryRangesTest, pointers_name_memory_of_kernels_with_all_their_bytes) {
  make({.of_kernels = true});
  EXPECT_EQ(answer(SYS_read, {0, inside, 8192}), 0);
  EXPECT_EQ(answer(SYS_read, {0, inside, 8193}), -EFAULT);
  EXPECT_EQ(answer(SYS_read, {0, inside + 1, 8192}), -EFAULT);
  EXPECT_EQ(answer(SYS_read, {0, inside, UINT64_MAX}), -EFAULT);
  EXPECT_EQ(answer(SYS_read, {0, UINT64_MAX, 2}), -EFAULT);
  EXPECT_EQ(answer(SYS_read, {0, wild, 1}), -EFAULT);
  EXPECT_EQ(answer(SYS_write, {1, wild, 1}), -EFAULT);
  EXPECT_EQ(answer(SYS_read, {0, wild, 0}), 0) << "no bytes";
  EXPECT_EQ(answer(SYS_read, {0, 0, 1}), 0) << "Linux answers it";
  EXPECT_EQ(answer(SYS_pread64, {0, wild, 1, 0}), -EFAULT);
  EXPECT_EQ(answer(SYS_open, {wild, O_RDONLY}), -EFAULT) << "a path discloses what it names";
  EXPECT_EQ(answer(SYS_fstat, {0, inside + 8192 - 143}), -EFAULT);
  EXPECT_EQ(answer(SYS_clock_gettime, {0, wild}), -EFAULT);
  EXPECT_EQ(answer(SYS_getpid, {}), 0);
}

TEST_F(MemoryRangesTest, constants_are_read_and_never_written) {
  make({.of_kernels = true});
  EXPECT_EQ(answer(SYS_write, {1, constant, 64}), 0);
  EXPECT_EQ(answer(SYS_open, {constant, O_RDONLY}), 0);
  EXPECT_EQ(answer(SYS_read, {0, constant, 64}), -EFAULT);
  EXPECT_EQ(answer(SYS_stat, {constant, constant}), -EFAULT);
}

TEST_F(MemoryRangesTest, the_arena_and_registered_memory_are_memory_of_kernels) {
  const protocol::AreaView& area = backend.area();
  ASSERT_GT(area.arena_blocks, 0u);
  const std::uint64_t bytes = std::uint64_t{area.arena_blocks} * protocol::arena_block_bytes;
  ASSERT_EQ(registered.add(heap.data(), 100), 0);
  make({.of_kernels = true});
  EXPECT_EQ(answer(SYS_read, {0, as_word(area.arena), bytes}), 0);
  EXPECT_EQ(answer(SYS_read, {0, as_word(area.arena), bytes + 1}), -EFAULT);
  EXPECT_EQ(answer(SYS_read, {0, as_word(area.slots), 8}), -EFAULT);
  EXPECT_EQ(answer(SYS_read, {0, wild, 100}), 0);
  EXPECT_EQ(answer(SYS_read, {0, wild, 101}), -EFAULT);
  make({});
  EXPECT_EQ(answer(SYS_read, {0, as_word(area.arena), 8}), -EFAULT) << "an empty list";
  EXPECT_EQ(answer(SYS_read, {0, wild, 100}), -EFAULT);
}

TEST_F(MemoryRangesTest, ranges_of_the_program_hold_what_lies_within_one_of_them) {
  make({.ranges = {{wild, 16}, {wild + 16, 16}}});
  EXPECT_EQ(answer(SYS_read, {0, wild, 16}), 0);
  EXPECT_EQ(answer(SYS_read, {0, wild + 16, 16}), 0);
  EXPECT_EQ(answer(SYS_read, {0, wild + 8, 16}), -EFAULT) << "no single range";
  EXPECT_EQ(answer(SYS_read, {0, wild - 1, 2}), -EFAULT);
  EXPECT_EQ(answer(SYS_read, {0, inside, 1}), -EFAULT) << "\"kernels\" is not named";
}

TEST_F(MemoryRangesTest, sizes_are_those_that_linux_may_touch) {
  make({.ranges = {{inside, 2048}}});
  // Of a set a copy has at most 1,024 bytes, and Linux as many as the number of descriptors says.
  EXPECT_EQ(answer(SYS_select, {16'384, inside, 0, 0, 0}), 0);
  EXPECT_EQ(answer(SYS_select, {16'385, inside, 0, 0, 0}), -EFAULT);
  EXPECT_EQ(answer(SYS_poll, {inside, 256, 0}), 0);
  EXPECT_EQ(answer(SYS_poll, {inside, 257, 0}), -EFAULT);
  // The name of a peer: as many bytes as a length in memory says, which may change.
  EXPECT_EQ(answer(SYS_accept, {0, inside, inside + 512}), 0);
  EXPECT_EQ(answer(SYS_accept, {0, inside + 2048 - 127, inside}), -EFAULT);
  EXPECT_EQ(answer(SYS_accept, {0, inside, wild}), -EFAULT);
  EXPECT_EQ(answer(SYS_futex, {inside, FUTEX_WAIT, 0, inside + 8}), 0);
  EXPECT_EQ(answer(SYS_futex, {wild, FUTEX_WAKE, 1}), -EFAULT);
  EXPECT_EQ(answer(SYS_futex, {inside + 2046, FUTEX_WAKE, 1}), -EFAULT);
  EXPECT_EQ(answer(SYS_futex, {inside, FUTEX_WAIT, 0, wild}), -EFAULT);
  EXPECT_EQ(answer(SYS_futex, {inside, FUTEX_WAKE_OP, 1, 7, wild}), -EFAULT);
  EXPECT_EQ(answer(SYS_futex, {inside, FUTEX_WAKE, 1, 7}), 0) << "no timeout";
}

TEST_F(MemoryRangesTest, mappings_change_within_the_ranges_alone) {
  make({.of_kernels = true});
  EXPECT_EQ(answer(SYS_madvise, {inside, 4096, MADV_DONTNEED}), 0);
  for (const int number : {SYS_munmap, SYS_mprotect, SYS_madvise, SYS_msync, SYS_mlock}) {
    EXPECT_EQ(answer(number, {wild, 4096, 0}), -EFAULT) << number;
    EXPECT_EQ(answer(number, {0, std::uint64_t{1} << 47, 0}), -EFAULT) << "all of it: " << number;
  }
  EXPECT_EQ(answer(SYS_munmap, {inside + 8191, 1}), 0);
  EXPECT_EQ(answer(SYS_munmap, {inside + 8191, 2}), -EFAULT) << "a byte of the next page";
  EXPECT_EQ(answer(SYS_munmap, {inside, UINT64_MAX}), -EFAULT);
  constexpr std::uint64_t fixed = MAP_FIXED | MAP_ANONYMOUS | MAP_PRIVATE;
  EXPECT_EQ(answer(SYS_mmap, {0, 4096, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE}), 0);
  EXPECT_EQ(answer(SYS_mmap, {wild, 4096, PROT_READ, fixed}), -EFAULT);
  EXPECT_EQ(answer(SYS_mmap, {inside, 4096, PROT_READ, fixed}), 0);
  constexpr std::uint64_t everything = std::uint64_t{1} << 46;
  EXPECT_EQ(answer(SYS_mmap, {0, everything, PROT_READ, fixed}), -EFAULT) << "0 is a place";
  EXPECT_EQ(answer(SYS_mmap, {0, everything, PROT_READ, fixed | MAP_FIXED_NOREPLACE}), -EFAULT);
  EXPECT_EQ(answer(SYS_mmap, {inside, 4096, PROT_READ, fixed | MAP_HUGETLB}), -EFAULT)
      << "more than its 4,096 bytes";
  EXPECT_EQ(answer(SYS_mmap, {inside, 4096, PROT_READ, MAP_FIXED | MAP_SHARED, 3}), -EFAULT)
      << "a file in hugetlbfs, too";
  EXPECT_EQ(answer(SYS_mmap, {inside, 4096, PROT_READ, MAP_SHARED, 3}), 0) << "a wish";
  EXPECT_EQ(answer(SYS_mremap, {inside, 4096, everything, MREMAP_MAYMOVE | MREMAP_FIXED, 0}),
            -EFAULT);
  EXPECT_EQ(answer(SYS_mremap, {inside, 4096, 8192, 0, 0}), 0);
  EXPECT_EQ(answer(SYS_mremap, {inside, 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, wild}), -EFAULT);
  EXPECT_EQ(answer(SYS_mremap, {wild, 0, 4096, MREMAP_MAYMOVE, 0}), -EFAULT);
  EXPECT_EQ(answer(SYS_shmat, {1, 0, 0}), 0);
  EXPECT_EQ(answer(SYS_shmat, {1, inside, SHM_REMAP}), -EFAULT) << "of any size";
  EXPECT_EQ(answer(SYS_shmdt, {wild}), -EFAULT);
}

TEST_F(MemoryRangesTest, calls_whose_memory_their_words_do_not_tell_are_refused) {
  make({.of_kernels = true});
  for (const int number : {SYS_move_pages, SYS_bpf, SYS_quotactl, SYS_kexec_load, SYS_signalfd4,
                           SYS_io_getevents, SYS_io_pgetevents, SYS_io_cancel, 999}) {
    EXPECT_EQ(answer(number, {0, inside, 1, inside}), -EACCES) << number;
  }
  EXPECT_EQ(answer(SYS_ioctl, {0, TCGETS, inside}), 0);
  EXPECT_EQ(answer(SYS_ioctl, {0, TCGETS, wild}), -EFAULT);
  EXPECT_EQ(answer(SYS_ioctl, {0, FIOCLEX, wild}), 0) << "a number";
  EXPECT_EQ(answer(SYS_ioctl, {0, 0x8912 /* SIOCGIFCONF, with a pointer */, inside}), -EACCES);
  EXPECT_EQ(answer(SYS_ioctl, {0, 0xc028aa03 /* UFFDIO_COPY, likewise */, inside}), -EACCES);
  EXPECT_EQ(answer(SYS_semctl, {1, 0, 13 /* GETALL */, inside, 0}), -EACCES) << "of any size";
  EXPECT_EQ(answer(SYS_semctl, {1, 0, 13, inside, 4}), 0);
  EXPECT_EQ(answer(SYS_fcntl, {0, F_SETLK, wild}), -EFAULT);
  EXPECT_EQ(answer(SYS_fcntl, {0, F_DUPFD, wild}), 0) << "a number";
}

// Their structures lie in the ranges, too: part_copies_test.cpp has what they name.
TEST_F(MemoryRangesTest, structures_of_vectors_and_messages_lie_within_the_ranges) {
  make({.of_kernels = true});
  for (const int number : {SYS_readv, SYS_writev, SYS_preadv, SYS_pwritev, SYS_preadv2,
                           SYS_pwritev2, SYS_sendmsg, SYS_recvmsg, SYS_sendmmsg, SYS_recvmmsg}) {
    EXPECT_EQ(MemoryRanges::use_of(static_cast<std::uint16_t>(number)), MemoryRanges::Use::parts);
    EXPECT_EQ(answer(number, {0, inside, 1}), 0) << number;
    EXPECT_EQ(answer(number, {0, wild, 1}), -EFAULT) << number;
    EXPECT_EQ(answer(number, {0, inside + 8192 - 15, 1}), -EFAULT) << number;
  }
  EXPECT_EQ(answer(SYS_readv, {0, constant, 4}), 0) << "an element is read";
  EXPECT_EQ(answer(SYS_sendmsg, {0, constant, 0}), 0);
  EXPECT_EQ(answer(SYS_recvmsg, {0, constant, 0}), -EFAULT) << "lengths are written";
  EXPECT_EQ(answer(SYS_sendmmsg, {0, constant, 1}), -EFAULT);
  EXPECT_EQ(answer(SYS_pselect6, {1, inside, 0, 0, 0, inside + 64}), 0);
  EXPECT_EQ(answer(SYS_pselect6, {1, inside, 0, 0, 0, wild}), -EFAULT);
}

// A device of another maker may say nothing of the memory that it gives to kernels.
TEST_F(MemoryRangesTest, a_device_that_tells_no_memory_has_the_arena_alone) {
  backend.facts.kernel_memory = nullptr;
  make({.of_kernels = true});
  EXPECT_EQ(answer(SYS_read, {0, inside, 1}), -EFAULT);
  EXPECT_EQ(answer(SYS_read, {0, as_word(backend.area().arena), 8}), 0);
  make({.ranges = {{inside, 16}}});
  EXPECT_EQ(answer(SYS_read, {0, inside, 16}), 0) << "the program named it";
}

TEST_F(MemoryRangesTest, a_range_of_the_program_that_covers_memory_of_k2k_leaves_it_out) {
  const OwnMemory own(heap.data() + 4096, 4096);
  make({.ranges = {{0, std::uint64_t{1} << 47}}});
  EXPECT_EQ(answer(SYS_read, {0, wild, 4096}), 0);
  EXPECT_EQ(answer(SYS_read, {0, wild, 4097}), -EFAULT);
  EXPECT_EQ(answer(SYS_write, {0, wild + 4096, 1}), -EFAULT);
  EXPECT_EQ(answer(SYS_read, {0, inside, 8192}), 0);
  make({.of_kernels = true, .ranges = {{0, std::uint64_t{1} << 47}}});
  EXPECT_EQ(answer(SYS_read, {0, wild + 4096, 1}), -EFAULT);
  const OwnMemory stacks(backend.given.data(), 8192);
  EXPECT_EQ(answer(SYS_read, {0, inside, 8192}), 0) << "stacks of work-items are K2K's, too";
}

// No pointer of a row is forgotten.
TEST_F(MemoryRangesTest, every_pointer_of_every_row_is_judged) {
  make({.ranges = {{inside, 8192}}});
  int judged = 0;
  for (int row = 0; row < calls::open_count; ++row) {
    const calls::Shape& shape = calls::shapes[row];
    if (shape.number >= call_number_end) continue;
    for (std::size_t index = 0; index < calls::parameters_max; ++index) {
      const calls::Kind kind = shape.parameters[index].kind;
      if (calls::is_one_of(kind, calls::Kind::none, calls::Kind::value, calls::Kind::length,
                           calls::Kind::descriptor, calls::Kind::by_command)) {
        continue;
      }
      Request request;
      request.number = shape.number;
      for (std::uint64_t& word : request.arguments) word = 64;
      for (std::size_t other = 0; other < calls::parameters_max; ++other) {
        const calls::Kind its = shape.parameters[other].kind;
        const bool is_memory =
            !calls::is_one_of(its, calls::Kind::none, calls::Kind::value, calls::Kind::length,
                              calls::Kind::descriptor, calls::Kind::by_command);
        if (is_memory) request.arguments[other] = other == index ? wild : inside;
      }
      EXPECT_TRUE(ranges->refusal(request, backend, registered))
          << shape.name << " argument " << index;
      ++judged;
    }
  }
  EXPECT_GT(judged, 200);
}

TEST_F(MemoryRangesTest, calls_without_memory_stay_unjudged_and_refusals_are_written) {
  WantedRules wanted;
  wanted.memory = {.of_kernels = true};
  wanted.audit_file = testing::TempDir() + "k2k_memory_audit";
  ::unlink(wanted.audit_file.c_str());
  const auto made = CallRules::create(wanted);
  ASSERT_TRUE(made) << made.error().message;
  CallRules& rules = *made.value();
  EXPECT_TRUE(rules.permits_all(SYS_getpid));
  EXPECT_FALSE(rules.permits(SYS_pread64)) << "no read is made on the spot";
  EXPECT_FALSE(rules.permits_all(calls::host_call_number));
  EXPECT_FALSE(rules.refuses(SYS_keyctl)) << "K2K makes such calls for itself, behind walls, too";
  const OpenRows open(false, &rules);
  EXPECT_TRUE(open.has(static_cast<std::int16_t>(calls::find(SYS_getpid))));
  EXPECT_FALSE(open.has(static_cast<std::int16_t>(calls::find(SYS_read))));
  const router::Files files;
  CallJudge judge(backend, false, files, &rules, Openness::any);
  Request request;
  request.number = SYS_read;
  request.row = static_cast<std::int16_t>(calls::find(SYS_read));
  request.arguments[1] = wild;
  request.arguments[2] = 16;
  EXPECT_EQ(judge(request), -EFAULT);
  request.arguments[1] = inside;
  EXPECT_EQ(judge(request), 0);
  std::ifstream log(wanted.audit_file);
  std::string line;
  std::getline(log, line);
  EXPECT_EQ(line,
            fmt::format("k2k audit: wave 0 lane 0: read: EFAULT: argument 1 names 16 bytes at "
                        "{:#x}, beyond memory.ranges",
                        wild));
  EXPECT_FALSE(std::getline(log, line));
  ::unlink(wanted.audit_file.c_str());
}

}  // namespace
}  // namespace k2k::services
