// Goal: an undo restores exactly what was, also after a crash at any step, and names what it skips.
// Method: threads of the test's own, on this machine. SCHED_DEADLINE needs rights and free
// bandwidth: tests of it are skipped where the kernel refuses it.

#include "cli/watch/steer/steering.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <semaphore>
#include <thread>

#include "base/temporary_folder.hpp"
#include "cli/watch/replace_file.hpp"

namespace k2k::watch {
namespace {

// A thread that waits until its end.
class Waiting {
 public:
  Waiting() : thread_([this] { wait(); }) { ready_.acquire(); }
  ~Waiting() { end(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  // Returns once Linux does not know the thread any more, which is after join() has returned.
  void end() {
    if (!thread_.joinable()) return;
    go_.release();
    thread_.join();
    while (::syscall(SYS_tgkill, ::getpid(), number_, 0) == 0) std::this_thread::yield();
  }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] Servicing servicing() const {
    const auto stat = find_thread({}, number_);
    EXPECT_TRUE(stat);
    return {stat.value_or(ThreadStat{}), {"mine", "accelerator", {}, {}}};
  }

 private:
  void wait() {
    ::prctl(PR_SET_NAME, "k2k-steered");
    number_ = static_cast<int>(::syscall(SYS_gettid));
    ready_.release();
    go_.acquire();
  }
  int number_ = 0;
  std::binary_semaphore ready_{0};
  std::binary_semaphore go_{0};
  std::thread thread_;  // Last: it uses the others.
};

class Steering : public testing::Test {
 protected:
  void SetUp() override {
    const Result<std::vector<int>> cores = cores_of_thread(0);
    ASSERT_TRUE(cores.ok());
    all_ = cores.value();
    if (all_.size() < 2) GTEST_SKIP() << "steering needs two cores";
    wanted_.cores = std::vector<int>{all_.back()};
  }

  [[nodiscard]] bool has_state() const { return ::access(path_.c_str(), F_OK) == 0; }
  [[nodiscard]] std::string lines_of(const Result<Steered>& steered) const {
    if (!steered) return "error: " + steered.error().message;
    std::string text;
    for (const std::string& line : steered->lines) text += line + "\n";
    return text;
  }
  static std::vector<int> cores_now(const Waiting& thread) {
    const Result<std::vector<int>> cores = cores_of_thread(thread.number());
    return cores ? cores.value() : std::vector<int>{};
  }
  static Policy policy_now(const Waiting& thread) {
    const Result<Policy> policy = policy_of_thread(thread.number());
    return policy ? policy.value() : Policy{};
  }

