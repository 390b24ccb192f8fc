// `k2k-memcached`: serves until a signal, or asks a server as clients do.

#include "apps/memcached/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/common/core_shares.hpp"
#include "apps/memcached/client.hpp"
#include "apps/memcached/peer.hpp"
#include "apps/memcached/server.hpp"
#include "base/cores.hpp"

namespace k2k::cli {

namespace {

struct MemcachedFlags {
  std::string by = "kernel";
  bool load = false;
  memcached::ServerOptions server;
  memcached::LoadOptions clients;
};

int tell(const std::string& message, int status = exit_failure) {
  fmt::print(stderr, "k2k-memcached: {}\n", message);
  return status;
}

double quantile(std::vector<double>& values, double at) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(at * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank),
                   values.end());
  return values[rank];
}

memcached::By way_of(const MemcachedFlags& flags) {
  return flags.by == "relaunch"  ? memcached::By::relaunch
         : flags.by == "threads" ? memcached::By::threads
         : flags.by == "direct"  ? memcached::By::direct
                                 : memcached::By::kernel;
}

// A datagram comes to a waiting group by a thread of the host (k2k/wait) while clients run: units
// on every core would contend with them.
void share_cores(LoadedConfig& loaded, memcached::By by) {
  const std::uint32_t cores = usable_cores();
  apps::share_cores(loaded,
                    by == memcached::By::kernel || by == memcached::By::direct ? cores / 2 : cores);
}

// The load of a server that is there, or of one that lives as long as the load.
Result<memcached::LoadResult> load_of(const MemcachedFlags& flags, const RuntimeConfig& config) {
  memcached::LoadOptions clients = flags.clients;
  clients.port = flags.server.port;
  if (clients.port != 0) return memcached::make_load(clients);
  if (flags.by == "memcached") {
    clients.port = memcached::free_port();
    const memcached::Peer peer(clients.port);
    if (!peer.runs()) return Error{ENOENT, "memcached is not installed (Debian: memcached)"};
    auto client = memcached::Client::connect(clients.port);
    if (!client) return client.error();
    if (!memcached::Peer::answers(*client)) {
      return Error{ETIMEDOUT, "memcached answers no UDP datagram here"};
    }
    return memcached::make_load(clients);
  }
  memcached::ServerOptions options = flags.server;
  options.by = way_of(flags);
  auto server = memcached::Server::start(options, config);
  if (!server) return server.error();
  clients.port = server.value()->port();
  auto result = memcached::make_load(clients);
  if (Status stopped = server.value()->stop(); !stopped) return stopped.error();
  return result;
}

int run_load(const MemcachedFlags& flags, const Context& context) {
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  share_cores(loaded.value(), way_of(flags));
  auto result = load_of(flags, loaded.value().config);
  if (!result) return tell(result.error().message);
  const double p50 = quantile(result->latencies_us, 0.5);
  const double p99 = quantile(result->latencies_us, 0.99);
  const double rate = static_cast<double>(result->requests) / result->seconds;
  if (context.json) {
    return print(nlohmann::ordered_json{{"requests", result->requests},
                                        {"misses", result->misses},
                                        {"lost", result->lost},
                                        {"wrong", result->wrong},
                                        {"seconds", result->seconds},
                                        {"requests_per_s", rate},
                                        {"p50_us", p50},
                                        {"p99_us", p99}}
                     .dump() +
                 "\n");
  }
  const int printed = print(
      fmt::format("{} requests, {:.0f} a second, p50 {:.1f} us, p99 {:.1f} us; {} misses, {} "
                  "lost, {} wrong\n",
                  result->requests, rate, p50, p99, result->misses, result->lost, result->wrong));
  return printed != exit_ok ? printed : result->wrong != 0 ? exit_failure : exit_ok;
}

