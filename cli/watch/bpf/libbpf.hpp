#pragma once
// The functions of libbpf that are used, from libbpf.so.1, loaded at run time.
//
// Threading: load() from one thread; then constant.

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"

struct bpf_link;
struct bpf_map;
struct bpf_object;
struct bpf_program;

namespace k2k::watch {

class Libbpf {
 public:
  // Errors: ENOENT, there is no libbpf.so.1; ENOSYS, it lacks a function.
  static Result<Libbpf> load();

  // As in libbpf's documentation.
  bpf_object* (*open_mem)(const void* bytes, std::size_t size, const void* options) = nullptr;
  int (*load_object)(bpf_object* object) = nullptr;
  void (*close)(bpf_object* object) = nullptr;
  bpf_program* (*next_program)(const bpf_object* object, bpf_program* program) = nullptr;
  const char* (*program_name)(const bpf_program* program) = nullptr;
  int (*program_descriptor)(const bpf_program* program) = nullptr;
  bpf_link* (*attach)(const bpf_program* program) = nullptr;
  int (*detach)(bpf_link* link) = nullptr;
  int (*map_descriptor)(const bpf_object* object, const char* name) = nullptr;
  int (*next_key)(int map, const void* key, void* next) = nullptr;
  int (*look_up)(int map, const void* key, void* value) = nullptr;
  int (*program_facts)(int program, void* facts, std::uint32_t* size) = nullptr;
  int (*enable_statistics)(int type) = nullptr;
  int (*possible_cores)() = nullptr;
};

}  // namespace k2k::watch
