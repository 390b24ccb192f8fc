// cuLaunch…, cuOccupancy….

#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/cuda/driver/state.hpp"

namespace k2k::emulator::driver {

namespace {

struct Request {
  CUfunction function = nullptr;
  std::array<std::uint32_t, 3> blocks{};
  std::array<std::uint32_t, 3> threads{};
  std::uint64_t shared_bytes = 0;
  CUstream stream = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;
  bool cooperative = false;
  exec::Extent cluster{};  // {}: the launch states none.
};

CUresult answer_for(exec::Fault fault) {
  switch (fault) {
    case exec::Fault::none:
      return success;
    case exec::Fault::illegal_address:
      return illegal_address;
    case exec::Fault::misaligned_address:
      return misaligned_address;
    case exec::Fault::illegal_instruction:
      return illegal_instruction;
    case exec::Fault::assertion:
      return assertion;
    case exec::Fault::stack_overflow:
      return hardware_stack_error;
    case exec::Fault::timeout:
      return launch_timeout;
    default:
      return launch_failed;  // A trap, or lanes that wait for ever.
  }
}

bool is_shape(const Request& request, const exec::Code& code) {
  constexpr std::array<std::uint32_t, 3> threads_max{1024, 1024, 64};
  constexpr std::array<std::uint32_t, 3> blocks_max{2147483647, 65535, 65535};
  std::uint64_t lanes = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (request.blocks[axis] == 0 || request.blocks[axis] > blocks_max[axis]) return false;
    if (request.threads[axis] == 0 || request.threads[axis] > threads_max[axis]) return false;
    lanes *= request.threads[axis];
  }
  const std::uint32_t bound = code.function->threads_max;
  return lanes <= exec::block_lanes_max && (bound == 0 || lanes <= bound);
}

// The cluster that the launch and the kernel state; one block if none does.
CUresult cluster_of(const Request& request, const exec::Code& code, exec::Grid& grid) {
  const exec::Extent none{};
  const ptx::Function& kernel = *code.function;
  grid.has_clusters = request.cluster != none || kernel.cluster != none || kernel.needs_cluster;
  if (!grid.has_clusters) return success;
  const exec::Extent& stated = request.cluster != none ? request.cluster : kernel.cluster;
  if (stated == none) return invalid_cluster_size;
  if (kernel.cluster != none && stated != kernel.cluster) return invalid_cluster_size;
  std::uint64_t blocks = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (stated[axis] == 0 || grid.blocks[axis] % stated[axis] != 0) return invalid_cluster_size;
    blocks *= stated[axis];
  }
  const std::uint32_t most = kernel.cluster_max != 0
                                 ? std::min(kernel.cluster_max, exec::cluster_blocks_max)
                                 : exec::cluster_blocks_max;
  if (blocks > most) return invalid_cluster_size;
  grid.cluster = stated;
  return success;
}

// Of blocks that are on the device together.
std::uint64_t resident_blocks(const exec::Grid& grid, std::uint32_t units) {
  const std::uint64_t of_unit =
      exec::Device::resident_blocks(grid.thread_count(), grid.shared_bytes);
  const std::uint64_t cluster = grid.cluster_size();
  return units * (cluster == 1 ? of_unit : std::max(of_unit / cluster, std::uint64_t{1}) * cluster);
}

// The parameters as one block of memory: from pointers to each, or from a buffer.
CUresult gather(const Request& request, const exec::Code& code, std::vector<std::byte>& to) {
  to.assign(code.parameter_bytes, std::byte{0});
  if (code.function->parameters.empty()) return success;
  if (request.extra != nullptr) {
    const auto word = [&](std::size_t at) {
      return reinterpret_cast<std::uintptr_t>(request.extra[at]);
    };
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    for (std::size_t at = 0; word(at) != 0; at += 2) {
      if (word(at) == 1) {
        buffer = request.extra[at + 1];
      } else if (word(at) == 2) {
        std::memcpy(&bytes, request.extra[at + 1], sizeof bytes);
      } else {
        return invalid_value;
      }
    }
    if (buffer == nullptr || bytes < to.size()) return invalid_value;
    std::memcpy(to.data(), buffer, to.size());
    return success;
  }
  if (request.parameters == nullptr) return invalid_value;
  for (std::size_t at = 0; at < code.function->parameters.size(); ++at) {
    const ptx::Parameter& parameter = code.function->parameters[at];
    if (request.parameters[at] == nullptr) return invalid_value;
    std::memcpy(to.data() + parameter.offset, request.parameters[at], parameter.bytes);
  }
  return success;
}

