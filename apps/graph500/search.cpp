#include "apps/graph500/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>

#include "apps/common/device_blocks.hpp"
#include "apps/common/interruption.hpp"
#include "apps/graph500/validate.hpp"
#include "base/clock.hpp"
#include "base/cores.hpp"

namespace k2k::graph500 {

namespace {

// A fault halts a group's item, and the unit needs others to run meanwhile.
constexpr std::uint32_t groups_a_unit = 16;
// Of a target an item takes 2.4 ns, of a launch Linux and the device 41 us (the page's table).
constexpr std::uint32_t alone_on_cores = 4'096;
constexpr std::uint32_t items_on_gpu = 256;
constexpr std::uint32_t turn_least = 16;
constexpr std::uint32_t turn_most = 512;  // A cache line of each bitmap.

// Two items that take turns within one line of a bitmap write it by turns; with fewer turns than
// parts, some have nothing to do.
std::uint32_t turn_on_cores(std::uint64_t vertices, std::uint64_t parts) {
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp<std::uint64_t>(vertices / parts, turn_least, turn_most)));
}

struct Root {
  std::uint32_t vertex;
  std::uint64_t targets;
};

// By pread(2), so that no page of the graph comes into memory for it.
Result<Root> root_of(const GraphFile& file, std::uint64_t vertex) {
  const Header& header = file.header;
  if (vertex >= header.vertices) {
    return Error{EINVAL, fmt::format("--root {} is no vertex of {}, whose last is {}", vertex,
                                     file.path, header.vertices - 1)};
  }
  std::uint64_t range[2] = {};
  Status read = apps::read_at(file, range, sizeof(range),
                              file.sections().offsets + vertex * sizeof(range[0]));
  if (!read) return read.error();
  if (range[0] > range[1] || range[1] > header.targets) {
    return apps::damaged_input(file, fmt::format("the targets of vertex {} are {} to {}, of {}",
                                                 vertex, range[0], range[1], header.targets));
  }
  if (range[0] == range[1]) {
    return Error{EINVAL, fmt::format("{}: vertex {} has no edges, so a search from it reaches "
                                     "nothing; take another --root, as {}",
                                     file.path, vertex, header.root[0])};
  }
  return Root{static_cast<std::uint32_t>(vertex), range[1] - range[0]};
}

Result<std::vector<Root>> roots_of(const GraphFile& file, const Settings& settings) {
  std::vector<Root> roots;
  const auto add = [&](std::uint64_t vertex) -> Status {
    const auto root = root_of(file, vertex);
    if (!root) return root.error();
    roots.push_back(*root);
    return {};
  };
  if (settings.root) {
    if (Status added = add(*settings.root); !added) return added.error();
    return roots;
  }
  const std::uint32_t count = std::min(settings.roots, file.header.roots);
  for (std::uint32_t place = 0; place < count; ++place) {
    if (Status added = add(file.header.root[place]); !added) return added.error();
  }
  return roots;
}

Error error_of_fault(const GraphFile& file, const Fault& fault) {
  const Header& header = file.header;
  if (fault.kind == wrong_offsets) {
    return apps::damaged_input(
        file, fmt::format("the targets of vertex {} are {} to {}, of {}", fault.vertex, fault.place,
                          fault.value, header.targets));
  }
  return apps::damaged_input(
      file, fmt::format("target {} joins vertex {} with vertex {}, and the last "
                        "vertex is {}",
                        fault.place, fault.vertex, fault.value, header.vertices - 1));
}

bool stopped() { return apps::Interruption::signal() != 0; }

Job job_of(const GraphFile& file, const std::byte* data) {
  const Sections at = file.sections();
  Job job;
  job.offsets = reinterpret_cast<const std::uint64_t*>(data);
  job.targets = reinterpret_cast<const std::uint32_t*>(data + (at.targets - at.offsets));
  job.vertices = file.header.vertices;
  job.target_count = file.header.targets;
  return job;
}

