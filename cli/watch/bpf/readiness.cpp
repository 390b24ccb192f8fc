#include "cli/watch/bpf/readiness.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cli/watch/bpf/libbpf.hpp"
#include "cli/watch/sources/text_files.hpp"

namespace k2k::watch {

namespace {

constexpr const char* types_of_kernel = "/sys/kernel/btf/vmlinux";
#if defined(K2K_BPF_OBJECT)
constexpr bool programs_are_built = true;
#else
constexpr bool programs_are_built = false;
#endif

// Effective capabilities of this process: CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN for both.
bool has_rights() {
  constexpr int sys_admin = 21;
  constexpr int perfmon = 38;
  constexpr int bpf = 39;
  const Result<std::string> status = read_text("/proc/self/status");
  if (!status) return false;
  constexpr std::string_view field = "CapEff:";
  const std::size_t at = status->find(field);
  if (at == std::string::npos) return false;
  const std::uint64_t held = std::strtoull(status->c_str() + at + field.size(), nullptr, 16);
  const auto has = [&](int capability) { return (held >> capability & 1) != 0; };
  return has(sys_admin) || (has(bpf) && has(perfmon));
}

}  // namespace

std::optional<Error> no_bpf() {
  if (!programs_are_built) {
    return Error{ENOSYS, "this build has no BPF programs: clang or libbpf-dev was missing"};
  }
  if (::access(types_of_kernel, R_OK) != 0) {
    const int error = errno;
    return Error{error, fmt::format("{}: {}; Linux must have CONFIG_DEBUG_INFO_BTF",
                                    types_of_kernel, std::strerror(error))};
  }
  const Result<Libbpf> libbpf = Libbpf::load();
  if (!libbpf) return libbpf.error();
  if (!has_rights()) return Error{EPERM, "it needs CAP_BPF and CAP_PERFMON; run it with sudo"};
  return std::nullopt;
}

}  // namespace k2k::watch
