#include "cli/watch/bpf/tracer.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "cli/watch/bpf/libbpf.hpp"
#include "cli/watch/bpf/object.hpp"
#include "cli/watch/bpf/readiness.hpp"

namespace k2k::watch {

namespace {

constexpr std::size_t name_bytes = 16;
constexpr std::size_t function_bytes = 64;

// As in watch.bpf.c.
struct SumKey {
  std::uint32_t taker;
  std::uint32_t zero;
  std::uint64_t id;
};
struct Sum {
  std::uint64_t ns;
  std::uint64_t count;
};
struct HarmKey {
  std::uint32_t cause;
  std::uint32_t victim;
};
struct HarmSum {
  std::uint64_t ns;
  std::uint64_t times;
  char cause[name_bytes];
  char victim[name_bytes];
};
struct CoreState {
  std::uint64_t interrupts;
  std::uint64_t softirqs;
  std::uint64_t interrupt_began;
  std::uint64_t softirq_began;
  std::uint64_t interrupts_at_softirq;
  std::uint64_t thread_began;
  std::uint64_t above_at_thread;
  std::uint64_t program_ns;
  std::uint64_t idle_ns;
  Sum vectors[std::size(vector_names)];
  Sum softirq_sums[16];
  std::uint64_t lost;
  std::uint32_t running_taker;
  std::uint32_t running;
};

// The programs without which there is no account; those of interrupt vectors exist on x86 alone.
constexpr std::string_view needed[] = {"irq_begins",   "irq_ends",    "softirq_begins",
                                       "softirq_ends", "switches",    "wakes_up",
                                       "wakes_first",  "work_begins", "work_ends"};

constexpr std::size_t names_read_max = 4096;

double seconds_of_ns(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

template <std::size_t bytes>
std::string name_in(const char (&name)[bytes]) {
  return std::string(name, ::strnlen(name, bytes));
}

}  // namespace

struct Tracer::Parts {
  Libbpf libbpf;
  bpf_object* object = nullptr;
  std::vector<bpf_link*> links;
  std::vector<int> programs;
  Descriptor statistics;  // The kernel counts the programs' time while it is open.
  int sums = -1;
  int harms = -1;
  int cores = -1;
  int names = -1;
  int functions = -1;
  std::size_t possible = 1;

  ~Parts() {
    for (bpf_link* const link : links) static_cast<void>(libbpf.detach(link));
    if (object != nullptr) libbpf.close(object);
  }
  void read_sums(Traced& traced) const;
  void read_harms(Traced& traced) const;
  void read_cores(Traced& traced) const;
  void read_names(Traced& traced) const;
  [[nodiscard]] double own_cpu_s() const;
};

namespace {

// One switch on each core that this thread may use, so that the programs know what runs there.
void visit_cores() {
  cpu_set_t before;
  CPU_ZERO(&before);
  if (::sched_getaffinity(0, sizeof before, &before) != 0) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &before)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) continue;
    ::usleep(1);
  }
  static_cast<void>(::sched_setaffinity(0, sizeof before, &before));
}

template <class Key, class Use>
void each_key(const Libbpf& libbpf, int map, std::size_t most, const Use& use) {
  Key key{};
  Key next{};
  const void* before = nullptr;
  for (std::size_t count = 0; count < most && libbpf.next_key(map, before, &next) == 0; ++count) {
    key = next;
    before = &key;
    use(key);
  }
}

// Twice the size of the largest map: a key that vanishes meanwhile begins the search again.
constexpr std::size_t keys_max = 32'768;

}  // namespace

void Tracer::Parts::read_sums(Traced& traced) const {
  std::vector<Sum> by_core(possible);
  each_key<SumKey>(libbpf, sums, keys_max, [&](const SumKey& key) {
    if (libbpf.look_up(sums, &key, by_core.data()) != 0) return;
    auto& spent = traced.spent[{static_cast<Taker>(key.taker), key.id}];
    for (std::size_t core = 0; core < possible; ++core) {
      if (by_core[core].count == 0) continue;
      spent[static_cast<int>(core)] = {seconds_of_ns(by_core[core].ns), by_core[core].count};
    }
  });
}

void Tracer::Parts::read_harms(Traced& traced) const {
  each_key<HarmKey>(libbpf, harms, keys_max, [&](const HarmKey& key) {
    HarmSum harm{};
    if (libbpf.look_up(harms, &key, &harm) != 0) return;
    const int victim = static_cast<int>(key.victim);
    if (key.cause == 0) {
      traced.interrupted_s[victim] = seconds_of_ns(harm.ns);
      return;
    }
    traced.harms[{static_cast<int>(key.cause), victim}] = {
        name_in(harm.cause), name_in(harm.victim), seconds_of_ns(harm.ns), harm.times};
  });
}