void run(Context* context, const std::shared_ptr<exec::Grid>& grid,
         const exec::check::PlacedTask& place) {
  Driver& driver = Driver::get();
  {
    const std::lock_guard lock(context->mutex);
    if (context->fault.load() != success) return;
    context->grids.insert(grid);
  }
  if (driver.launch_limit_ms != 0) {
    grid->deadline_ns = exec::now_ns() + driver.launch_limit_ms * 1'000'000;
  }
  grid->watch = driver.watch(*grid, place);
  const std::uint64_t workspace = grid->workspace_address();
  if (workspace != 0) driver.memory.add({workspace, workspace + sizeof grid->workspace});
  driver.device->start(grid);
  driver.device->wait(grid);
  if (workspace != 0) driver.memory.remove(workspace);
  if (grid->watch != nullptr) grid->watch->end();
  const exec::Fault fault = grid->fault();
  {
    const std::lock_guard lock(context->mutex);
    context->grids.erase(grid);
    CUresult before = success;
    if (fault != exec::Fault::none) {
      context->fault.compare_exchange_strong(before, answer_for(fault));
    }
  }
  if (fault != exec::Fault::none) {
    driver.log("kernel " + grid->entry->name + " failed: " + grid->report());
  }
}

CUresult launch(const Request& request) {
  Context* context = nullptr;
  Driver& driver = Driver::get();
  if (const CUresult answer = driver.current(&context); answer != success) return answer;
  Function* const function = function_of(*context, request.function);
  if (function == nullptr) return invalid_handle;
  Stream* stream = nullptr;
  if (const CUresult answer = stream_of(*context, request.stream, &stream); answer != success) {
    return answer;
  }
  const exec::Code& code = *function->code;
  const std::uint64_t fixed = function->module->program->shared_bytes();
  if (!is_shape(request, code)) return invalid_value;
  const auto dynamic_max = static_cast<std::uint64_t>(function->dynamic_shared_max.load());
  // Without the attribute, static and dynamic memory share 48 KiB.
  const bool opted_in = dynamic_max != exec::block_shared_bytes;
  const std::uint64_t most =
      opted_in ? std::clamp<std::uint64_t>(dynamic_max + fixed, exec::block_shared_bytes,
                                           exec::block_shared_bytes_optin)
               : exec::block_shared_bytes;
  if (request.shared_bytes > dynamic_max || request.shared_bytes + fixed > most) {
    return invalid_value;
  }
  const auto grid = std::make_shared<exec::Grid>();
  grid->entry = &code;
  grid->blocks = request.blocks;
  grid->threads = request.threads;
  grid->dynamic_shared_bytes = request.shared_bytes;
  grid->shared_bytes = function->module->program->shared_bytes(request.shared_bytes);
  grid->memory = &driver.memory;
  grid->reaches_host_pages = driver.reaches_host_pages;
  grid->number = driver.launches.fetch_add(1) + 1;
  grid->cooperative = request.cooperative;
  if (const CUresult answer = cluster_of(request, code, *grid); answer != success) return answer;
  if (request.cooperative && grid->block_count() > resident_blocks(*grid, driver.device->units())) {
    return cooperative_launch_too_large;
  }
  if (const CUresult answer = gather(request, code, grid->parameters); answer != success) {
    return answer;
  }
  add_in_order(*stream, [context, grid](const exec::check::PlacedTask& place) {
    run(context, grid, place);
  });
  return success;
}

}  // namespace

}  // namespace k2k::emulator::driver

using namespace k2k::emulator;
using namespace k2k::emulator::driver;

