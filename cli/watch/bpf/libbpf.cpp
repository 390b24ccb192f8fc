#include "cli/watch/bpf/libbpf.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdarg>
#include <type_traits>

namespace k2k::watch {

namespace {

int silent(int /*level*/, const char* /*format*/, std::va_list /*arguments*/) { return 0; }

}  // namespace

Result<Libbpf> Libbpf::load() {
  // Never closed: programs of it may still be attached until the process ends.
  void* library = ::dlopen("libbpf.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error{ENOENT, "libbpf.so.1 is missing; sudo apt-get install libbpf1"};
  }
  Libbpf libbpf;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    void* const found = ::dlsym(library, name);
    if (found == nullptr) missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  int (*(*set_print)(int (*)(int, const char*, std::va_list)))(int, const char*, std::va_list) =
      nullptr;
  find(set_print, "libbpf_set_print");
  find(libbpf.open_mem, "bpf_object__open_mem");
  find(libbpf.load_object, "bpf_object__load");
  find(libbpf.close, "bpf_object__close");
  find(libbpf.next_program, "bpf_object__next_program");
  find(libbpf.program_name, "bpf_program__name");
  find(libbpf.program_descriptor, "bpf_program__fd");
  find(libbpf.attach, "bpf_program__attach");
  find(libbpf.detach, "bpf_link__destroy");
  find(libbpf.map_descriptor, "bpf_object__find_map_fd_by_name");
  find(libbpf.next_key, "bpf_map_get_next_key");
  find(libbpf.look_up, "bpf_map_lookup_elem");
  find(libbpf.program_facts, "bpf_obj_get_info_by_fd");
  find(libbpf.enable_statistics, "bpf_enable_stats");
  find(libbpf.possible_cores, "libbpf_num_possible_cpus");
  if (missing != nullptr) {
    return Error{ENOSYS, fmt::format("libbpf.so.1 lacks {}; install libbpf 1.0 or later", missing)};
  }
  set_print(silent);
  return libbpf;
}

}  // namespace k2k::watch
