// The host's half of the C ABI, include/k2k/k2k.h: no exception and no C++ type crosses it.
//
// Each function is its C++ counterpart behind `guarded`, which turns an Error into a negative errno
// and the thread's last message.

#include <fmt/format.h>
#include <k2k/k2k.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "base/api.hpp"
#include "calls/host_call.hpp"
#include "runtime/c_abi/c_abi_common.hpp"
#include "runtime/report/stats_text.hpp"
#include "runtime/settings/config.hpp"
#include "services/functions/host_signature.hpp"

namespace {

using k2k::c_abi::failed;
using k2k::c_abi::guarded;
using k2k::c_abi::missing;

struct CKernel {
  void (*function)(void*);
  void* argument;
};

// A C function as the body of a host function.
struct CHostFunction {
  int (*function)(void*, const k2k_buffer*, const void*, void*);
  void* context;
  std::size_t buffers;

  std::int64_t operator()(const k2k::services::HostArguments& arguments) const {
    std::array<k2k_buffer, k2k::calls::host_buffers_max> given;
    for (std::size_t index = 0; index < buffers; ++index) {
      given[index] = {arguments.buffers[index].data, arguments.buffers[index].bytes};
    }
    return function(context, given.data(), arguments.values, arguments.reply);
  }
};

k2k::Error detached_failures(const std::vector<k2k::server::DetachedError>& errors) {
  std::string list;
  for (const k2k::server::DetachedError& error : errors) {
    list += fmt::format("{}{} {} times ({})", list.empty() ? "" : ", ", error.name, error.count,
                        std::strerror(error.error));
  }
  return {EIO, "detached calls failed: " + list};
}

}  // namespace

