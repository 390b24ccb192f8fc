// Goal: the parsers read what kernels write, and survive every other text.

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "cli/watch/sources/counters.hpp"
#include "cli/watch/sources/text_files.hpp"
#include "cli/watch/sources/threads.hpp"

namespace k2k::watch {
namespace {

const std::string stat_text =
    "cpu  21726 10 3687 19246 231 3 39 15 0 0\n"
    "cpu0 10504 4 1608 10354 13 1 13 3 0 0\n"
    "cpu12 11222 6 2079 8891 218 2 26 11 0 0\n"
    "intr 182634 0 0\nctxt 275878\n";

const std::string interrupts_text =
    "           CPU0       CPU12      \n"
    " 24:          1          0  IO-APIC   5-edge      ACPI:Ged\n"
    " 36:          7      41942 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n"
    "LOC:      36022      37715   Local timer interrupts\n"
    "ERR:          0\n"
    "MIS:          0\n";

const std::string thread_text =
    "32 (kworker/u8:1-) (odd) S 2 0 0 0 -1 69238880 0 0 0 0 3 41 0 7 20 0 2 0 18 0 0 "
    "18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

TEST(WatchParsers, read_the_times_of_each_core) {
  const Times times = parse_stat(stat_text, 100);
  ASSERT_EQ(times.size(), 2u);
  const CoreTimes& core = times.at(12);
  EXPECT_DOUBLE_EQ(core.user_s, 112.28);
  EXPECT_DOUBLE_EQ(core.system_s, 20.79);
  EXPECT_DOUBLE_EQ(core.idle_s, 91.09);
  EXPECT_DOUBLE_EQ(core.interrupt_s, 0.02);
  EXPECT_DOUBLE_EQ(core.softirq_s, 0.26);
  EXPECT_DOUBLE_EQ(core.steal_s, 0.11);
}

TEST(WatchParsers, a_counter_that_fell_counts_as_nothing) {
  const CoreTimes passed = CoreTimes{.user_s = 3, .idle_s = 4}.since({.user_s = 1, .idle_s = 5});
  EXPECT_DOUBLE_EQ(passed.user_s, 2);
  EXPECT_DOUBLE_EQ(passed.idle_s, 0);
}

TEST(WatchParsers, read_interrupts_and_leave_totals_out) {
  const std::vector<CountedLine> lines = parse_counts(interrupts_text);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1].id, "36");
  EXPECT_EQ(lines[1].by_core, (std::map<int, std::uint64_t>{{0, 7}, {12, 41942}}));
  EXPECT_EQ(lines[1].rest, "PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0");
  EXPECT_EQ(lines[2].id, "LOC");
}

TEST(WatchParsers, read_a_thread_whose_name_has_brackets) {
  const auto thread = parse_thread(thread_text);
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->id, 32);
  EXPECT_EQ(thread->name, "kworker/u8:1-) (odd");
  EXPECT_TRUE(thread->of_kernel());
  EXPECT_TRUE(thread->is_pinned());
  EXPECT_EQ(thread->ticks, 44u);
  EXPECT_EQ(thread->child_ticks, 7u);
  EXPECT_EQ(thread->threads, 2u);
  EXPECT_EQ(thread->start_ticks, 18u);
  EXPECT_EQ(thread->core, 1);
}

TEST(WatchParsers, read_the_meaning_of_names) {
  const ThreadName worker = parse_name("kworker/0:1H-kblockd");
  EXPECT_TRUE(worker.worker);
  EXPECT_EQ(worker.workqueue, "kblockd");
  EXPECT_EQ(worker.common, "kworker kblockd");
  EXPECT_EQ(parse_name("kworker/u8:0+events_unbound").workqueue, "events_unbound");
  EXPECT_EQ(parse_name("kworker/u8:0-xe-ordered-wq").workqueue, "xe-ordered-wq");
  EXPECT_EQ(parse_name("kworker/R-writeback").workqueue, "writeback");
  EXPECT_EQ(parse_name("kworker/1:2").common, "kworker");
  EXPECT_EQ(parse_name("irq/41-virtio3-rx").interrupt, 41u);
  EXPECT_EQ(parse_name("irq/57-s-nvidia").interrupt, 57u);
  EXPECT_FALSE(parse_name("irq/-x").interrupt);
  EXPECT_FALSE(parse_name("irq/99999999999-x").interrupt);
  EXPECT_EQ(parse_name("ksoftirqd/1").common, "ksoftirqd");
  EXPECT_EQ(parse_name("jbd2/vda1-8").common, "jbd2/vda1-8");
  EXPECT_EQ(parse_name("").common, "");
}