int run_server(const MemcachedFlags& flags, const Context& context) {
  auto loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  share_cores(loaded.value(), way_of(flags));
  if (flags.by == "memcached") return tell("--by memcached needs --load", exit_usage);
  memcached::ServerOptions options = flags.server;
  options.by = way_of(flags);
  // Threads inherit the mask: the signals wait for sigwait().
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  auto server = memcached::Server::start(options, loaded.value().config);
  if (!server) return tell(server.error().message);
  const int printed =
      print(fmt::format("serving UDP port {} of 127.0.0.1\n", server.value()->port()));
  if (printed != exit_ok) return printed;
  int signal = 0;
  sigwait(&ends, &signal);
  const Status stopped = server.value()->stop();
  const memcached::ServeCounters counters = server.value()->counters();
  if (context.json) {
    return print(nlohmann::ordered_json{{"by", flags.by},
                                        {"gets", counters.gets},
                                        {"forwarded", counters.forwarded},
                                        {"dropped", counters.dropped},
                                        {"unsent", counters.unsent}}
                     .dump() +
                 "\n");
  }
  return stopped ? exit_ok : tell(stopped.error().message);
}

Run add_memcached(CommandLine& line, Context& context) {
  auto flags = std::make_shared<MemcachedFlags>();
  memcached::ServerOptions& server = flags->server;
  memcached::LoadOptions& clients = flags->clients;
  line.option("-p,--port", server.port, "UDP port of 127.0.0.1; 0: Linux chooses one")
      .within(0, 65535)
      .show_default();
  line.option("--by", flags->by, "Who receives, looks up and answers")
      .one_of({"kernel", "direct", "relaunch", "threads", "memcached"})
      .show_default()
      .last_wins();
  line.option("--buckets", server.buckets, "Buckets of the table")
      .within(1, 1 << 20)
      .show_default();
  line.option("--elements", server.elements, "Elements of a bucket")
      .within(1, 1 << 20)
      .show_default();
  line.option("--groups", server.groups,
              "Work-groups to launch; by default one for each unit that serves its own calls, else "
              "two, on a GPU 16 at most")
      .within(1, 4096)
      .last_wins();
  line.option("--items", server.items, "Work-items a group").within(1, 1024).last_wins();
  line.option("--threads", server.threads, "Threads of the host that serve")
      .within(1, 256)
      .last_wins();
  line.flag("--load", flags->load,
            "Be clients of the server at --port; without it, of one that serves so long");
  line.option("--clients", clients.clients, "Of --load: clients, each with one request at a time")
      .within(1, 1024)
      .show_default();
  line.option("--keys", clients.keys, "Of --load: keys, stored before it begins")
      .within(1, 10'000'000)
      .show_default();
  line.option("--value-bytes", clients.value_bytes, "Of --load: bytes of a value")
      .within(1, static_cast<int>(memcached::value_bytes_max))
      .show_default();
  line.option("--seconds", clients.seconds, "Of --load: how long it asks").show_default();
  line.option("--set-share", clients.set_share, "Of --load: SETs among the requests, 0 to 1")
      .show_default();
  line.option("--seed", clients.seed, "Of --load: equal seeds ask for equal keys").show_default();
  return [&context, flags] {
    return flags->load ? run_load(*flags, context) : run_server(*flags, context);
  };
}

}  // namespace

Command memcached_command() {
  return {
      .name = "memcached",
      .summary = "Serve memcached's GET from a kernel",
      .description =
          "Serves the binary protocol of memcached over UDP on the loopback address: GET and SET, "
          "values of up to 1,024 bytes, a table of fixed size. By kernel: work-groups receive the "
          "datagrams, look keys up and send the answers by their own system calls; threads of the "
          "host serve SET. By direct: the kernel's calls are made by libc on its own thread. By "
          "relaunch: the kernel ends at every system call, and the host makes "
          "it. By threads: no device. By memcached: Debian's, of which --load is the client. It "
          "serves until SIGINT, SIGTERM or SIGHUP. With --load it "
          "is the client, of any server of the protocol, and prints rate and latency.",
      .examples = {{"k2k-memcached -p 11222", "Serve until Ctrl-C."},
                   {"k2k-memcached --load -p 11222 --keys 10000", "Ask it for two seconds."},
                   {"k2k-memcached --load --by relaunch", "Serve and ask in one process."}},
      .exits = {{0, "It served until the signal, or all answers were right."},
                {1, "The port or the device could not be used, or an answer was wrong."},
                {2, "An option is wrong."}},
      .has_json = true,
      .add = add_memcached};
}

}  // namespace k2k::cli