K2K_ENTRY_POINT CUresult cuLaunchKernel(CUfunction function, unsigned blocks_x, unsigned blocks_y,
                                        unsigned blocks_z, unsigned threads_x, unsigned threads_y,
                                        unsigned threads_z, unsigned shared_bytes, CUstream stream,
                                        void** parameters, void** extra) {
  return launch({.function = function,
                 .blocks = {blocks_x, blocks_y, blocks_z},
                 .threads = {threads_x, threads_y, threads_z},
                 .shared_bytes = shared_bytes,
                 .stream = stream,
                 .parameters = parameters,
                 .extra = extra});
}

K2K_ENTRY_POINT CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned blocks_x,
                                                   unsigned blocks_y, unsigned blocks_z,
                                                   unsigned threads_x, unsigned threads_y,
                                                   unsigned threads_z, unsigned shared_bytes,
                                                   CUstream stream, void** parameters) {
  return launch({.function = function,
                 .blocks = {blocks_x, blocks_y, blocks_z},
                 .threads = {threads_x, threads_y, threads_z},
                 .shared_bytes = shared_bytes,
                 .stream = stream,
                 .parameters = parameters,
                 .cooperative = true});
}

K2K_ENTRY_POINT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                          void** parameters, void** extra) {
  constexpr int attribute_ignore = 0;
  constexpr int attribute_cooperative = 2;
  constexpr int attribute_cluster = 4;
  constexpr int attribute_cluster_policy = 5;
  constexpr int attribute_priority = 8;
  if (config == nullptr) return invalid_value;
  Request request;
  request.function = function;
  std::copy_n(config->blocks, 3, request.blocks.begin());
  std::copy_n(config->threads, 3, request.threads.begin());
  request.shared_bytes = config->shared_bytes;
  request.stream = config->stream;
  request.parameters = parameters;
  request.extra = extra;
  for (unsigned at = 0; at < config->attribute_count; ++at) {
    const CUlaunchAttribute& attribute = config->attributes[at];
    const std::uint32_t* const words = attribute.value.words;
    if (attribute.id == attribute_ignore || attribute.id == attribute_priority ||
        attribute.id == attribute_cluster_policy) {
      continue;
    }
    if (attribute.id == attribute_cooperative) {
      request.cooperative = words[0] != 0;
    } else if (attribute.id == attribute_cluster) {
      std::copy_n(words, 3, request.cluster.begin());
      if (request.cluster == exec::Extent{}) return invalid_value;
    } else {
      return not_supported;
    }
  }
  return launch(request);
}

// Of this driver alone: the pairs of instructions that raced, under EMULATED_CUDA_RACES.
K2K_ENTRY_POINT unsigned long long emulated_cuda_races() {
  const Driver& driver = Driver::get();
  return driver.races == nullptr ? 0 : driver.races->count();
}

K2K_ENTRY_POINT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle,
                                                                     int threads,
                                                                     std::size_t shared_bytes) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  Function* const function = function_of(*context, handle);
  if (function == nullptr) return invalid_handle;
  if (blocks == nullptr || threads <= 0) return invalid_value;
  const std::uint64_t all = function->module->program->shared_bytes() + shared_bytes;
  *blocks = threads > static_cast<int>(exec::block_lanes_max)
                ? 0
                : static_cast<int>(
                      exec::Device::resident_blocks(static_cast<std::uint32_t>(threads), all));
  return success;
}
K2K_ENTRY_POINT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction function, int threads, std::size_t shared_bytes, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared_bytes);
}
K2K_ENTRY_POINT CUresult cuOccupancyMaxPotentialBlockSize(int* blocks, int* threads,
                                                          CUfunction handle, void*, std::size_t,
                                                          int limit) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  Function* const function = function_of(*context, handle);
  if (function == nullptr) return invalid_handle;
  if (blocks == nullptr || threads == nullptr) return invalid_value;
  const std::uint32_t bound = function->code->function->threads_max;
  std::uint32_t most = bound == 0 ? exec::block_lanes_max : std::min(bound, exec::block_lanes_max);
  if (limit > 0) most = std::min(most, static_cast<std::uint32_t>(limit));
  *threads = static_cast<int>(most);
  *blocks =
      static_cast<int>(Driver::get().device->units() * exec::Device::resident_blocks(most, 0));
  return success;
}
