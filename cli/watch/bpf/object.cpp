#include "cli/watch/bpf/object.hpp"

namespace k2k::watch {

namespace {

// The file is made by the build: tools that read sources before it do without.
#if defined(K2K_BPF_OBJECT) && __has_include("bpf_object.inc")
#define K2K_BPF_BYTES
alignas(16) constexpr unsigned char object_bytes[] = {
#include "bpf_object.inc"
};
#endif

}  // namespace

std::span<const unsigned char> bpf_object_bytes() {
#if defined(K2K_BPF_BYTES)
  return object_bytes;
#else
  return {};
#endif
}

}  // namespace k2k::watch
