// What does a memcached gain whose kernel receives and answers by itself? (thesis, section 3.8.4,
// figure 3.15)
//
// Four servers answer GETs of 1,000 bytes over the binary UDP protocol from buckets of up to 1,024
// elements: a kernel that makes its own calls, the same kernel that ends at every call (relaunch),
// threads of the host without a device, and Debian's memcached. Each is loaded by four clients,
// each with one request at a time, as processes of their own that take turns in random order, 20
// times as in the figure. The clients run on the same cores as the servers.
//
// Two more servers lie between the threads and the kernel, so that the ratio of these two is a
// product of steps, each of which changes one thing:
//
//   threads ─▶ unit threads ─▶ direct ─▶ kernel
//          fewer threads   a kernel's form   calls by K2K
//
// "unit threads" are as many as the kernel's units, and "direct" is the kernel with calls of libc
// on its own threads. A round's steps multiply to its whole, and so do their geometric means.

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/cores.hpp"
#include "bench/command/app_run.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/goal.hpp"
#include "bench/command/progress.hpp"

namespace k2k::bench {

namespace {

constexpr Goal beside_relaunch = {"memcached", "kernel / relaunch, requests a second"};
constexpr Goal beside_threads = {"memcached", "threads / kernel, requests a second"};

constexpr std::uint32_t figure_runs = 20;  // Of each server, in figure 3.15.

struct ChainStep {
  const char* name;
  const char* faster;
  const char* slower;
};
constexpr ChainStep chain[] = {
    {"threads / unit threads: fewer threads", "threads", "unit threads"},
    {"unit threads / direct: a kernel's form", "unit threads", "direct"},
    {"direct / kernel: calls by K2K", "direct", "kernel"},
    {"threads / kernel: the product", "threads", "kernel"},
};

// The options of a server. The kernel has a unit for two cores (apps/memcached/command.cpp).
std::vector<std::string> way_of(const std::string& server) {
  if (server != "unit threads") return {"--by", server};
  return {"--by", "threads", "--threads", std::to_string(std::max(usable_cores() / 2, 1u))};
}

struct ServerSamples {
  Samples per_s;
  Samples p50_us;
  Samples p99_us;
};

}  // namespace

Result<nlohmann::ordered_json> memcached_servers(const RuntimeConfig&, Effort effort,
                                                 std::uint32_t rounds) {
  const bool brief = effort == Effort::brief;
  auto app = AppRun::find("memcached", "memcached");
  if (!app) return app.error();
  std::vector<std::string> servers = {"memcached", "threads", "unit threads",
                                      "relaunch",  "direct",  "kernel"};
  const auto load = [&](const std::string& server, const char* seconds) {
    std::vector<std::string> words = way_of(server);
    words.insert(words.end(),
                 {"--load", "--buckets", "16", "--elements", "1024", "--keys",
                  brief ? "1000" : "14000", "--value-bytes", "1000", "--seconds", seconds});
    return app->run(words);
  };
  // Debian's memcached may be missing; the others must work.
  if (!load("memcached", "0.01")) servers.erase(servers.begin());
  std::map<std::string, ServerSamples> samples;
  std::map<std::string, std::vector<double>> ratios;  // A value a run.
  std::map<std::string, std::vector<double>> steps;   // Of the chain, by name.
  std::vector<double> kernel_by_relaunch;
  std::vector<double> threads_by_kernel;
  std::uint64_t lost = 0;
  std::mt19937 random(1);
  const std::uint32_t runs = rounds != 0 ? rounds : brief ? rounds_least : figure_runs;
  Progress progress("bench memcached", "runs");
  for (std::uint32_t run = 0; run < runs; ++run) {
    progress.tell(run, runs);
    std::vector<std::string> order = servers;
    std::shuffle(order.begin(), order.end(), random);
    std::map<std::string, double> now;
    std::map<std::string, std::pair<double, double>> latency;  // p50, p99.
    for (const std::string& server : order) {
      auto result = load(server, brief ? "0.05" : "0.4");
      if (!result) return result.error();
      const nlohmann::ordered_json& seen = *result;
      if (seen["wrong"] != 0 || seen["misses"] != 0 || seen["requests"] == 0) {
        return Error{EIO, "by " + server + " answers are wrong: " + seen.dump()};
      }
      lost += seen["lost"].get<std::uint64_t>();
      now[server] = seen["requests_per_s"].get<double>();
      ServerSamples& all = samples[server];
      all.per_s.add(now[server]);
      latency[server] = {seen["p50_us"].get<double>(), seen["p99_us"].get<double>()};
      all.p50_us.add(latency[server].first);
      all.p99_us.add(latency[server].second);
    }
    for (const std::string& server : servers) {
      if (server == "kernel") continue;
      ratios["kernel / " + server + ", requests a second"].push_back(now["kernel"] / now[server]);
      ratios[server + " / kernel, p50"].push_back(latency[server].first / latency["kernel"].first);
      ratios[server + " / kernel, p99"].push_back(latency[server].second /
                                                  latency["kernel"].second);
    }
    for (const ChainStep& step : chain) {
      steps[step.name].push_back(now[step.faster] / now[step.slower]);
    }
    kernel_by_relaunch.push_back(now["kernel"] / now["relaunch"]);
    threads_by_kernel.push_back(now["threads"] / now["kernel"]);
  }
  nlohmann::ordered_json table;
  for (const std::string& server : servers) {
    const ServerSamples& all = samples[server];
    table.push_back({{"server", server},
                     {"requests_per_s", rounded(all.per_s.median())},
                     {"sd", rounded(all.per_s.deviation())},
                     {"p50_us", rounded(all.p50_us.median())},
                     {"p50_sd", rounded(all.p50_us.deviation())},
                     {"p99_us", rounded(all.p99_us.median())},
                     {"p99_sd", rounded(all.p99_us.deviation())}});
  }
  nlohmann::ordered_json beside;
  for (const auto& [name, values] : ratios) beside.push_back(ratio_row(name.c_str(), values));
  nlohmann::ordered_json parts;
  for (const ChainStep& step : chain) parts.push_back(ratio_row(step.name, steps[step.name]));
  return nlohmann::ordered_json{
      {"runs", runs},
      {"lost", lost},
      {"servers", table},
      {"beside", beside},
      {"chain", parts},
      {"goals", nlohmann::ordered_json::array({goal_row(beside_relaunch, kernel_by_relaunch),
                                               goal_row(beside_threads, threads_by_kernel)})}};
}

}  // namespace k2k::bench
