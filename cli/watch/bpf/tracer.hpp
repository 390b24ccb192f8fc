#pragma once
// The BPF programs of watch.bpf.c in the kernel: loaded, attached, read.
//
// libbpf is loaded while the program runs (libbpf.so.1), so that no program needs it. The object is
// part of k2k-watch where a build had clang and libbpf's headers.
//
// Threading: one thread. The programs end with the object, also when the process is killed.

#include <memory>
#include <string>

#include "base/result.hpp"
#include "cli/watch/bpf/traced.hpp"

namespace k2k::watch {

class Tracer {
 public:
  // Loads and attaches. Errors: ENOSYS, this build or this kernel cannot; ENOENT, no libbpf or no
  // BTF; EPERM, no rights; others of bpf(2): each with the reason and the remedy.
  static Result<std::unique_ptr<Tracer>> start();
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Errors: EIO, a map cannot be read.
  Result<Traced> read();

 private:
  struct Parts;
  explicit Tracer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace k2k::watch
