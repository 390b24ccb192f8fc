// How much do the operations cost that claim, fill and poll a slot? (thesis, section 3.6,
// table 3.4)
//
// One work-item repeats each operation on one word, in each kind of memory and at the scope that
// K2K uses there:
//
//   device         lock words: every operation, at device scope. With one compute unit the cpu
//                  backend needs no locked instruction (protocol/words.hpp), with two it does
//   host-visible   slots: release store and acquire load at system scope. No read-modify-write:
//                  over a bus it would not be atomic (docs/decisions/0001)
//   local          words of a work-group: every operation
//
// Each load depends on the one before: the word holds its own address. Stores, and operations of a
// device with one unit that need no locked instruction, may overlap, as they may in a slot's life.
// Contended: another compute unit makes the same operation on the word, and for host-visible memory
// a thread of the host stores to it. The benchmark uses only device code and protocol/words.hpp, so
// that it also runs on a GPU. Budget: none. Thesis (AMD FX-9800P, its integrated GPU): compare-swap
// 1.352 us, swap 0.782, atomic load 0.360, load 0.243: a GPU's caches are far away, a CPU's are
// not.

#include <atomic>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "bench/command/figure.hpp"
#include "device/k2k.hpp"
#include "protocol/words.hpp"

namespace k2k::bench {

namespace {

using nlohmann::ordered_json;

enum class Operation : std::uint8_t { compare_swap, swap, add, store, atomic_load, load };
constexpr const char* keys[] = {"compare_swap", "swap", "add", "store", "atomic_load", "load"};
constexpr int operation_count = 6;

enum class LineMemory : std::uint8_t { device, host_visible, local };
constexpr const char* memory_names[] = {"device", "host-visible", "local"};

using Word = std::uint64_t;

// protocol/ has no swap, because each state is stored by its one owner. This one serves the
// comparison.
K2K_DEVICE inline Word swap_at_device_scope(Word* word, Word value) {
#if defined(__CUDA_ARCH__)
  Word seen;
  asm volatile("atom.acq_rel.gpu.global.exch.b64 %0, [%1], %2;"
               : "=l"(seen)
               : "l"(word), "l"(value)
               : "memory");
  return seen;
#elif defined(__HIP_DEVICE_COMPILE__)
  return __hip_atomic_exchange(word, value, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
#else
  return __atomic_exchange_n(word, value, __ATOMIC_ACQ_REL);
#endif
}

// Repeats the operation `count` times. The word keeps its value, its own address, even if another
// unit makes the same operation; the result is that address, or another value if an operation
// failed.
template <Operation operation, bool system_scope>
K2K_DEVICE inline Word repeat(protocol::DeviceScope scope, Word* word, std::uint32_t count) {
  const Word self = reinterpret_cast<Word>(word);
  Word at = self;
  Word wrong = 0;
  for (std::uint32_t done = 0; done < count; ++done) {
    auto* const here = reinterpret_cast<Word*>(at);
    if constexpr (operation == Operation::compare_swap) {
      wrong |= protocol::device_compare_exchange(scope, here, self, self) ? 0u : 1u;
    } else if constexpr (operation == Operation::swap) {
      at = swap_at_device_scope(here, self);
    } else if constexpr (operation == Operation::add) {
      at = protocol::device_add(scope, here, Word{0});
    } else if constexpr (operation == Operation::store) {
      if constexpr (system_scope) {
        protocol::store_release(here, self);
      } else {
        protocol::device_store(here, self);
      }
    } else if constexpr (operation == Operation::atomic_load) {
      at = system_scope ? protocol::load_acquire(here) : protocol::device_load(here);
    } else {
      at = *static_cast<volatile Word*>(here);
    }
  }
  return at + wrong;
}

// The padding keeps the word alone on its cache line and on the neighbouring line that the CPU
// fetches with it.
struct alignas(128) Place {
  Word word;
};

// The words by which host and kernel communicate.
struct Meeting {
  std::uint32_t begun = 0;  // The rival is at work.
  std::uint32_t over = 0;   // The rival may stop.
  std::uint64_t rival_operations = 0;
  double nanoseconds = 0;  // Per operation.
  std::uint64_t wrong = 0;
};

constexpr int tries_max = 100;
constexpr std::uint32_t piece = 256;  // Operations of a rival between two looks at `over`.

// Group 0 measures; group 1, if it exists, is its rival.
template <Operation operation, bool system_scope>
K2K_DEVICE void measure_or_rival(Meeting& meeting, Word* word, std::uint32_t count,
                                 bool wait_for_rival, double ns_per_cycle) {
  const protocol::DeviceScope scope = device::platform::current().area->device_scope;
  if (k2k::group_rank() != 0) {
    std::uint64_t done = 0;
    while (protocol::device_load(&meeting.over) == 0) {
      repeat<operation, system_scope>(scope, word, piece);
      protocol::device_store(&meeting.rival_operations, done += piece);
      protocol::device_store(&meeting.begun, std::uint32_t{1});
      k2k::yield();
    }
    return;
  }
  while (wait_for_rival && protocol::load_acquire(&meeting.begun) == 0) k2k::yield();
  const Word self = reinterpret_cast<Word>(word);
  const std::uint64_t before = protocol::load_acquire(&meeting.rival_operations);
  const std::uint64_t start = cycles();
  const Word result = repeat<operation, system_scope>(scope, word, count);
  const std::uint64_t end = cycles();
  meeting.wrong = result == self ? 0 : 1;
  if (wait_for_rival && protocol::load_acquire(&meeting.rival_operations) == before) {
    meeting.wrong = 2;
  }
  meeting.nanoseconds = static_cast<double>(end - start) * ns_per_cycle / count;
  protocol::store_release(&meeting.over, std::uint32_t{1});
}

struct Case {
  LineMemory memory;
  bool contended;
  std::uint32_t units;
};

template <Operation operation, bool system_scope>
Result<double> measure(Runtime& runtime, const Case& each, std::uint32_t count) {
  std::size_t room = 2 * sizeof(Place);  // Device memory is aligned to 64 bytes.
  Result<void*> device_memory = runtime.allocate(room);
  if (!device_memory) return device_memory.error();
  void* aligned = device_memory.value();
  K2K_EXPECT(std::align(alignof(Place), sizeof(Place), aligned, room) != nullptr);
  Place host_place{};
  Place* const place =
      each.memory == LineMemory::host_visible ? &host_place : static_cast<Place*>(aligned);
  Meeting shared_meeting;
  Meeting* const meeting = &shared_meeting;
  const bool local = each.memory == LineMemory::local;
  const bool contended = each.contended;
  const double scale = nanoseconds_per_cycle();
  const auto kernel = [=] {
    K2K_LOCAL(Place, local_place);
    Word* const word = local ? &local_place.word : &place->word;
    if (k2k::group_rank() == 0) {
      protocol::device_store(word, reinterpret_cast<Word>(word));
    } else {
      while (protocol::device_load(word) == 0) k2k::yield();
    }
    measure_or_rival<operation, system_scope>(*meeting, word, count, contended, scale);
  };
  const bool rival_on_device = contended && each.memory == LineMemory::device;
  const LaunchShape shape{.groups = rival_on_device ? 2u : 1u, .group_items = 1};
  std::thread rival;
  if (contended && !rival_on_device) {
    try {
      rival = std::thread([meeting, place] {
        const Word self = reinterpret_cast<Word>(&place->word);
        while (protocol::load_acquire(&meeting->over) == 0) {
          for (std::uint32_t done = 0; done < piece; ++done) {
            protocol::store_release(&place->word, self);
          }
          protocol::store_release(&meeting->rival_operations, meeting->rival_operations + piece);
          protocol::store_release(&meeting->begun, std::uint32_t{1});
        }
      });
    } catch (const std::system_error& failure) {
      runtime.free(device_memory.value());
      return Error{EAGAIN, std::string("no second thread: ") + failure.what()};
    }
  }
  auto report = runtime.launch(shape, kernel, "bench atomics");
  protocol::store_release(&meeting->over, std::uint32_t{1});
  if (rival.joinable()) rival.join();
  runtime.free(device_memory.value());
  if (!report) return report.error();
  if (meeting->wrong == 2) {
    return Error{EAGAIN, "nobody contended: this machine has no second core to spare"};
  }
  if (meeting->wrong != 0) return Error{EIO, "a word lost its value"};
  return meeting->nanoseconds;
}

using Measure = Result<double> (*)(Runtime&, const Case&, std::uint32_t);
constexpr Measure at_device_scope[operation_count] = {
    measure<Operation::compare_swap, false>, measure<Operation::swap, false>,
    measure<Operation::add, false>,          measure<Operation::store, false>,
    measure<Operation::atomic_load, false>,  measure<Operation::load, false>};
constexpr Measure at_system_scope[operation_count] = {nullptr,
                                                      nullptr,
                                                      nullptr,
                                                      measure<Operation::store, true>,
                                                      measure<Operation::atomic_load, true>,
                                                      measure<Operation::load, true>};

struct Row {
  Case what;
  Samples samples[operation_count]{};
};

Status measure_row(Runtime& runtime, Row& row, std::uint32_t count) {
  const bool system_scope = row.what.memory == LineMemory::host_visible;
  for (int operation = 0; operation < operation_count; ++operation) {
    const Measure measure = (system_scope ? at_system_scope : at_device_scope)[operation];
    if (measure == nullptr) continue;
    auto took = measure(runtime, row.what, count);
    // The rival may have no core at that moment.
    for (int attempt = 1; !took && took.error().code == EAGAIN && attempt < tries_max; ++attempt) {
      took = measure(runtime, row.what, count);
    }
    if (!took) return took.error();
    row.samples[operation].add(took.value());
  }
  return {};
}

}  // namespace

Result<ordered_json> atomics(const RuntimeConfig& base, Effort effort) {
  const std::uint32_t count = effort == Effort::brief ? 500'000 : 2'000'000;
  std::vector<Row> rows;
  rows.push_back({{LineMemory::device, false, 1}});
  rows.push_back({{LineMemory::device, false, 2}});
  rows.push_back({{LineMemory::device, true, 2}});
  rows.push_back({{LineMemory::host_visible, false, 1}});
  rows.push_back({{LineMemory::host_visible, true, 1}});
  rows.push_back({{LineMemory::local, false, 1}});
  std::vector<Runtime> runtimes;
  for (const std::uint32_t units : {1u, 2u}) {
    RuntimeConfig config = base;
    config.device.compute_units = units;
    config.device.resident_groups = 1;  // So that the rival gets a unit of its own.
    auto runtime = Runtime::create(config);
    if (!runtime) return runtime.error();
    runtimes.push_back(std::move(runtime).value());
  }
  for (Rounds rounds = effort == Effort::brief ? Rounds("atomics", 1, 1, 0)
                                               : Rounds("atomics", 3, 15, 30);
       rounds.next();) {
    for (Row& row : rows) {
      if (Status status = measure_row(runtimes[row.what.units - 1], row, count); !status) {
        return status.error();
      }
    }
  }
  ordered_json table;
  for (Row& row : rows) {
    ordered_json line;
    line["memory"] = memory_names[static_cast<int>(row.what.memory)];
    line["scope"] = row.what.memory == LineMemory::host_visible ? "system" : "device";
    line["units"] = row.what.units;
    line["contended"] = row.what.contended;
    for (int operation = 0; operation < operation_count; ++operation) {
      Samples& samples = row.samples[operation];
      const std::string key = keys[operation];
      const bool measured = samples.size() != 0;
      line[key + "_ns"] = measured ? ordered_json(rounded(samples.median())) : nullptr;
      line[key + "_sd_ns"] = measured ? ordered_json(rounded(samples.deviation())) : nullptr;
    }
    table.push_back(line);
  }
  ordered_json result;
  result["operations"] = table;
  result["runs"] = rows.front().samples[0].size();
  return result;
}

}  // namespace k2k::bench