extern "C" {

K2K_API const char* k2k_version(void) { return K2K_VERSION; }

K2K_API const char* k2k_last_error(void) { return k2k::c_abi::last_error(); }

K2K_API int k2k_options_create(k2k_options** options) {
  if (options == nullptr) return missing("options");
  *options = nullptr;
  return guarded([&] {
    *options = std::make_unique<k2k_options>().release();
    (*options)->inputs.file = "";  // None, until k2k_options_load().
    return 0;
  });
}

K2K_API void k2k_options_destroy(k2k_options* options) { delete options; }

K2K_API int k2k_options_load(k2k_options* options, const char* file) {
  if (options == nullptr) return missing("options");
  return guarded([&] {
    k2k::ConfigInputs inputs = k2k::process_inputs();
    inputs.flags = options->inputs.flags;
    if (file != nullptr) inputs.file = file;
    const k2k::Result<k2k::LoadedConfig> loaded = k2k::load_config(inputs);
    if (!loaded) return failed(loaded.error());
    options->inputs = std::move(inputs);
    return 0;
  });
}

K2K_API int k2k_options_set(k2k_options* options, const char* key, const char* value) {
  if (options == nullptr) return missing("options");
  if (key == nullptr || value == nullptr) return missing(key == nullptr ? "key" : "value");
  return guarded([&] {
    k2k::ConfigInputs alone;
    alone.file = "";
    alone.flags.push_back({key, value, "k2k_options_set"});
    const k2k::Result<k2k::LoadedConfig> loaded = k2k::load_config(alone);
    if (!loaded) return failed(loaded.error());
    options->inputs.flags.push_back(alone.flags.front());
    return 0;
  });
}

K2K_API int k2k_runtime_create(const k2k_options* options, k2k_runtime** runtime) {
  if (runtime == nullptr) return missing("runtime");
  *runtime = nullptr;
  return guarded([&] {
    k2k::RuntimeConfig config;
    config.operator_settings = false;  // They come by k2k_options_load().
    if (options != nullptr) {
      const k2k::Result<k2k::LoadedConfig> loaded = k2k::load_config(options->inputs);
      if (!loaded) return failed(loaded.error());
      config = loaded.value().config;
    }
    k2k::Result<k2k::Runtime> created = k2k::Runtime::create(config);
    if (!created) return failed(created.error());
    *runtime = new k2k_runtime{std::move(created).value()};
    return 0;
  });
}

K2K_API void k2k_runtime_destroy(k2k_runtime* runtime) { delete runtime; }

K2K_API int k2k_launch(k2k_runtime* runtime, uint32_t groups, uint32_t group_items,
                       void (*kernel)(void*), void* argument, const char* name) {
  if (runtime == nullptr) return missing("runtime");
  if (kernel == nullptr) return missing("kernel");
  return guarded([&] {
    const CKernel closure{kernel, argument};
    const k2k::Result<k2k::LaunchReport> report = runtime->runtime.launch(
        {groups, group_items}, [&closure] { closure.function(closure.argument); },
        name != nullptr ? name : "kernel");
    return report ? 0 : failed(report.error());
  });
}

K2K_API int k2k_drain(k2k_runtime* runtime) {
  if (runtime == nullptr) return missing("runtime");
  return guarded([&] {
    const auto errors = runtime->runtime.drain();
    if (!errors) return failed(errors.error());
    return errors.value().empty() ? 0 : failed(detached_failures(errors.value()));
  });
}

K2K_API int k2k_provide(k2k_runtime* runtime, const char* name, const char* signature,
                        int host_class,
                        int (*function)(void*, const k2k_buffer*, const void*, void*),
                        void* context) {
  if (runtime == nullptr) return missing("runtime");
  if (name == nullptr || signature == nullptr)
    return missing(name == nullptr ? "name" : "signature");
  if (function == nullptr) return missing("function");
  if (host_class != k2k_may_block && host_class != k2k_never_blocks) {
    return failed(
        k2k::Error{EINVAL, fmt::format("{} is no class of host functions; expected: k2k_may_block "
                                       "(0) or k2k_never_blocks (1)",
                                       host_class)});
  }
  return guarded([&] {
    const auto read = k2k::services::parse_host_signature(signature);
    if (!read) return failed(read.error());
    const k2k::Status status = runtime->runtime.provide_function(
        {name, signature,
         host_class == k2k_may_block ? k2k::HostClass::may_block : k2k::HostClass::never_blocks,
         CHostFunction{function, context, read.value().layout.buffers}});
    return status ? 0 : failed(status.error());
  });
}

K2K_API int k2k_withdraw(k2k_runtime* runtime, const char* name) {
  if (runtime == nullptr) return missing("runtime");
  if (name == nullptr) return missing("name");
  return guarded([&] {
    const k2k::Status status = runtime->runtime.withdraw(name);
    return status ? 0 : failed(status.error());
  });
}

K2K_API int k2k_cancel(k2k_runtime* runtime) {
  if (runtime == nullptr) return -EINVAL;
  runtime->runtime.cancel();
  return 0;
}

K2K_API int k2k_allocate(k2k_runtime* runtime, size_t bytes, void** address) {
  if (address == nullptr) return missing("address");
  *address = nullptr;
  if (runtime == nullptr) return missing("runtime");
  return guarded([&] {
    const k2k::Result<void*> memory = runtime->runtime.allocate(bytes);
    if (!memory) return failed(memory.error());
    *address = memory.value();
    return 0;
  });
}

K2K_API int k2k_free(k2k_runtime* runtime, void* address) {
  if (runtime == nullptr) return missing("runtime");
  return guarded([&] {
    runtime->runtime.free(address);
    return 0;
  });
}

K2K_API int k2k_stats_json(const k2k_runtime* runtime, char* buffer, size_t bytes, size_t* needed) {
  if (needed != nullptr) *needed = 0;
  if (runtime == nullptr) return missing("runtime");
  if (buffer == nullptr && bytes > 0) return missing("buffer");
  return guarded([&] {
    return k2k::c_abi::copy_out(k2k::to_json_text(runtime->runtime.stats()), buffer, bytes, needed);
  });
}

}  // extern "C"