TEST(WatchParsers, read_and_write_lists_of_cores) {
  EXPECT_EQ(cores_of("0-2,5\n"), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_EQ(list_of({0, 1, 2, 5}), "0-2,5");
  EXPECT_EQ(list_of({}), "");
  for (const char* wrong :
       {"", ",", "1,", "3-1", "a", "1-", "-1", "8192", "0-99999999999", "1 2"}) {
    EXPECT_FALSE(cores_of(wrong)) << wrong;
  }
}

TEST(WatchParsers, find_nothing_in_other_texts) {
  EXPECT_TRUE(parse_stat("", 100).empty());
  EXPECT_TRUE(parse_stat("cpu0 1 2\ncpux 1 2 3 4 5\ncpu1 1 2 x 4 5\n", 100).empty());
  EXPECT_TRUE(parse_counts("").empty());
  EXPECT_TRUE(parse_counts("no heading\n 1: 2 3\n").empty());
  EXPECT_TRUE(parse_counts("CPU0 CPU1\n: 1 2\n 7: 1 x\n 8 1 2\n").empty());
  for (const char* wrong : {"", "1", "1 (x", "1 (x) S 2\n", ") 1 (\n", "x (y) S 1 1\n"}) {
    EXPECT_FALSE(parse_thread(wrong)) << wrong;
  }
}

// A cut text never gives a number that the whole text does not contain: the cut line is left out.
TEST(WatchParsers, leave_a_line_out_that_is_cut_off) {
  const Times times = parse_stat(stat_text, 100);
  for (std::size_t size = 0; size <= stat_text.size(); ++size) {
    for (const auto& [core, time] : parse_stat(stat_text.substr(0, size), 100)) {
      EXPECT_DOUBLE_EQ(time.total_s(), times.at(core).total_s()) << size;
    }
  }
  const std::vector<CountedLine> lines = parse_counts(interrupts_text);
  for (std::size_t size = 0; size <= interrupts_text.size(); ++size) {
    const std::vector<CountedLine> some = parse_counts(interrupts_text.substr(0, size));
    ASSERT_LE(some.size(), lines.size());
    for (std::size_t at = 0; at < some.size(); ++at) {
      EXPECT_EQ(some[at].by_core, lines[at].by_core) << size;
    }
  }
  for (std::size_t size = 0; size < thread_text.size(); ++size) {
    EXPECT_FALSE(parse_thread(thread_text.substr(0, size))) << size;
  }
}

// Bytes of a right text are replaced, doubled and dropped at random; nothing may crash, and every
// answer stays within its limits.
TEST(WatchParsers, survive_garbage) {
  std::mt19937 random(20);
  const auto damaged = [&](std::string text) {
    for (int change = 0; change < 8 && !text.empty(); ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.insert(at, text.substr(at, random() % 40));
          break;
        default:
          text.erase(at, random() % 40);
      }
    }
    return text;
  };
  std::size_t read = 0;
  for (int round = 0; round < 3000; ++round) {
    for (const auto& [core, time] : parse_stat(damaged(stat_text), 100)) {
      EXPECT_TRUE(core >= 0 && core < cores_max);
      EXPECT_GE(time.total_s(), 0);
    }
    read += parse_counts(damaged(interrupts_text)).size();
    if (const auto thread = parse_thread(damaged(thread_text))) {
      EXPECT_GE(thread->id, 0);
      static_cast<void>(parse_name(thread->name));
    }
    static_cast<void>(cores_of(damaged("0-2,5,9-11")));
  }
  EXPECT_GT(read, 0u);  // Some lines were still right.
}

}  // namespace
}  // namespace k2k::watch
