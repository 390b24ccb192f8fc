#include "services/device_call.hpp"

#include <limits.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <vector>

#include "router/door/files.hpp"
#include "services/opens/copy_in.hpp"

namespace k2k::services {

std::vector<iovec> vector_of(std::uint64_t address, std::uint64_t count) {
  if (count == 0 || count > IOV_MAX) return {};
  std::vector<iovec> pieces(count);
  if (copy_in(address, pieces.data(), count * sizeof(iovec)) != 0) return {};
  return pieces;
}

VectorForm form_of(std::uint16_t number) {
  switch (number) {
    case SYS_readv:
      return {true, false, false, false};
    case SYS_writev:
      return {true, true, false, false};
    case SYS_preadv:
      return {true, false, true, false};
    case SYS_pwritev:
      return {true, true, true, false};
    case SYS_preadv2:
      return {true, false, true, true};
    case SYS_pwritev2:
      return {true, true, true, true};
    default:
      return {};
  }
}

std::optional<std::int64_t> vector_call(const Request& request, router::Files& files) {
  const VectorForm form = form_of(request.number);
  if (!form.is_one || !files.has_registered()) return {};
  const auto& word = request.arguments;
  const std::vector<iovec> pieces = vector_of(word[1], word[2]);
  router::VectorCall call{
      .descriptor = static_cast<int>(word[0]), .pieces = pieces, .write = form.write};
  if (form.has_offset) call.offset = static_cast<std::int64_t>(word[3]);
  if (form.has_flags) {
    call.flags = static_cast<int>(word[5]);
    if (call.offset == -1) call.offset.reset();
  }
  return files.call(call);
}

}  // namespace k2k::services