// The sums in each core's state, and the threads that have the cores now: the programs add the time
// of a thread when it leaves.
void Tracer::Parts::read_cores(Traced& traced) const {
  std::vector<CoreState> states(possible);
  const std::uint32_t zero = 0;
  if (libbpf.look_up(cores, &zero, states.data()) != 0) return;
  const auto moment = static_cast<std::uint64_t>(now().time_since_epoch().count());
  for (std::size_t core = 0; core < possible; ++core) {
    const CoreState& state = states[core];
    traced.lost += state.lost;
    const auto in_core = static_cast<int>(core);
    traced.spent[{Taker::program, 0}][in_core].cpu_s = seconds_of_ns(state.program_ns);
    traced.spent[{Taker::idle, 0}][in_core].cpu_s = seconds_of_ns(state.idle_ns);
    const auto add = [&](Taker taker, std::uint64_t id, const Sum& sum) {
      if (sum.count > 0) traced.spent[{taker, id}][in_core] = {seconds_of_ns(sum.ns), sum.count};
    };
    for (std::size_t at = 0; at < std::size(vector_names); ++at) {
      add(Taker::vector, at, state.vectors[at]);
    }
    for (std::size_t at = 0; at < std::size(softirq_names); ++at) {
      add(Taker::softirq, at, state.softirq_sums[at]);
    }
    if (state.thread_began == 0 || moment < state.thread_began) continue;
    const std::uint64_t above = state.interrupts + state.softirqs - state.above_at_thread;
    const std::uint64_t ran = moment - state.thread_began;
    Spent& spent = traced.spent[{static_cast<Taker>(state.running_taker), state.running}][in_core];
    spent.cpu_s += seconds_of_ns(ran > above ? ran - above : 0);
  }
}

void Tracer::Parts::read_names(Traced& traced) const {
  each_key<std::uint32_t>(libbpf, names, names_read_max, [&](std::uint32_t thread) {
    char name[name_bytes] = {};
    if (libbpf.look_up(names, &thread, name) == 0) traced.threads[thread] = name_in(name);
  });
  each_key<std::uint64_t>(libbpf, functions, names_read_max, [&](std::uint64_t function) {
    char name[function_bytes] = {};
    if (libbpf.look_up(functions, &function, name) == 0) traced.functions[function] = name_in(name);
  });
}

double Tracer::Parts::own_cpu_s() const {
  double sum = 0;
  for (const int program : programs) {
    bpf_prog_info facts{};
    std::uint32_t size = sizeof facts;
    if (libbpf.program_facts(program, &facts, &size) == 0) sum += seconds_of_ns(facts.run_time_ns);
  }
  return sum;
}

Tracer::Tracer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Tracer::~Tracer() = default;

Result<std::unique_ptr<Tracer>> Tracer::start() {
  if (const std::optional<Error> error = no_bpf()) return *error;
  auto parts = std::make_unique<Parts>();
  Result<Libbpf> libbpf = Libbpf::load();
  if (!libbpf) return libbpf.error();
  parts->libbpf = libbpf.value();
  const Libbpf& use = parts->libbpf;
  const std::span<const unsigned char> bytes = bpf_object_bytes();
  parts->object = use.open_mem(bytes.data(), bytes.size(), nullptr);
  if (parts->object == nullptr) {
    return Error{errno, fmt::format("libbpf cannot read the programs: {}", std::strerror(errno))};
  }
  if (const int error = use.load_object(parts->object); error != 0) {
    // EACCES is the verifier's answer, EPERM that of a container or of kernel lockdown.
    return Error{-error,
                 fmt::format("Linux refused the programs: {}{}", std::strerror(-error),
                             error == -EPERM ? "; a container or kernel lockdown forbids bpf(2)"
                                             : "; use --no-bpf, and report this version of Linux")};
  }
  parts->statistics = Descriptor(use.enable_statistics(BPF_STATS_RUN_TIME));
  for (bpf_program* program = use.next_program(parts->object, nullptr); program != nullptr;
       program = use.next_program(parts->object, program)) {
    bpf_link* const link = use.attach(program);
    const std::string_view name = use.program_name(program);
    if (link != nullptr) {
      parts->links.push_back(link);
      parts->programs.push_back(use.program_descriptor(program));
    } else if (std::find(std::begin(needed), std::end(needed), name) != std::end(needed)) {
      return Error{
          errno, fmt::format("the program {} cannot be attached: {}", name, std::strerror(errno))};
    }
  }
  parts->sums = use.map_descriptor(parts->object, "sums");
  parts->harms = use.map_descriptor(parts->object, "harms");
  parts->cores = use.map_descriptor(parts->object, "cores");
  parts->functions = use.map_descriptor(parts->object, "functions");
  parts->names = use.map_descriptor(parts->object, "names");
  parts->possible = static_cast<std::size_t>(std::max(1, use.possible_cores()));
  visit_cores();
  return std::unique_ptr<Tracer>(new Tracer(std::move(parts)));
}

Result<Traced> Tracer::read() {
  Traced traced;
  parts_->read_harms(traced);
  traced.own_cpu_s = parts_->own_cpu_s();
  parts_->read_sums(traced);
  parts_->read_names(traced);  // Behind the sums: the programs write a name before its first sum.
  parts_->read_cores(traced);  // Last: most of the time is here.
  if (traced.spent.empty()) return Error{EIO, "the BPF programs have no sums; try --no-bpf"};
  return traced;
}

}  // namespace k2k::watch
