// Goal: a judge of many requests gives each the answer that it would get alone, whatever requests
// were judged before.

#include "services/rules/call_judge.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "calls/host_call.hpp"
#include "calls/rows.hpp"
#include "router/door/files.hpp"
#include "services/admit_fixture.hpp"
#include "services/fake_backend_fixture.hpp"

namespace k2k::services {
namespace {

class CallJudgeTest : public testing::Test {
 protected:
  CallJudgeTest() {
    backend.hidden_begin = reinterpret_cast<std::uintptr_t>(hidden.data());
    backend.hidden_end = backend.hidden_begin + hidden.size();
  }

  static Request request_of(std::uint16_t number) {
    Request request;
    request.number = number;
    request.row = static_cast<std::int16_t>(calls::find(number));
    return request;
  }
  static std::shared_ptr<CallRules> rules_of(WantedRules wanted) {
    wanted.audit_file = "/dev/null";
    auto made = CallRules::create(wanted);
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
  }
  // Random numbers and arguments; the same call several times in a row, as in a wave.
  std::vector<Request> requests() {
    std::mt19937 random(7);
    std::vector<Request> all;
    while (all.size() < 20'000) {
      Request request = request_of(static_cast<std::uint16_t>(random() % 480));
      for (int time = 1 + static_cast<int>(random() % 4); time > 0; --time) {
        for (std::uint64_t& word : request.arguments) {
          const auto hidden_word = reinterpret_cast<std::uint64_t>(hidden.data());
          const std::uint64_t words[] = {
              0,       1,           static_cast<std::uint64_t>(RUSAGE_THREAD),
              AF_UNIX, hidden_word, hidden_word - 1};
          word = words[random() % std::size(words)];
        }
        all.push_back(request);
      }
    }
    return all;
  }
  // Each is judged by one judge of all, by a judge of its own, and by what was found beforehand.
  void expect_the_answers_of_judges_of_their_own(CallRules* rules, Openness openness) {
    CallJudge judge(backend, true, files, rules, openness);
    const Judgements made(true, rules);
    CallJudge quick(backend, true, files, rules, openness, &made);
    std::size_t refused = 0;
    for (const Request& each : requests()) {
      Request together = each;
      Request alone = each;
      const std::int64_t value = judge(together);
      ASSERT_EQ(value, CallJudge(backend, true, files, rules, openness)(alone)) << each.number;
      ASSERT_EQ(together.row, alone.row) << each.number;
      Request known = each;
      ASSERT_EQ(value, quick(known)) << each.number;
      ASSERT_EQ(known.row, alone.row) << each.number;
      refused += value != 0 ? 1 : 0;
    }
    EXPECT_GT(refused, 1'000u);
    EXPECT_LT(refused, 19'000u);
  }

  std::vector<char> hidden = std::vector<char>(64);
  FakeBackend backend;
  router::Files files;
};

TEST_F(CallJudgeTest, judges_as_the_policy_judges_each_request) {
  for (const Openness openness : {Openness::any, Openness::known_only}) {
    CallJudge judge(backend, true, files, nullptr, openness);
    for (const Request& each : requests()) {
      Request request = each;
      ASSERT_EQ(judge(request), admit(each, openness, backend, files)) << each.number;
      ASSERT_EQ(request.row, each.row);
    }
    expect_the_answers_of_judges_of_their_own(nullptr, openness);
  }
}

TEST_F(CallJudgeTest, judges_by_rules_whatever_call_came_before) {
  const auto rules = rules_of({.refused = {SYS_ioctl, SYS_pread64},
                               .roots = std::vector<std::string>{"/usr"},
                               .families = std::vector<int>{AF_INET},
                               .targets = std::vector<pid_t>{0}});
  expect_the_answers_of_judges_of_their_own(rules.get(), Openness::any);
  CallJudge judge(backend, true, files, rules.get(), Openness::any);
  for (int turn = 0; turn < 2; ++turn) {
    Request write = request_of(SYS_write);
    EXPECT_EQ(judge(write), 0);
    EXPECT_GE(write.row, 0);
    Request read = request_of(SYS_pread64);
    EXPECT_EQ(judge(read), -EPERM);
    Request open = request_of(SYS_openat);
    EXPECT_EQ(judge(open), 0);
    EXPECT_EQ(open.row, -1) << "the rules make it";
  }
}

TEST_F(CallJudgeTest, judges_no_call_that_the_rules_permit_whatever_its_arguments_are) {
  const auto rules = rules_of(io_rules());
  const OpenRows open(false, rules.get());
  const OpenRows none(true, rules.get());
  for (std::int16_t row = 0; row < calls::row_count; ++row) {
    const std::uint16_t number = calls::shapes[row].number;
    const bool permitted = calls::is_open(row) && rules->permits_all(number);
    EXPECT_EQ(open.has(row), permitted && !arguments_decide(number)) << calls::shapes[row].name;
    EXPECT_FALSE(none.has(row)) << "memory that the host does not reach";
  }
  EXPECT_FALSE(open.has(-1));
  EXPECT_FALSE(open.has(calls::find(SYS_rt_sigqueueinfo))) << "the target decides";
  EXPECT_FALSE(open.has(calls::find(SYS_mount)));
  EXPECT_TRUE(open.has(calls::find(SYS_pread64)));
  EXPECT_TRUE(open.has(calls::find(calls::host_call_number)));
  const auto silent = rules_of({.refused = {SYS_write}});
  EXPECT_FALSE(silent->permits_all(calls::host_call_number)) << "a print writes";
}

TEST_F(CallJudgeTest, judges_each_function_of_the_host_by_its_name) {
  const auto rules = rules_of({.functions = std::vector<std::string>{"one"}});
  CallJudge judge(backend, true, files, rules.get(), Openness::any);
  for (int turn = 0; turn < 2; ++turn) {
    Request call = request_of(calls::host_call_number);
    call.arguments[calls::host_id_word] = calls::host_id("one");
    EXPECT_EQ(judge(call), 0);
    call.arguments[calls::host_id_word] = calls::host_id("other");
    EXPECT_EQ(judge(call), -EPERM);
  }
}

}  // namespace
}  // namespace k2k::services
