// Question: what do validation and policy add to a request? Budget: 60 ns for a lone call, 3 ns a
// call of a wave. A lone call finds the rows, the rules and its request in the caches only by
// chance, and its judge is made for it; the calls of a wave follow each other and have one judge.
// As in the bottom half, the judgement of each row was made before. The benchmarks differ in what
// is judged:
//
//   open       a call that needs no look: the bottom half's test without a policy file
//   checked    the pointers of a pread, as on a device whose memory the host cannot address
//   ruled      the same behind a policy file that refuses other calls
//
// Between two lone calls 4 MiB of other data are read, which is not timed.

#include <benchmark/benchmark.h>
#include <sys/syscall.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "router/door/files.hpp"
#include "services/fake_backend_fixture.hpp"
#include "services/policy.hpp"
#include "services/rules/call_judge.hpp"
#include "services/rules/call_rules.hpp"

namespace k2k::services {
namespace {

enum Judged : std::int64_t { open_call, checked_call, ruled_call };

constexpr std::size_t wave = 64;

struct Court {
  Court() {
    WantedRules wanted;
    wanted.refused = {SYS_ioctl};
    wanted.audit_file = "/dev/null";
    rules = CallRules::create(wanted).value();
    by_rules = Judgements(true, rules.get());
    for (std::size_t lane = 0; lane < wave; ++lane) {
      Request& request = requests.emplace_back();
      request.number = SYS_pread64;
      request.row = static_cast<std::int16_t>(calls::find(SYS_pread64));
      request.lane = static_cast<std::uint8_t>(lane);
      request.arguments[1] = reinterpret_cast<std::uint64_t>(buffer.data());
      request.arguments[2] = 64;
    }
  }
  static std::int64_t open(const Request& request) {
    return calls::is_open(request.row) && !arguments_decide(request.number) ? 0 : -1;
  }
  CallJudge judge(std::int64_t judged) {
    const bool ruled = judged == ruled_call;
    return {backend,       true,
            files,         ruled ? rules.get() : nullptr,
            Openness::any, ruled ? &by_rules : &by_policy};
  }

  FakeBackend backend;
  router::Files files;
  std::vector<char> buffer = std::vector<char>(64);
  std::vector<Request> requests;
  std::shared_ptr<CallRules> rules;
  Judgements by_policy{true, nullptr};  // As the bottom half makes them.
  Judgements by_rules;
};

void a_call_of_a_wave(benchmark::State& state) {
  Court court;
  const std::int64_t judged = state.range(0);
  for (auto _ : state) {
    CallJudge judge = court.judge(judged);
    for (Request& request : court.requests) {
      benchmark::DoNotOptimize(judged == open_call ? Court::open(request) : judge(request));
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(wave));
}
BENCHMARK(a_call_of_a_wave)->ArgName("judged")->DenseRange(open_call, ruled_call);

void a_lone_call(benchmark::State& state) {
  Court court;
  const std::int64_t judged = state.range(0);
  std::vector<std::uint64_t> other(std::size_t{4} << 17);
  std::uint64_t sum = 0;
  for (auto _ : state) {
    for (std::size_t word = 0; word < other.size(); word += 8) sum += other[word];
    benchmark::DoNotOptimize(sum);
    const std::uint64_t begun = cycles();
    Request& request = court.requests[0];
    benchmark::DoNotOptimize(judged == open_call ? Court::open(request)
                                                 : court.judge(judged)(request));
    const std::uint64_t took = cycles() - begun;
    const std::uint64_t clock = [] {
      const std::uint64_t before = cycles();
      return cycles() - before;
    }();
    const double ns = static_cast<double>(took > clock ? took - clock : 0);
    state.SetIterationTime(ns * nanoseconds_per_cycle() / 1e9);
  }
}
BENCHMARK(a_lone_call)
    ->ArgName("judged")
    ->DenseRange(open_call, ruled_call)
    ->UseManualTime()
    ->Iterations(1'000);

}  // namespace
}  // namespace k2k::services
