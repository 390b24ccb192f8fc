#include "router/door/readers.hpp"

#include <cerrno>
#include <utility>

#include "io/memory/cuda_memory.hpp"
#include "io/memory/hip_memory.hpp"
#include "router/profile/profile.hpp"
#include "router/read/device_channels.hpp"

namespace k2k::router {

namespace {

using MadeMemory = Result<std::unique_ptr<io::DeviceMemory>>;

MadeMemory make_memory(const VendorReader& wanted) {
  if (wanted.vendor == Vendor::hip) {
    return wanted.library.empty() ? io::make_hip_memory() : io::make_hip_memory(0, wanted.library);
  }
  return wanted.library.empty() ? io::make_cuda_memory() : io::make_cuda_memory(0, wanted.library);
}

Result<DirectPath> direct_path(Vendor vendor, const std::string& direct) {
  const bool cuda = vendor == Vendor::cuda;
  const std::string library = cuda ? "cufile" : "hipfile";
  if (direct.empty()) return DirectPath::automatic;
  if (direct == "staging") return DirectPath::staging;
  if (direct == library) return cuda ? DirectPath::cufile : DirectPath::hipfile;
  return Error{EINVAL, "K2K_IO_DIRECT is '" + direct + "': permitted are staging and " + library};
}

ReaderConfig config_of(const FilesOptions& options) {
  const bool is_bounded = options.router && !options.conservative;
  return {.model_of = calibrated_model,
          .unprobed_bytes = unprobed_bytes_default,
          .small_file_bytes = small_file_bytes_default,
          .trial_bytes = trial_bytes_default,
          .partition_pages = is_bounded ? options.read_ahead_pages : 0,
          .partition_where_free = options.read_ahead == FilesOptions::ReadAhead::automatic,
          .exclusive = options.exclusive};
}

}  // namespace

Result<std::shared_ptr<FileReader>> make_reader(const FilesOptions& options) {
  if (!options.router) return std::shared_ptr<FileReader>();
  auto reader = FileReader::create(config_of(options));
  if (!reader) return reader.error();
  return std::shared_ptr<FileReader>(std::move(reader).value());
}

Result<std::unique_ptr<FileReader>> make_vendor_reader(const VendorReader& wanted,
                                                       const FilesOptions& options) {
  const Result<DirectPath> path = direct_path(wanted.vendor, options.direct);
  if (!path) return path.error();
  MadeMemory memory = make_memory(wanted);
  if (!memory) return memory.error();
  DeviceChannelsConfig channels{.paths = {.direct = path.value()}};
  if (wanted.for_kernels) {
    channels.channels_kept = 2;
    channels.channels_fixed = true;
  }
  return FileReader::create(std::move(memory).value(), config_of(options), channels);
}

}  // namespace k2k::router