// The run of one file, from the load to the last validation.
class Run {
 public:
  Run(const GraphFile& file, const Settings& settings)
      : file_(file),
        settings_(settings),
        resident_(settings.sampled, file.descriptor.number(), file.size) {
    outcome_.header = file.header;
    outcome_.graph_bytes = file.bytes;
  }

  // `load` returns Result<apps::InputMemory>. Returns the memory.
  template <class Load>
  Result<apps::InputMemory> load(Load load) {
    resident_.mark();
    const apps::LinuxFaults before = apps::linux_faults_now();
    const Instant begin = now();
    Result<apps::InputMemory> memory = load();
    if (!memory) return memory.error();
    outcome_.load_seconds = seconds_since(begin);
    count_faults(before);
    outcome_.huge_bytes = memory->huge_bytes();
    resident_.mark();
    return memory;
  }

  // `one` searches from a Root and returns Result<Fault>; `tree` returns the tree of that search.
  // A signal ends the searches; one that has not ended, or was not validated, is left out.
  template <class One, class CopyTree>
  Status search(const std::vector<Root>& roots, Runtime* runtime, One one, CopyTree copy_tree) {
    const apps::Interruption interruption(runtime);
    outcome_.wanted = static_cast<std::uint32_t>(roots.size());
    Status searched = search_all(roots, one, copy_tree);
    if (outcome_.searches.size() == roots.size() || apps::Interruption::signal() == 0) {
      return searched;
    }
    outcome_.interrupted_by = apps::Interruption::signal();
    return searched.ok() || searched.error().code == ECANCELED ? Status() : searched;
  }

  Outcome end() {
    outcome_.resident = resident_.end();
    outcome_.resident_begin = outcome_.resident.front().own();
    return outcome_;
  }
  Outcome& outcome() { return outcome_; }

 private:
  template <class One, class CopyTree>
  Status search_all(const std::vector<Root>& roots, One one, CopyTree copy_tree) {
    Tree tree;
    for (const Root& root : roots) {
      const apps::LinuxFaults before = apps::linux_faults_now();
      const double cpu_before = apps::cpu_seconds_now();
      const Instant begin = now();
      const Result<Fault> fault = one(root, tree);
      Search done;
      done.seconds = seconds_since(begin);
      done.cpu_seconds = apps::cpu_seconds_now() - cpu_before;
      count_faults(before);
      resident_.mark();
      // First: a file that was changed explains a page that does not come and a wrong target.
      if (Status same = apps::unchanged(file_); !same) return same;
      if (!fault) return fault.error();
      if (fault->kind != 0) return error_of_fault(file_, *fault);
      if (Status copied = copy_tree(tree); !copied) return copied;
      const auto reached = validate(file_, root.vertex, tree, stopped);
      if (!reached) return reached.error();
      done.root = root.vertex;
      done.vertices = reached->vertices;
      done.edges = reached->edges;
      done.levels = reached->levels;
      done.digest = digest_of(tree);
      outcome_.searches.push_back(done);
      outcome_.search_seconds += done.seconds;
      outcome_.cpu_seconds += done.cpu_seconds;
    }
    return {};
  }

  void count_faults(const apps::LinuxFaults& before) {
    const apps::LinuxFaults then = apps::linux_faults_now();
    outcome_.minor_faults += then.minor - before.minor;
    outcome_.major_faults += then.major - before.major;
  }

  const GraphFile& file_;
  const Settings& settings_;
  Outcome outcome_;
  apps::Resident resident_;
};

// With a machine: the same for a device and for threads.
Status search_by(Machine& machine, Runtime* runtime, const Allocate& allocate, const Job& job,
                 Direction direction, const std::vector<Root>& roots, Run& run) {
  auto traversal = Traversal::create(machine, allocate, job);
  if (!traversal) return traversal.error();
  Status searched = run.search(
      roots, runtime,
      [&](const Root& root, Tree&) {
        return traversal->search(root.vertex, root.targets, direction, stopped);
      },
      [&](Tree& tree) { return traversal->copy_tree(tree); });
  run.outcome().steps = traversal->steps();
  return searched;
}

