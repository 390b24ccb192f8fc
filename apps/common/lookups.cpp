#include "apps/common/lookups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "apps/common/device_blocks.hpp"
#include "apps/common/part_threads.hpp"
#include "base/clock.hpp"
#include "base/cores.hpp"

namespace k2k::apps {

namespace {

constexpr std::uint32_t parts_a_thread = 16;
constexpr std::uint32_t turn_most = 64;  // Answers of 8 cache lines.

// Two cores that take turns within one cache line of answers write it by turns; with fewer turns
// than parts, some have nothing to do. On a GPU neighbouring lanes load neighbours.
std::uint32_t turn_on_cores(std::uint64_t lookups, std::uint64_t parts) {
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp<std::uint64_t>(lookups / parts, 1, turn_most)));
}

// The totals of a run that ended, if they are right.
Status judge(const LookupProgram& program, const LookupTotals& totals) {
  // First: a file that was changed explains all else.
  if (Status same = unchanged(program.file()); !same) return same;
  if (totals.wrong != no_wrong) {
    return program.wrong_place(totals.wrong >> 8, static_cast<std::uint8_t>(totals.wrong));
  }
  const LookupTotals right = program.expected();
  if (totals.found == right.found && totals.bits == right.bits) return {};
  return damaged_input(
      program.file(),
      fmt::format("the answers are not those of the generator: {} found with the bits {:016x}, and "
                  "not {} with {:016x}",
                  totals.found, totals.bits, right.found, right.bits));
}

Result<LookupOutcome> by_kernel(LookupProgram& program, const LookupSettings& settings,
                                const RuntimeConfig& config) {
  const InputFile& file = program.file();
  LookupOutcome outcome;
  Resident resident(settings.sampled, file.descriptor.number(), file.size);
  outcome.begin = process_memory_now();
  resident.mark();
  const Instant begin = now();
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  DeviceBlocks blocks(*runtime);
  const auto input = InputMemory::create(*runtime, file, settings.mode, program.name());
  if (!input) return input.error();
  const auto totals = blocks.on_device(sizeof(LookupTotals));
  if (!totals) return totals.error();
  const LaunchShape shape = shape_on(*runtime, settings.groups, settings.items);
  const LookupMemory memory{[&](std::size_t bytes) { return blocks.on_device(bytes); },
                            [&](void* to, const void* from, std::size_t bytes) {
                              return runtime->copy(to, from, bytes);
                            }};
  const std::uint64_t parts = std::uint64_t{shape.groups} * shape.group_items;
  const std::uint32_t turn =
      runtime->device().platform == "cpu" ? turn_on_cores(program.lookups(), parts) : 1;
  const LookupTotals none;
  Status done = memory.copy(*totals, &none, sizeof(none));
  if (done) {
    done = program.prepare(input->as<const std::byte>(), turn, static_cast<LookupTotals*>(*totals),
                           memory);
  }
  if (!done) return done.error();
  outcome.read_seconds = seconds_since(begin);
  resident.mark();
  done = timed_launch(file, outcome, [&] { return program.launch(*runtime, shape); });
  if (done) done = memory.copy(&outcome.totals, *totals, sizeof(outcome.totals));
  if (!done) return done.error();
  outcome.seconds = seconds_since(begin);
  note_taken(outcome);
  note_end(outcome, *runtime, *input);
  resident.mark();
  outcome.resident = resident.end();
  if (Status right = judge(program, outcome.totals); !right) return right.error();
  return outcome;
}

Result<LookupOutcome> by_threads(LookupProgram& program, const LookupSettings& settings) {
  const InputFile& file = program.file();
  LookupOutcome outcome;
  Resident resident(settings.sampled, file.descriptor.number(), file.size);
  outcome.begin = process_memory_now();
  resident.mark();
  const Instant begin = now();
  const auto input = InputMemory::on_host(file, settings.mode, program.name());
  if (!input) return input.error();
  std::vector<std::vector<std::uint64_t>> blocks;
  const LookupMemory memory{
      [&](std::size_t bytes) -> Result<void*> {
        return static_cast<void*>(blocks.emplace_back((bytes + 7) / 8).data());
      },
      [](void* to, const void* from, std::size_t bytes) {
        std::memcpy(to, from, bytes);
        return Status();
      }};
  const std::uint32_t threads = settings.threads != 0 ? settings.threads : usable_cores();
  const std::uint32_t parts = settings.groups != 0 ? settings.groups : parts_a_thread * threads;
  Status done = program.prepare(input->as<const std::byte>(),
                                turn_on_cores(program.lookups(), parts), &outcome.totals, memory);
  if (!done) return done.error();
  outcome.read_seconds = seconds_since(begin);
  resident.mark();
  const Instant started = now();
  done = run_parts(threads, parts, [&](std::uint32_t part) { program.run_part(part, parts); });
  if (!done) return done.error();
  outcome.kernel_seconds = seconds_since(started);
  outcome.seconds = seconds_since(begin);
  note_taken(outcome);
  outcome.end = outcome.taken;
  outcome.huge_bytes = input->huge_bytes();
  resident.mark();
  outcome.resident = resident.end();
  if (Status right = judge(program, outcome.totals); !right) return right.error();
  return outcome;
}

}  // namespace

Result<LookupOutcome> run_lookups(LookupProgram& program, const LookupSettings& settings,
                                  const RuntimeConfig& config) {
  try {
    if (settings.by == By::threads) return by_threads(program, settings);
    return by_kernel(program, settings, config);
  } catch (const std::bad_alloc&) {
    return Error{ENOMEM, fmt::format("no memory for the answers of {} lookups; make a file with "
                                     "fewer --lookups",
                                     program.lookups())};
  }
}

}  // namespace k2k::apps
