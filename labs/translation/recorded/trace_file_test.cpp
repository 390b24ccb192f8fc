// Goal: a trace comes back as it was written; a file that is cut, of another version or changed in
// any byte is refused with its reason; whatever a file with a right check has, a trace that is read
// can be replayed.

#include "labs/translation/recorded/trace_file.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "base/temporary_folder.hpp"
#include "labs/translation/simulated/machine.hpp"

namespace k2k::labs::translation {
namespace {

RecordedTrace random_recording(std::uint32_t seed, std::uint32_t waves) {
  std::mt19937_64 random(seed);
  RecordedTrace trace{"program", seed % 2 == 0, random(), {}};
  for (std::uint32_t wave = 0; wave < waves; ++wave) {
    trace.accesses.begin_wave();
    for (std::uint64_t at = random() % 9; at > 0; --at) {
      const auto lanes = static_cast<std::uint32_t>(1 + random() % 64);
      const std::uint64_t base = random() >> (8 + random() % 40);
      const std::uint64_t stride = random() % 5'000;
      trace.accesses.access(lanes, 8, static_cast<std::uint32_t>(random() % 300), random() % 2 == 0,
                            [&](std::uint32_t lane) { return base + lane * stride; });
    }
  }
  return trace;
}

bool same(const RecordedTrace& one, const RecordedTrace& other) {
  const auto instructions = [](const WaveTrace& trace) {
    std::vector<std::uint64_t> all;
    for (const auto& each : trace.instructions) {
      all.insert(all.end(), {each.first, each.lines, each.lanes, each.compute, each.waits});
    }
    for (const auto& each : trace.waves) all.insert(all.end(), {each.first, each.count});
    return all;
  };
  return one.program == other.program && one.sorted == other.sorted && one.bytes == other.bytes &&
         one.accesses.lines == other.accesses.lines &&
         instructions(one.accesses) == instructions(other.accesses);
}

void set_check(std::vector<std::byte>& bytes) {
  const std::uint64_t check = check_of_trace(bytes);
  std::memcpy(bytes.data() + 72, &check, sizeof(check));
}

template <class Value>
std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at, Value value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  set_check(bytes);
  return bytes;
}

std::string reason_of(const std::vector<std::byte>& bytes) {
  const auto trace = trace_of(bytes);
  return trace ? "" : trace.error().message;
}

TEST(TraceFile, gives_back_what_was_written) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const RecordedTrace trace = random_recording(seed, seed);
    const auto again = trace_of(bytes_of(trace));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(same(trace, *again));
  }
}

TEST(TraceFile, is_small_where_lines_are_near_each_other) {
  RecordedTrace trace{"program", true, 0, {}};
  trace.accesses.begin_wave();
  for (std::uint64_t at = 0; at < 1'000; ++at) {
    trace.accesses.access(64, 8, 3, true, [&](std::uint32_t lane) {
      return (std::uint64_t{1} << 40) + at * 512 + lane * 8;
    });
  }
  EXPECT_LT(bytes_of(trace).size(), trace_head_bytes + 1'000 * 13);  // Eight lines each.
}

TEST(TraceFile, of_every_shorter_length_is_refused) {
  const std::vector<std::byte> bytes = bytes_of(random_recording(3, 12));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_NE(reason_of(cut), "") << length;
    if (length < trace_head_bytes) continue;
    set_check(cut);  // Also if nobody can tell from the check.
    ASSERT_NE(reason_of(cut), "") << length;
  }
}

TEST(TraceFile, with_any_other_bit_is_refused) {
  const std::vector<std::byte> bytes = bytes_of(random_recording(4, 20));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (std::uint32_t bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> changed = bytes;
      changed[at] ^= static_cast<std::byte>(1u << bit);
      ASSERT_NE(reason_of(changed), "") << at << ", bit " << bit;
    }
  }
}

TEST(TraceFile, tells_its_fault) {
  const std::vector<std::byte> good = bytes_of(random_recording(5, 10));
  EXPECT_EQ(reason_of(good), "");
  EXPECT_EQ(reason_of({}), "it is no trace of accesses, or is cut within its head");
  EXPECT_EQ(reason_of(with(good, 0, std::uint8_t{'k'})),
            "it is no trace of accesses, or is cut within its head");
  EXPECT_EQ(reason_of(with(good, 8, std::uint32_t{2})),
            "it has version 2; this program reads version 1");
  EXPECT_EQ(reason_of(with(good, 12, std::uint32_t{128})), "its lines have 128 bytes, not 64");
  EXPECT_EQ(reason_of(with(good, 16, std::uint8_t{0})),
            "byte 16: the name of the program is wrong");
  EXPECT_EQ(reason_of(with(good, 39, std::uint8_t{'x'})),
            "byte 16: the name of the program is wrong");
  EXPECT_NE(reason_of(with(good, 40, std::uint32_t{2})).find("cut or damaged"), std::string::npos);
  EXPECT_NE(reason_of(with(good, 44, ~std::uint32_t{0})).find("its head names 4294967295 wavef"),
            std::string::npos);
  EXPECT_NE(reason_of(with(good, 48, ~std::uint64_t{0})).find("cut or damaged"), std::string::npos);
  EXPECT_NE(reason_of(with(good, 56, std::uint64_t{1})).find("more lines than the head names"),
            std::string::npos);
  std::vector<std::byte> wrong_check = good;
  wrong_check[72] ^= std::byte{1};
  EXPECT_EQ(reason_of(wrong_check), "its check is wrong: it is cut or damaged");
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  set_check(longer);
  EXPECT_NE(reason_of(longer).find("bytes follow the last wavefront"), std::string::npos);
}