Result<Outcome> search_by_kernel(const GraphFile& file, const std::vector<Root>& roots,
                                 const Settings& settings, const RuntimeConfig& config) {
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  const DeviceInfo& device = runtime->device();
  const bool on_cores = device.platform == "cpu";
  apps::DeviceBlocks blocks(*runtime);
  Run run(file, settings);
  const auto memory =
      run.load([&] { return apps::InputMemory::create(*runtime, file, settings.mode, "graph"); });
  if (!memory) return memory.error();
  const LaunchShape shape{
      settings.groups != 0 ? settings.groups : groups_a_unit * device.compute_units,
      settings.items != 0 ? settings.items
      : on_cores          ? 1
                          : items_on_gpu};
  DeviceMachine machine(*runtime, shape);
  Job job = job_of(file, memory->as<const std::byte>());
  job.turn = on_cores ? turn_on_cores(job.vertices, shape.groups * shape.group_items) : 1;
  // One lane of a GPU is slower than a launch.
  job.alone_max = settings.alone.value_or(on_cores ? alone_on_cores : 0);
  // Lanes in step wait for the longest list among theirs.
  job.share_min = settings.share.value_or(on_cores ? 0 : device.wave_lanes);
  const Status searched = search_by(
      machine, &*runtime, [&](std::size_t bytes) { return blocks.on_device(bytes); }, job,
      settings.direction, roots, run);
  if (!searched) return searched.error();
  run.outcome().device_seconds = machine.seconds();
  run.outcome().region_pages = memory->demand_pages();
  return run.end();
}

Result<Outcome> search_by_host(const GraphFile& file, const std::vector<Root>& roots,
                               const Settings& settings) {
  Run run(file, settings);
  const auto memory =
      run.load([&] { return apps::InputMemory::on_host(file, settings.mode, "k2k-graph500"); });
  if (!memory) return memory.error();
  Job job = job_of(file, memory->as<const std::byte>());
  Status searched;
  if (settings.by == By::serial) {
    searched = run.search(
        roots, nullptr,
        [&](const Root& root, Tree& tree) {
          return search_serially(job, root.vertex, tree, stopped);
        },
        [](Tree&) { return Status(); });
  } else {
    const std::uint32_t threads = settings.threads != 0 ? settings.threads : usable_cores();
    const std::uint32_t parts = settings.groups != 0 ? settings.groups : groups_a_unit * threads;
    const auto machine = HostMachine::create(threads, parts);
    if (!machine) return machine.error();
    job.turn = turn_on_cores(job.vertices, parts);
    job.alone_max = settings.alone.value_or(alone_on_cores);
    std::vector<std::vector<std::uint64_t>> memories;
    const auto allocate = [&](std::size_t bytes) -> Result<void*> {
      return memories.emplace_back((bytes + 7) / 8).data();
    };
    searched = search_by(**machine, nullptr, allocate, job, settings.direction, roots, run);
  }
  if (!searched) return searched.error();
  return run.end();
}

}  // namespace

Result<Outcome> search(const GraphFile& file, const Settings& settings,
                       const RuntimeConfig& config) {
  const auto roots = roots_of(file, settings);
  if (!roots) return roots.error();
  try {
    if (settings.by == By::kernel) return search_by_kernel(file, *roots, settings, config);
    return search_by_host(file, *roots, settings);
  } catch (const std::bad_alloc&) {
    return Error{ENOMEM,
                 fmt::format("no memory for the trees of {} vertices; generate a graph of a "
                             "smaller --scale",
                             file.header.vertices)};
  }
}

Result<Outcome> search(const std::string& path, const Settings& settings,
                       const RuntimeConfig& config) {
  const auto file = open_graph(path);
  if (!file) return file.error();
  return search(*file, settings, config);
}

}  // namespace k2k::graph500
