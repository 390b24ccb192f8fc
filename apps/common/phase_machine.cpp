#include "apps/common/phase_machine.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/cores.hpp"

namespace k2k::apps {

namespace {

// So many parts balance threads that begin at different times.
constexpr std::uint32_t phase_parts_a_thread = 16;

}  // namespace

Result<std::unique_ptr<PhaseMachine>> PhaseMachine::of_device(const RuntimeConfig& config,
                                                              const PhaseParts& parts) {
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  std::unique_ptr<PhaseMachine> made(new PhaseMachine);
  made->runtime_.emplace(std::move(runtime.value()));
  made->blocks_.emplace(*made->runtime_);
  made->shape_ = shape_on(*made->runtime_, parts.groups, parts.items);
  return made;
}

Result<std::unique_ptr<PhaseMachine>> PhaseMachine::of_threads(const PhaseParts& parts) {
  const std::uint32_t threads = parts.threads != 0 ? parts.threads : usable_cores();
  auto team = PartThreads::create(threads);
  if (!team) return team.error();
  std::unique_ptr<PhaseMachine> made(new PhaseMachine);
  made->threads_ = std::move(team.value());
  made->shape_ = {.groups = parts.groups != 0 ? parts.groups : phase_parts_a_thread * threads,
                  .group_items = 1};
  return made;
}

Result<void*> PhaseMachine::allocate(std::size_t bytes) {
  if (blocks_) return blocks_->on_device(bytes);
  try {
    return static_cast<void*>(memories_.emplace_back((bytes + 7) / 8 + 1).data());
  } catch (const std::bad_alloc&) {
    return Error{ENOMEM, "no memory for " + std::to_string(bytes) + " bytes; make a smaller file"};
  }
}

Result<void*> PhaseMachine::allocate_shared(std::size_t bytes) {
  return blocks_ ? blocks_->shared(bytes) : allocate(bytes);
}

Status PhaseMachine::copy(void* to, const void* from, std::size_t bytes) {
  if (runtime_) return runtime_->copy(to, from, bytes);
  std::memcpy(to, from, bytes);
  return {};
}

Result<InputMemory> PhaseMachine::take_input(const InputFile& file, Mode mode, Use use,
                                             const char* name, const char* program) {
  return runtime_ ? InputMemory::create(*runtime_, file, mode, name)
                  : InputMemory::on_host(file, mode, program, use);
}

void PhaseMachine::note_end(InputRun& run, const InputMemory& memory) const {
  if (runtime_) return apps::note_end(run, *runtime_, memory);
  run.end = process_memory_now();
  run.huge_bytes = memory.huge_bytes();
}

}  // namespace k2k::apps
