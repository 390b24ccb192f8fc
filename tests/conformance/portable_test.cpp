// Goal: behaviour that every device must have, GPUs included: the scope of calls, the results of
// the other work-items, the memory for data, and the end of a launch.
//
// The kernels are compiled for every backend (by nvcc into conformance_gpu_test), so they avoid
// everything that a GPU lacks (portable_kernels.hpp). The rest of the suite passes host memory by
// reference, which only the cpu backend permits.

#include <algorithm>
#include <cstring>
#include <string>

#include "k2k/demand_region.hpp"
#include "tests/conformance/device_under_test.hpp"
#include "tests/conformance/portable_kernels.hpp"

namespace k2k::conformance::portable_test {
namespace {

// Memory of a runtime that host and kernels share.
template <class Value>
class Shared {
 public:
  explicit Shared(Runtime& runtime, std::size_t count = 1) : runtime_(runtime), count_(count) {
    Result<void*> memory = runtime.allocate_shared(count * sizeof(Value));
    if (!memory.ok()) std::abort();
    values_ = static_cast<Value*>(memory.value());
  }
  ~Shared() { runtime_.free_shared(values_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  [[nodiscard]] Value* get() const { return values_; }
  Value& operator[](std::size_t index) const { return values_[index]; }
  [[nodiscard]] std::size_t count_of(const Value& value) const {
    return static_cast<std::size_t>(std::count(values_, values_ + count_, value));
  }
  [[nodiscard]] bool all(const Value& value) const { return count_of(value) == count_; }

 private:
  Runtime& runtime_;
  std::size_t count_;
  Value* values_ = nullptr;
};

class Portable : public DeviceUnderTest {
 protected:
  // The small device, with nothing that only the cpu backend can do. Strict: as a GPU is. A call
  // that waits and an unredeemed ticket keep their block of the arena. Where work-items hold a
  // block while they wait for another, the arena needs as many blocks as are held at the same time.
  Runtime start_portable(std::uint32_t blocks = 8) {
    return start([blocks](RuntimeConfig& config) {
      config.device.strict = true;
      config.device.arena_blocks = blocks;
    });
  }
};
K2K_EVERY_DEVICE(Portable);

// --- The scope of calls.

TEST_P(Portable, every_work_item_gets_its_own_answer) {
  Runtime runtime = start_portable();
  const std::uint32_t groups = scaled(16, 4);
  const Shared<long> answers(runtime, groups * items);
  launch(runtime, groups, items, OwnAnswerKernel{answers.get()});
  EXPECT_TRUE(answers.all(-EBADF + 1000l * ::getpid()));
}

TEST_P(Portable, a_work_group_calls_once_and_all_get_the_answer) {
  Runtime runtime = start_portable();
  const Pair pipe;
  const Shared<long> answers(runtime, 6 * items);
  launch(runtime, 6, items, GroupCallKernel{pipe.out(), answers.get()});
  EXPECT_TRUE(answers.all(3));
  EXPECT_EQ(read_all(pipe.in(), 18).size(), 18u);
  ::fcntl(pipe.in(), F_SETFL, O_NONBLOCK);
  char more = 0;
  EXPECT_EQ(::read(pipe.in(), &more, 1), -1) << "called more than once a group";
}

TEST_P(Portable, a_strong_write_carries_the_earlier_stores_of_every_lane) {
  Runtime runtime = start_portable();
  const TemporaryFile file;
  launch(runtime, 4, items, StrongWriteKernel{file.fd});
  for (std::uint32_t group = 0; group < 4; ++group) {
    EXPECT_EQ(file.content().substr(group * items, items),
              std::string(items, static_cast<char>('a' + group)));
  }
}

TEST_P(Portable, a_relaxed_write_lets_the_others_go_on_with_einprogress) {
  Runtime runtime = start_portable();
  const TemporaryFile file;
  const Shared<long> answers(runtime, items);
  launch(runtime, 1, items, RelaxedWriteKernel{file.fd, answers.get()});
  EXPECT_EQ(answers[0], static_cast<long>(items));
  EXPECT_EQ(answers.count_of(-EINPROGRESS), items - 1);
  EXPECT_EQ(file.content().size(), items);
  EXPECT_EQ(file.content().substr(40), "01234567");
}

TEST_P(Portable, a_relaxed_read_shows_its_data_and_its_answer_to_every_lane) {
  Runtime runtime = start_portable();
  const TemporaryFile file(std::string(items, 'r') + std::string(items, 's'));
  const Shared<int> right(runtime, 4 * items);
  launch(runtime, 4, items, RelaxedReadKernel{file.fd, right.get()});
  EXPECT_TRUE(right.all(1));
}

TEST_P(Portable, answers_of_calls_in_a_row_never_mix) {
  Runtime runtime = start_portable();
  const TemporaryFile file(std::string(100, 'x'));
  const Shared<int> wrong(runtime, 4 * items);
  launch(runtime, 4, items, MixedCallsKernel{file.fd, wrong.get()});
  EXPECT_TRUE(wrong.all(0));
}

TEST_P(Portable, local_memory_is_zeroed_for_each_group) {
  Runtime runtime = start_portable();
  const std::uint32_t groups = scaled(2000, 20);  // Many times the device's capacity.
  const Shared<int> wrong(runtime, groups * items);
  for (int launches = 0; launches < 2; ++launches) {
    launch(runtime, groups, items, LocalMemoryKernel{wrong.get()});
    EXPECT_TRUE(wrong.all(0));
  }
}

TEST_P(Portable, lanes_of_a_wave_vote_and_exchange_values) {
  Runtime runtime = start_portable();
  const Shared<int> right(runtime, 3 * items);
  launch(runtime, 3, items, WaveKernel{right.get()});
  EXPECT_TRUE(right.all(1));
}

// --- Kernel scope.

TEST_P(Portable, the_last_group_writes_for_the_whole_kernel) {
  Runtime runtime = start_portable();
  const TemporaryFile file;
  const std::uint32_t groups = scaled(2000, 20);  // A grid that does not fit on the device.
  const Shared<char> text(runtime, groups);
  const Shared<long> answers(runtime, groups * 16);
  launch(runtime, groups, 16, LastGroupKernel{file.fd, text.get(), groups, answers.get()});
  EXPECT_EQ(answers.count_of(groups), 1u);
  EXPECT_EQ(answers.count_of(-EINPROGRESS), groups * 16 - 1);
  EXPECT_EQ(file.content(), std::string(text.get(), groups));
}

TEST_P(Portable, the_first_group_reads_for_the_whole_kernel) {
  Runtime runtime = start_portable();
  const Pair pipe;
  ASSERT_EQ(::write(pipe.out(), "for everybody", 13), 13);
  const std::uint32_t groups = scaled(2000, 20);
  const Shared<char> text(runtime, 13);
  const Shared<int> right(runtime, groups * 16);
  launch(runtime, groups, 16, FirstGroupKernel{pipe.in(), text.get(), 13, right.get()});
  EXPECT_TRUE(right.all(1)) << "a pipe can be read once only";
}

TEST_P(Portable, a_site_serves_one_call_and_answers_ealready_to_the_next) {
  Runtime runtime = start_portable();
  const Shared<long> answers(runtime, 3);
  for (int launches = 0; launches < 2; ++launches) {  // Sites are fresh in every launch.
    launch(runtime, 1, 8, SiteKernel{answers.get()});
    EXPECT_EQ(answers[0], -EBADF);
    EXPECT_EQ(answers[1], -EALREADY);
    EXPECT_EQ(answers[2], -EINVAL);
  }
}

// --- A wave together, and halted.

TEST_P(Portable, a_wave_calls_together_and_each_lane_gets_its_own_answer) {
  Runtime runtime = start_portable();
  const TemporaryFile file("w");
  const Shared<int> right(runtime, 8 * 64);
  launch(runtime, 8, 64, WaveWideKernel{file.fd, right.get()});
  EXPECT_TRUE(right.all(1));
  // A lane without one of the few arena blocks has called a second time, alone.
  EXPECT_GE(runtime.stats().requests, 512u);
}

TEST_P(Portable, halted_callers_go_on) {
  Runtime runtime = start_portable();
  const std::uint32_t count = scaled(512, 128);
  const Pair pipe;
  std::thread host([&] {
    for (std::uint32_t byte = 0; byte < count; ++byte) EXPECT_EQ(::write(pipe.out(), "h", 1), 1);
  });
  const Shared<int> right(runtime, count);
  launch(runtime, count / 32, 32, HaltingKernel{pipe.in(), ::getpid(), right.get()});
  host.join();
  EXPECT_TRUE(right.all(1));
}

// --- Outcomes.

TEST_P(Portable, a_ticket_gives_the_answer_and_the_data_once) {
  Runtime runtime = start_portable(256);  // 128 work-items, two tickets each.
  const TemporaryFile file("0123456789");
  const Shared<int> right(runtime, 4);
  for (int launches = 0; launches < 6; ++launches) {
    EXPECT_EQ(launch(runtime, 2, 32, UnredeemedKernel{}).unredeemed_tickets, 64u);
  }
  // Two tickets hold two of the 8 arena blocks: items that hold one must not wait for the other.
  const LaunchReport report = launch(runtime, 1, 4, TicketKernel{file.fd, right.get()});
  EXPECT_TRUE(right.all(1));
  EXPECT_EQ(report.unredeemed_tickets, 0u);
}

TEST_P(Portable, a_detached_write_keeps_its_bytes_and_its_errors_are_told_by_drain) {
  Runtime runtime = start_portable();
  const TemporaryFile file;
  launch(runtime, 4, 32, DetachedKernel{file.fd});
  std::uint64_t errors = 0;
  for (const server::DetachedError& error : runtime.drain().value()) {
    EXPECT_EQ(error.error, EBADF);
    errors += error.count;
  }
  EXPECT_EQ(errors, 128u);
  const std::string content = file.content();
  ASSERT_EQ(content.size(), 128u * 8);
  for (std::size_t item = 0; item < 128; ++item) {
    EXPECT_EQ(content.substr(item * 8, 8), std::string(8, static_cast<char>('a' + item % 32 % 26)));
  }
}

// --- Where data lies.

TEST_P(Portable, paths_and_structures_on_the_stack_travel) {
  Runtime runtime = start_portable();
  const Shared<int> right(runtime, 64);
  launch(runtime, 2, 32, StackKernel{right.get()});
  EXPECT_TRUE(right.all(1));
}

TEST_P(Portable, device_memory_is_read_and_written_in_pieces_of_a_block) {
  Runtime runtime = start_portable();
  std::string content(20'000, '\0');
  for (std::size_t place = 0; place < content.size(); ++place) {
    content[place] = static_cast<char>('a' + place % 23);
  }
  const TemporaryFile source(content);
  const TemporaryFile target;
  auto* const memory = static_cast<char*>(runtime.allocate(content.size()).value());
  const Shared<long> answers(runtime, 3);
  launch(runtime, 1, 16, PiecesKernel{source.fd, target.fd, memory, 20'000, answers.get()});
  if (runtime.device().platform == "cuda") {
    EXPECT_EQ(answers[0], 20'000) << "registered by allocate(): as a whole";
  } else {
    EXPECT_GT(answers[0], 4096);
    EXPECT_LT(answers[0], 8192) << "clamped to what a block holds";
  }
  EXPECT_EQ(answers[1], 20'000);
  EXPECT_EQ(answers[2], 20'000);
  EXPECT_EQ(target.content(), content);
  std::string copied(content.size(), '\0');
  EXPECT_TRUE(runtime.copy(copied.data(), memory, copied.size()).ok());
  EXPECT_EQ(copied, content);
  runtime.free(memory);
}

TEST_P(Portable, shared_memory_is_read_into_in_place) {
  Runtime runtime = start_portable();
  const std::string content(100'000, 'p');  // More than a block: it was not copied.
  const TemporaryFile file(content);
  const Shared<char> memory(runtime, content.size());
  const Shared<long> answer(runtime);
  launch(runtime, 1, 1, InPlaceKernel{file.fd, memory.get(), content.size(), answer.get()});
  EXPECT_EQ(answer[0], 100'000);
  EXPECT_EQ(std::string(memory.get(), content.size()), content);
}

TEST_P(Portable, a_long_read_is_made_by_several_items_together) {
  Runtime runtime = start_portable();
  std::string content((std::size_t{5} << 20) + 123, '\0');  // Not a whole number of parts.
  for (std::size_t place = 0; place < content.size(); ++place) {
    content[place] = static_cast<char>(place * 2'654'435'761u >> 13);
  }
  const TemporaryFile file(content);
  for (const std::uint32_t items : {1u, 3u, 16u}) {
    const Shared<char> memory(runtime, content.size());
    const Shared<long> answers(runtime, std::size_t{4} * items);
    launch(runtime, 1, items, TogetherKernel{file.fd, memory.get(), content.size(), answers.get()});
    for (std::uint32_t item = 0; item < items; ++item) {
      EXPECT_EQ(answers[4 * item], static_cast<long>(content.size()));
      EXPECT_EQ(answers[4 * item + 1], static_cast<long>(content.size() - 5'000));
      EXPECT_EQ(answers[4 * item + 2], 0);
      EXPECT_EQ(answers[4 * item + 3], -EBADF);
    }
    // What the last read that brought bytes left: the file from 5,000 on, and behind it the first
    // read's end.
    const std::string left = content.substr(5'000) + content.substr(content.size() - 5'000);
    EXPECT_EQ(std::memcmp(memory.get(), left.data(), left.size()), 0);
  }
  // Device memory, which a GPU has registered.
  auto* const device = static_cast<char*>(runtime.allocate(content.size()).value());
  const Shared<long> answers(runtime, std::size_t{4} * 16);
  launch(runtime, 1, 16, TogetherKernel{file.fd, device, content.size(), answers.get()});
  EXPECT_EQ(answers[0], static_cast<long>(content.size()));
  std::string copied(content.size(), '\0');
  EXPECT_TRUE(runtime.copy(copied.data(), device, copied.size()).ok());
  EXPECT_EQ(copied.substr(0, content.size() - 5'000), content.substr(5'000));
  runtime.free(device);
}

TEST_P(Portable, a_mistake_is_answered_in_its_own_slot) {
  Runtime runtime = start_portable();
  const TemporaryFile file("x");
  auto* const device = static_cast<char*>(runtime.allocate(64).value());
  const Shared<long> answers(runtime, 4);
  launch(runtime, 1, 1, RefusedKernel{file.fd, device, answers.get()});
  EXPECT_EQ(answers[0], -EFAULT);
  EXPECT_EQ(answers[1], 1);
  EXPECT_EQ(answers[2], -ENOSYS);
  EXPECT_EQ(answers[3], -EPERM);
  runtime.free(device);
}

TEST_P(Portable, memory_is_mapped_where_the_device_reaches_it_and_refused_elsewhere) {
  Runtime runtime = start_portable();
  const Shared<long> answers(runtime, 3);
  launch(runtime, 1, 1, MapKernel{answers.get()});
  if (runtime.device().reaches_host_pages) {
    EXPECT_EQ(answers[0], 0);
    EXPECT_EQ(answers[1], 'm');
    EXPECT_EQ(answers[2], 0);
  } else {
    EXPECT_EQ(answers[0], ENOTSUP);
  }
}

TEST_P(Portable, demand_regions_have_their_source_and_what_kernels_write) {
  Runtime runtime = start_portable();
  const std::uint32_t items = 16;
  const std::size_t bytes = items * RegionsKernel::page;
  std::string content(bytes, '\0');
  for (std::uint32_t item = 0; item < items; ++item) {
    content[item * RegionsKernel::page] = static_cast<char>(item + 1);
  }
  const TemporaryFile source(content);
  const TemporaryFile target;
  auto zeros = DemandRegion::zero(runtime, bytes, {.name = "zeros"});
  auto copied = DemandRegion::copy_of(runtime, content.data(), bytes, {.name = "copied"});
  auto file = DemandRegion::file(runtime, source.fd, 0, bytes, {.name = "file"});
  for (const auto* const each : {&zeros, &copied, &file}) {
    ASSERT_TRUE(each->ok()) << each->error().message;
  }
  const Shared<long> written(runtime, items);
  launch(runtime, 1, items,
         RegionsKernel{zeros->as<unsigned char>(), copied->as<const unsigned char>(),
                       file->as<const unsigned char>(), target.fd, written.get()});
  EXPECT_TRUE(written.all(1));
  std::string wanted;
  for (std::uint32_t item = 0; item < items; ++item) {
    wanted.push_back(static_cast<char>(2 * (item + 1)));
    EXPECT_EQ(zeros->as<char>()[item * RegionsKernel::page], wanted.back()) << item;
  }
  EXPECT_EQ(target.content(), wanted);
  EXPECT_EQ(source.content(), content) << "kernels have a copy of their own";
  EXPECT_TRUE(zeros->populate(100, bytes - 100).ok());
  EXPECT_EQ(zeros->populate(bytes, 1).error().code, EINVAL);
  EXPECT_EQ(DemandRegion::zero(runtime, 100).error().code, EINVAL);
}

// --- Atomics.

template <class T>
void expect_atomics(Runtime& runtime, const LaunchShape& shape) {
  const auto launched = static_cast<T>(shape.groups * shape.group_items);
  const Shared<T> words(runtime, atomic_word::count);
  words[atomic_word::taken] = launched;
  words[atomic_word::cleared] = static_cast<T>(-1);
  words[atomic_word::least] = 1000;
  const auto report = runtime.launch(shape, AtomicsKernel<T>{words.get()});
  ASSERT_TRUE(report.ok()) << report.error().message;
  T flipped = 0;
  for (T item = 1; item <= launched; ++item) flipped = static_cast<T>(flipped ^ item);
  EXPECT_EQ(words[atomic_word::added], static_cast<T>(2 * launched));
  EXPECT_EQ(words[atomic_word::taken], T{0});
  EXPECT_EQ(words[atomic_word::set], T{0x7fffffff});
  EXPECT_EQ(words[atomic_word::cleared], static_cast<T>(~T{0x7fffffff}));
  EXPECT_EQ(words[atomic_word::flipped], flipped);
  // 5 less than the rank: below zero, or around.
  EXPECT_EQ(words[atomic_word::least], std::is_signed_v<T> ? static_cast<T>(-5) : T{0});
  EXPECT_EQ(words[atomic_word::most],
            std::is_signed_v<T> ? static_cast<T>(launched - 6) : static_cast<T>(-1));
  EXPECT_EQ(words[atomic_word::swapped], static_cast<T>(3 * launched));
  EXPECT_EQ(static_cast<T>(words[atomic_word::sum] + words[atomic_word::handed_on]),
            static_cast<T>(launched * (launched + 1) / 2));
}

TEST_P(Portable, atomics_of_both_widths_lose_nothing) {
  Runtime runtime = start_portable();
  const LaunchShape shape{scaled(32, 4), 48};
  expect_atomics<std::uint32_t>(runtime, shape);
  expect_atomics<std::int32_t>(runtime, shape);
  expect_atomics<std::uint64_t>(runtime, shape);
  expect_atomics<std::int64_t>(runtime, shape);
  expect_atomics<long long>(runtime, shape);
}

TEST_P(Portable, atomics_hand_over_plain_data_in_a_group_a_launch_and_to_the_host) {
  Runtime runtime = start_portable();
  const std::uint32_t groups = scaled(32, 4);
  const std::uint64_t launched = groups * std::uint64_t{48};
  const Shared<std::uint64_t> plain(runtime, launched);
  const Shared<std::uint32_t> arrived(runtime);
  const Shared<std::uint64_t> total(runtime);
  const Shared<std::uint32_t> told(runtime);
  const Shared<std::uint32_t> wrong(runtime);
  std::uint64_t seen = 0;
  std::thread host([&] {
    const AtomicRef flag(told[0]);
    while (flag.load(memory_order_acquire, memory_scope_system) == 0) std::this_thread::yield();
    seen = total[0];
  });
  launch(runtime, groups, 48,
         HandOverKernel{plain.get(), arrived.get(), total.get(), told.get(), wrong.get()});
  host.join();
  EXPECT_EQ(seen, launched * (launched - 1) / 2);
  EXPECT_EQ(wrong[0], 0u);
}

// --- Ends.

TEST_P(Portable, a_cancelled_launch_ends_and_the_next_one_runs) {
  Runtime runtime = start_portable(64);
  const Pair started;
  const Pair never;
  std::thread host([&] {
    EXPECT_EQ(read_all(started.in(), 16).size(), 16u);
    runtime.cancel();
  });
  const Result<LaunchReport> report =
      runtime.launch({2, 8}, StuckKernel{started.out(), never.in()}, "stuck");
  host.join();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ECANCELED);
  EXPECT_TRUE(runtime.drain().ok());
  const Shared<long> answers(runtime, 8 * 32);
  launch(runtime, 8, 32, OwnAnswerKernel{answers.get()});
  EXPECT_TRUE(answers.all(-EBADF + 1000l * ::getpid()));
}

TEST_P(Portable, a_launch_of_an_impossible_shape_is_refused_with_the_limit) {
  Runtime runtime = start_portable();
  const std::uint32_t most = runtime.device().group_items_max;
  const Shared<long> answers(runtime, most);
  for (const LaunchShape& shape :
       {LaunchShape{0, 1}, LaunchShape{1, 0}, LaunchShape{1, most + 1}}) {
    const Result<LaunchReport> report =
        runtime.launch(shape, OwnAnswerKernel{answers.get()}, "shapeless");
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, EINVAL);
    EXPECT_NE(report.error().message.find("shapeless"), std::string::npos);
  }
  if (race_checked) return;
  EXPECT_TRUE(runtime.launch({1, most}, OwnAnswerKernel{answers.get()}).ok());
  EXPECT_TRUE(answers.all(-EBADF + 1000l * ::getpid()));
}

TEST_P(Portable, a_kernel_for_another_device_is_refused_and_both_are_named) {
  Runtime runtime = start_portable();
  backend::KernelImage image;
  image.name = "stranger";
  image.platform = "abacus";
  const Result<LaunchReport> report = runtime.launch_image({1, 1}, image);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ENOEXEC);
  for (const std::string& part : {std::string("'stranger'"), std::string("compiled for abacus"),
                                  "for " + runtime.device().platform}) {
    EXPECT_NE(report.error().message.find(part), std::string::npos) << report.error().message;
  }
}

}  // namespace
}  // namespace k2k::conformance::portable_test