  const TemporaryFolder own_ = TemporaryFolder::create("k2k-steer").value();
  const std::string folder_ = own_.path();
  const std::string path_ = folder_ + "/state.json";
  std::vector<int> all_;
  Wanted wanted_;
};

TEST_F(Steering, moves_threads_and_undo_restores_them) {
  const Waiting one;
  const Waiting other;
  ASSERT_TRUE(set_cores(other.number(), {all_.front()}).ok());
  const Result<Steered> steered = steer({}, wanted_, {one.servicing(), other.servicing()}, path_);
  ASSERT_TRUE(steered.ok()) << steered.error().message;
  EXPECT_EQ(steered->changed, 2u);
  EXPECT_EQ(cores_now(one), *wanted_.cores);
  EXPECT_EQ(cores_now(other), *wanted_.cores);
  EXPECT_TRUE(has_state());
  const Result<Steered> undone = undo({}, path_);
  EXPECT_NE(lines_of(undone).find("k2k-steered (thread " + std::to_string(one.number()) +
                                  ") is as it was\n"),
            std::string::npos)
      << lines_of(undone);
  EXPECT_EQ(cores_now(one), all_);
  EXPECT_EQ(cores_now(other), std::vector<int>{all_.front()});
  EXPECT_FALSE(has_state());
  EXPECT_EQ(lines_of(undo({}, path_)), "nothing to undo: there is no " + path_ + "\n");
}

TEST_F(Steering, second_call_is_refused_and_keeps_the_first_state) {
  const Waiting one;
  ASSERT_TRUE(steer({}, wanted_, {one.servicing()}, path_).ok());
  const Result<Steered> again = steer({}, wanted_, {one.servicing()}, path_);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message, path_ +
                                       " has the changes of an earlier call; 'k2k watch --undo' "
                                       "restores them first");
  ASSERT_TRUE(undo({}, path_).ok());
  EXPECT_EQ(cores_now(one), all_);
}

TEST_F(Steering, thread_that_ended_is_skipped_with_a_line) {
  const Waiting stays;
  Waiting ends;
  const Servicing ended = ends.servicing();
  ASSERT_TRUE(steer({}, wanted_, {stays.servicing(), ended}, path_).ok());
  ends.end();
  const std::string lines = lines_of(undo({}, path_));
  EXPECT_NE(lines.find("(thread " + std::to_string(ended.stat.id) + ") has ended: skipped"),
            std::string::npos)
      << lines;
  EXPECT_EQ(cores_now(stays), all_);
  EXPECT_FALSE(has_state());
  // And between the look and the change.
  const std::string late = lines_of(steer({}, wanted_, {ended}, path_));
  EXPECT_NE(late.find(std::to_string(ended.stat.id)), std::string::npos) << late;
  EXPECT_FALSE(has_state());
}

TEST_F(Steering, number_of_an_ended_thread_that_another_one_has_is_skipped) {
  const Waiting one;
  State state{boot_of({}), {{one.number(), 1, "older", std::vector<int>{all_.front()}, {}}}};
  ASSERT_TRUE(create_file(path_, state_text(state)).ok());
  const std::string lines = lines_of(undo({}, path_));
  EXPECT_NE(lines.find("older (thread "), std::string::npos) << lines;
  EXPECT_NE(lines.find("has ended: skipped"), std::string::npos) << lines;
  EXPECT_EQ(cores_now(one), all_);
}

// The process dies after each of its steps: file written, one of two threads changed, both changed.
TEST_F(Steering, undo_restores_after_a_crash_at_any_step) {
  for (int step = 0; step <= 2; ++step) {
    const Waiting one;
    const Waiting other;
    const pid_t child = ::fork();
    if (child == 0) {
      State state{boot_of({}), {}};
      for (const Waiting* thread : {&one, &other}) {
        const Servicing servicing = thread->servicing();
        state.changes.push_back({thread->number(), servicing.stat.start_ticks, servicing.stat.name,
                                 cores_of_thread(thread->number()).value(), std::nullopt});
      }
      bool right = create_file(path_, state_text(state)).ok();
      if (step >= 1) right &= set_cores(one.number(), *wanted_.cores).ok();
      if (step >= 2) right &= set_cores(other.number(), *wanted_.cores).ok();
      if (right) ::raise(SIGKILL);
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << step;
    EXPECT_EQ(cores_now(one), step >= 1 ? *wanted_.cores : all_);
    const Result<Steered> undone = undo({}, path_);
    ASSERT_TRUE(undone.ok()) << undone.error().message;
    EXPECT_EQ(undone->changed, 2u);
    EXPECT_EQ(cores_now(one), all_) << step;
    EXPECT_EQ(cores_now(other), all_) << step;
    EXPECT_FALSE(has_state());
  }
}

TEST_F(Steering, caps_threads_and_undo_restores_their_policy) {
  const Waiting one;
  ASSERT_TRUE(set_policy(one.number(), {.policy = SCHED_BATCH, .nice = 5}).ok());
  const Policy before = policy_now(one);
  Wanted cap;
  cap.cap = 0.05;
  const Result<Steered> steered = steer({}, cap, {one.servicing()}, path_);
  ASSERT_TRUE(steered.ok()) << steered.error().message;
  if (steered->changed == 0) {
    EXPECT_FALSE(has_state());  // Nothing was changed, so nothing remains.
    GTEST_SKIP() << "this kernel refuses SCHED_DEADLINE: " << lines_of(steered);
  }
  EXPECT_EQ(policy_now(one).runtime_ns, 500'000u);
  EXPECT_EQ(policy_now(one).period_ns, 10'000'000u);
  ASSERT_TRUE(undo({}, path_).ok());
  EXPECT_EQ(policy_now(one), before);
}

TEST_F(Steering, cap_of_a_thread_with_few_cores_names_the_reason) {
  const Waiting one;
  ASSERT_TRUE(set_cores(one.number(), {all_.front()}).ok());
  Wanted cap;
  cap.cap = 0.05;
  const Result<Steered> steered = steer({}, cap, {one.servicing()}, path_);
  ASSERT_TRUE(steered.ok()) << steered.error().message;
  EXPECT_EQ(steered->changed, 0u);
  EXPECT_NE(lines_of(steered).find("SCHED_DEADLINE needs a thread that may use every core, and "
                                   "this one may use only " +
                                   std::to_string(all_.front())),
            std::string::npos)
      << lines_of(steered);
  EXPECT_FALSE(has_state());
}

TEST_F(Steering, thread_bound_by_the_kernel_is_left_with_the_reason) {
  const Waiting one;
  Servicing bound = one.servicing();
  bound.stat.flags |= pinned_flag;
  const Result<Steered> steered = steer({}, wanted_, {bound}, path_);
  EXPECT_NE(lines_of(steered).find("is left: Linux binds it to its cores"), std::string::npos)
      << lines_of(steered);
  EXPECT_EQ(cores_now(one), all_);
  EXPECT_FALSE(has_state());
}

TEST_F(Steering, core_that_does_not_exist_changes_nothing) {
  const Waiting one;
  wanted_.cores = std::vector<int>{cores_max - 1};
  const Result<Steered> steered = steer({}, wanted_, {one.servicing()}, path_);
  EXPECT_NE(lines_of(steered).find("is left: Invalid argument"), std::string::npos)
      << lines_of(steered);
  EXPECT_EQ(cores_now(one), all_);
  EXPECT_FALSE(has_state());
}

// Runs `body` in a process of user 65534, which may change none of root's threads, and returns what
// it says.
std::string said_without_rights(const std::function<std::string()>& body) {
  int pipe[2] = {-1, -1};
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool dropped = ::setgid(65534) == 0 && ::setuid(65534) == 0;
    const std::string text = dropped ? body() : "no other user";
    const bool sent = ::write(pipe[1], text.data(), text.size()) == ssize_t(text.size());
    ::_exit(sent ? 0 : 1);
  }
  ::close(pipe[1]);
  std::string text(1'000, '\0');
  const ssize_t got = ::read(pipe[0], text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return text;
}

TEST_F(Steering, without_rights_is_one_line_and_changes_nothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ::chmod(folder_.c_str(), 0777);
  const Waiting one;
  const std::vector<Servicing> threads = {one.servicing()};
  const std::string moved =
      said_without_rights([&] { return lines_of(steer({}, wanted_, threads, path_)); });
  EXPECT_EQ(moved,
            "error: only root, or a process with CAP_SYS_NICE, may move the 1 threads that serve "
            "here, such as k2k-steered; call it with sudo. Nothing is changed");
  EXPECT_FALSE(has_state());
  // Its own thread may be moved, and not capped.
  const std::string capped = said_without_rights([&] {
    Wanted cap;
    cap.cap = 0.05;
    const auto own = find_thread({}, ::getpid());
    return lines_of(steer({}, cap, {{own.value_or(ThreadStat{}), {}}}, path_));
  });
  EXPECT_NE(capped.find("error: only root, or a process with CAP_SYS_NICE, may cap the 1 threads"),
            std::string::npos)
      << capped;
  EXPECT_FALSE(has_state());
  const std::string own = said_without_rights([&] {
    const auto self = find_thread({}, ::getpid());
    const std::string lines =
        lines_of(steer({}, wanted_, {{self.value_or(ThreadStat{}), {}}, one.servicing()}, path_));
    return lines + lines_of(undo({}, path_));
  });
  EXPECT_NE(own.find("is left: it belongs to another user"), std::string::npos) << own;
  EXPECT_NE(own.find("is as it was"), std::string::npos) << own;
  EXPECT_EQ(cores_now(one), all_);
}

// Takes a core offline, and brings it back at the end. The machine may be no other program's: it is
// done in the virtual machine of `./dev check --only kernel-6.1`.
class Hotplug : public Steering {
 protected:
  void SetUp() override {
    if (std::getenv("WATCH_HOTPLUG") == nullptr) {
      GTEST_SKIP() << "WATCH_HOTPLUG is not set: no core of this machine is taken offline";
    }
    Steering::SetUp();
  }
  ~Hotplug() override {
    if (std::getenv("WATCH_HOTPLUG") != nullptr) turn(true);
  }
  void turn(bool on) const {
    const std::string path =
        "/sys/devices/system/cpu/cpu" + std::to_string(all_.back()) + "/online";
    std::ofstream(path) << (on ? 1 : 0);
    std::string now;
    std::ifstream(path) >> now;
    EXPECT_EQ(now, on ? "1" : "0");
  }
  static std::vector<int> permitted(const Waiting& thread) {
    return permitted_cores({}, thread.number()).value();
  }
};

TEST_F(Hotplug, wanted_core_that_goes_offline_changes_no_thread) {
  const Waiting one;
  const Waiting other;
  const std::vector<Servicing> threads = {one.servicing(), other.servicing()};
  const std::vector<int> before = permitted(one);
  turn(false);
  const std::string last = std::to_string(all_.back());
  EXPECT_EQ(lines_of(steer({}, wanted_, threads, path_)),
            "error: none of the cores " + last +
                " is online any more: all threads are as they were; name cores that are online");
  EXPECT_FALSE(has_state());
  turn(true);
  EXPECT_EQ(permitted(one), before);
  EXPECT_EQ(permitted(other), before);
}

TEST_F(Hotplug, undo_restores_all_cores_after_a_core_was_offline) {
  const Waiting one;
  const std::vector<int> before = permitted(one);
  wanted_.cores = std::vector<int>{all_.front()};
  ASSERT_EQ(steer({}, wanted_, {one.servicing()}, path_)->changed, 1u);
  turn(false);
  const Result<Steered> early = undo({}, path_);
  ASSERT_TRUE(early.ok()) << early.error().message;
  turn(true);
  // Some kernels remember the core and some do not; then the state is kept for a second undo.
  if (early->left != 0) {
    EXPECT_NE(lines_of(early).find(" is offline; bring it back and call --undo again"),
              std::string::npos)
        << lines_of(early);
    EXPECT_TRUE(has_state());
    const Result<Steered> late = undo({}, path_);
    ASSERT_TRUE(late.ok()) << late.error().message;
    EXPECT_EQ(late->changed, 1u) << lines_of(late);
  }
  EXPECT_EQ(permitted(one), before);
  EXPECT_FALSE(has_state());
}

TEST_F(Hotplug, undo_restores_threads_whose_only_core_went_offline) {
  const Waiting one;
  const std::vector<int> before = permitted(one);
  ASSERT_EQ(steer({}, wanted_, {one.servicing()}, path_)->changed, 1u);
  turn(false);  // Linux moves the thread to another core.
  turn(true);
  ASSERT_TRUE(undo({}, path_).ok());
  EXPECT_EQ(permitted(one), before);
  EXPECT_FALSE(has_state());
}

// The file then names this thread alone, so that another undo tries it again.
TEST_F(Steering, thread_that_cannot_be_restored_stays_in_the_state) {
  const Waiting one;
  const Waiting other;
  const auto change = [](const Waiting& thread, int core) {
    const Servicing servicing = thread.servicing();
    return Change{thread.number(), servicing.stat.start_ticks, servicing.stat.name,
                  std::vector<int>{core}, std::nullopt};
  };
  const State state{boot_of({}), {change(one, cores_max - 1), change(other, all_.front())}};
  ASSERT_TRUE(create_file(path_, state_text(state)).ok());
  const Result<Steered> undone = undo({}, path_);
  ASSERT_TRUE(undone.ok());
  EXPECT_EQ(undone->changed, 1u);
  EXPECT_EQ(undone->left, 1u);
  EXPECT_NE(lines_of(undone).find(" is not restored: Invalid argument"), std::string::npos)
      << lines_of(undone);
  const Result<std::optional<State>> left = load_state(path_);
  ASSERT_TRUE(left.ok() && left.value());
  EXPECT_EQ(left.value()->changes, std::vector<Change>{state.changes[0]});
}

TEST_F(Steering, state_that_cannot_be_written_changes_nothing) {
  const Waiting one;
  const Result<Steered> steered =
      steer({}, wanted_, {one.servicing()}, folder_ + "/missing/state.json");
  ASSERT_FALSE(steered.ok());
  EXPECT_NE(steered.error().message.find("No such file or directory"), std::string::npos);
  EXPECT_EQ(cores_now(one), all_);
}

TEST_F(Steering, state_of_an_earlier_boot_is_dropped) {
  const Waiting one;
  const State old{"another boot",
                  {{one.number(), one.servicing().stat.start_ticks, "x", std::vector<int>{0}, {}}}};
  ASSERT_TRUE(create_file(path_, state_text(old)).ok());
  EXPECT_EQ(lines_of(undo({}, path_)),
            "the changes are of an earlier boot: nothing is left of them\n");
  EXPECT_EQ(cores_now(one), all_);
  EXPECT_FALSE(has_state());
  ASSERT_TRUE(create_file(path_, state_text(old)).ok());
  EXPECT_TRUE(steer({}, wanted_, {one.servicing()}, path_).ok());
  ASSERT_TRUE(undo({}, path_).ok());
  EXPECT_EQ(cores_now(one), all_);
}

TEST_F(Steering, state_that_others_may_write_or_that_is_damaged_is_refused) {
  const State state{boot_of({}), {{1, 2, "n", std::vector<int>{0, 3}, Policy{.policy = 1}}}};
  const std::string text = state_text(state);
  const Result<State> same = parse_state(text, path_);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->changes, state.changes);
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_FALSE(parse_state(text.substr(0, size), path_).ok()) << size;
  }
  std::ofstream(path_) << "{\"schema\":99}";
  ::chmod(path_.c_str(), 0644);
  EXPECT_EQ(lines_of(undo({}, path_)),
            "error: " + path_ +
                " is no state of this k2k watch; look at it, restore its threads by hand and "
                "remove it");
  ::chmod(path_.c_str(), 0666);
  EXPECT_NE(lines_of(undo({}, path_)).find("so others could have written it"), std::string::npos);
}

TEST(ReplaceFile, leaves_nothing_behind_on_a_full_disk) {
  const Status full = replace_file("/dev/full", "text");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().message,
            "cannot write /dev/full: No space left on device; name another file, or make room");
  EXPECT_EQ(::access("/dev/full", W_OK), 0);  // Still the device.
}

}  // namespace
}  // namespace k2k::watch