// One wavefront with one instruction, each of its numbers wrong in turn.
TEST(TraceFile, tells_the_wrong_number_of_a_record) {
  RecordedTrace trace{"program", true, 0, {}};
  trace.accesses.begin_wave();
  trace.accesses.access(2, 8, 7, true, [](std::uint32_t lane) { return 6'400 + lane * 640; });
  const std::vector<std::byte> good = bytes_of(trace);
  ASSERT_EQ(good.size(), trace_head_bytes + 8);  // 1; 1, 2, 7, 2, 200 in two bytes, 10.
  const auto says = [&](std::size_t at, std::uint8_t value) {
    return reason_of(with(good, trace_head_bytes + at, value));
  };
  EXPECT_NE(says(0, 2).find("more instructions than the head names"), std::string::npos);
  EXPECT_NE(says(0, 0).find("bytes follow the last wavefront"), std::string::npos);
  EXPECT_NE(says(1, 2).find("an instruction has flags 2"), std::string::npos);
  EXPECT_NE(says(2, 0).find("the number of lanes is 0; permitted are 1 to 64"), std::string::npos);
  EXPECT_NE(says(2, 65).find("the number of lanes is 65"), std::string::npos);
  EXPECT_NE(says(4, 0).find("the number of lines is 0; permitted are 1 to 4"), std::string::npos);
  EXPECT_NE(says(4, 5).find("the number of lines is 5"), std::string::npos);
  EXPECT_NE(says(5, 0xc9).find("a line is beyond the address space"), std::string::npos) << "< 0";
  EXPECT_NE(says(7, 0).find("two lines of an instruction are the same"), std::string::npos);
  EXPECT_NE(says(7, 0x80).find("the file ends within a record"), std::string::npos);
  std::vector<std::byte> endless = good;
  endless.resize(trace_head_bytes + 3);
  endless.insert(endless.end(), 12, std::byte{0xff});
  set_check(endless);
  EXPECT_NE(reason_of(endless).find("a number has more than 64 bits"), std::string::npos);
}

// The check is right after each mutation, so that the records are judged.
TEST(TraceFile, that_is_read_can_be_replayed_whatever_its_bytes) {
  const std::vector<std::byte> good = bytes_of(random_recording(6, 6));
  std::mt19937 random(9);
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes = good;
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = round % 4 == 0
                                 ? random() % bytes.size()
                                 : trace_head_bytes + random() % (bytes.size() - trace_head_bytes);
      bytes[at] = static_cast<std::byte>(random());
    }
    if (round % 7 == 0) bytes.resize(random() % bytes.size());
    if (bytes.size() >= trace_head_bytes) set_check(bytes);
    const auto trace = trace_of(bytes);
    if (!trace) {
      ASSERT_FALSE(trace.error().message.empty());
      continue;
    }
    ++read;
    const Counts counts = simulate({}, trace->accesses);
    ASSERT_EQ(counts.lines, trace->accesses.lines.size());
    ASSERT_TRUE(same(*trace, *trace_of(bytes_of(*trace))));
  }
  EXPECT_GT(read, 100);
}

TEST(TraceFile, folders_are_read_in_order_or_refused_with_the_file) {
  const auto made = TemporaryFolder::create("k2k-traces");
  ASSERT_TRUE(made) << made.error().message;
  const std::filesystem::path folder = made->path();
  const auto none = read_traces(folder.string());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ENOENT);
  EXPECT_NE(none.error().message.find("make them with k2k-accesses"), std::string::npos);
  EXPECT_FALSE(read_traces((folder / "missing").string()));
  RecordedTrace trace = random_recording(7, 3);
  for (const char* name : {"b", "a"}) {
    trace.program = name;
    ASSERT_TRUE(write_trace((folder / (std::string(name) + ".accesses")).string(), trace));
  }
  std::ofstream(folder / "other") << "x";
  const auto both = read_traces(folder.string());
  ASSERT_TRUE(both) << both.error().message;
  ASSERT_EQ(both->size(), 2u);
  EXPECT_EQ((*both)[0].program, "a");
  EXPECT_EQ((*both)[1].program, "b");
  std::ofstream(folder / "c.accesses") << "cut";
  const auto wrong = read_traces(folder.string());
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("c.accesses: it is no trace of accesses, or is cut within "
                                       "its head; record it anew with k2k-accesses"),
            std::string::npos)
      << wrong.error().message;
}

}  // namespace
}  // namespace k2k::labs::translation
