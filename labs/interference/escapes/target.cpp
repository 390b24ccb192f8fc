#include "labs/interference/escapes/target.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace k2k::labs::escapes {

namespace {

constexpr std::size_t page = 4096;

Error failed(std::string_view what) {
  return {errno, fmt::format("{}: {}", what, std::strerror(errno))};
}

Status make_file(Target& target) {
  const char* const wish = std::getenv("TMPDIR");
  const std::string folder = wish == nullptr ? "/tmp" : wish;
  std::string path = folder + "/k2k_escapes_XXXXXX";
  target.descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (target.descriptor < 0) {
    return failed(fmt::format("cannot make a file in '{}'; set TMPDIR to another folder", folder));
  }
  Status status;
  const ssize_t whole = items * item_bytes;
  if (::pwrite(target.descriptor, target.buffers, items * item_bytes, 0) != whole ||
      ::fsync(target.descriptor) != 0) {
    status = failed(fmt::format("cannot write a file in '{}'", folder));
  } else if (target.deed == Deed::direct_reads) {
    const int direct = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (direct < 0) {
      status = failed(fmt::format(
          "'{}' has no direct reads; set TMPDIR to a folder of a file system on a disk", folder));
    }
    ::close(target.descriptor);
    target.descriptor = direct;
  }
  ::unlink(path.c_str());
  return status;
}

// A socket without a reader: Linux carries each datagram there and drops it.
Status make_socket(Target& target) {
  const int receiver = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  target.descriptor = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (receiver < 0 || target.descriptor < 0) return failed("cannot make a socket");
  target.address.sin_family = AF_INET;
  target.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(target.address);
  auto* const address = reinterpret_cast<sockaddr*>(&target.address);
  if (::bind(receiver, address, bytes) != 0 || ::getsockname(receiver, address, &bytes) != 0) {
    return failed("cannot bind a socket to 127.0.0.1");
  }
  return {};
}

}  // namespace

Result<Target> Target::make(Deed deed) {
  Target target;
  target.deed = deed;
  void* const buffers = ::aligned_alloc(page, items * item_bytes);
  if (buffers == nullptr) return Error{ENOMEM, "no memory for buffers"};
  std::memset(buffers, 1, items * item_bytes);
  target.buffers = static_cast<std::byte*>(buffers);
  Status status;
  switch (deed) {
    case Deed::sends:
      status = make_socket(target);
      break;
    case Deed::dirty_pages:
    case Deed::direct_reads:
    case Deed::fsync:
      status = make_file(target);
      break;
    default:
      break;
  }
  if (!status) return status.error();
  return target;
}

}  // namespace k2k::labs::escapes
