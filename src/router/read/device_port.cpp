#include "router/read/device_port.hpp"

#include <limits.h>
#include <sys/uio.h>

#include <optional>
#include <utility>
#include <vector>

namespace k2k::router {

namespace {

std::span<std::byte> bytes_of(const iovec& piece) {
  return {static_cast<std::byte*>(piece.iov_base), piece.iov_len};
}

std::byte* device_of(const WholeCall& call, std::size_t at) {
  return static_cast<std::byte*>(call.pieces[at].iov_base);
}

// Copies the bytes of a read on to the device, until it refuses some: the count, or a negative
// errno.
ssize_t scatter(const WholeCall& call, std::span<const iovec> pieces, ssize_t moved,
                DeviceChannel& channel) {
  auto left = static_cast<std::size_t>(moved);
  for (std::size_t at = 0; at < pieces.size() && left > 0; ++at) {
    const std::size_t part = std::min(left, pieces[at].iov_len);
    if (call.is_device[at]) {
      const int code =
          channel.copies.to_device(device_of(call, at), bytes_of(pieces[at]).first(part));
      if (code != 0) {
        const ssize_t arrived = moved - static_cast<ssize_t>(left);
        return arrived > 0 ? arrived : -code;
      }
    }
    left -= part;
  }
  return moved;
}

// The pieces of a call, as much of them as Linux moves.
std::vector<iovec> limited_pieces(const WholeCall& call) {
  std::vector<iovec> pieces(call.pieces.begin(), call.pieces.end());
  std::size_t room = io::transfer_bytes_max;
  for (iovec& piece : pieces) {
    piece.iov_len = std::min(piece.iov_len, room);
    room -= piece.iov_len;
  }
  return pieces;
}

// A write from pinned buffers: the device copies all of its bytes into them, then one call of Linux
// writes them. No value: there is no room for it.
std::optional<ssize_t> write_pinned(const WholeCall& call, std::span<const iovec> pieces,
                                    DeviceChannel& channel) {
  const std::size_t part_max = channel.copies.buffer_bytes();
  std::size_t buffers = 0;
  for (std::size_t at = 0; at < pieces.size(); ++at) {
    if (call.is_device[at]) buffers += (pieces[at].iov_len + part_max - 1) / part_max;
  }
  if (pieces.size() + buffers > IOV_MAX) return {};
  io::HostCopies* const copies = channel.copies_with(buffers);
  if (copies == nullptr) return {};
  std::vector<io::HostCopies::Place> places;
  std::vector<iovec> parts;
  for (std::size_t at = 0; at < pieces.size(); ++at) {
    if (!call.is_device[at]) {
      parts.push_back(pieces[at]);
      continue;
    }
    for (std::size_t begun = 0; begun < pieces[at].iov_len;) {
      const std::size_t bytes = std::min(part_max, pieces[at].iov_len - begun);
      const auto buffer = static_cast<std::uint32_t>(places.size());
      parts.push_back({copies->buffer(buffer).data(), bytes});
      places.push_back({device_of(call, at) + begun, bytes});
      begun += bytes;
    }
  }
  const int code = copies->fetch(places);
  return code != 0 ? -code : call_kernel(call, parts);
}

ssize_t through_host(const WholeCall& call, DeviceChannel& channel) {
  std::vector<iovec> pieces = limited_pieces(call);
  if (call.write) {
    if (const auto written = write_pinned(call, pieces, channel)) return *written;
  }
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < pieces.size(); ++at) {
    if (call.is_device[at]) bytes += pieces[at].iov_len;
  }
  const std::optional<std::span<std::byte>> host = channel.bounce.take(bytes);
  if (!host) return -ENOMEM;
  std::byte* next = host->data();
  for (std::size_t at = 0; at < pieces.size(); ++at) {
    if (!call.is_device[at]) continue;
    pieces[at].iov_base = std::exchange(next, next + pieces[at].iov_len);
    if (!call.write) continue;
    const int code = channel.copies.from_device(bytes_of(pieces[at]), device_of(call, at));
    if (code != 0) return -code;
  }
  const ssize_t moved = call_kernel(call, pieces);
  return call.write || moved <= 0 ? moved : scatter(call, pieces, moved, channel);
}

}  // namespace

Result<std::unique_ptr<DevicePort>> DevicePort::create(std::shared_ptr<io::DeviceMemory> memory,
                                                       const Model& model,
                                                       const DeviceChannelsConfig& config) {
  Result<DevicePaths> paths = DevicePaths::create(*memory, config.paths);
  if (!paths) return paths.error();
  std::unique_ptr<DevicePort> port(
      new DevicePort(std::move(memory), std::move(paths).value(), model, config.channels_kept));
  if (Status status = port->try_channel(config.channels_fixed); !status) return status.error();
  return port;
}

Status DevicePort::try_channel(bool fixed) {
  if (fixed) return channels_.make_all();
  Result<std::unique_ptr<DeviceChannel>> first = channels_.take();
  if (!first) return first.error();
  channels_.give_back(std::move(first).value());
  return {};
}

void DevicePort::ending(const OpenFile& file) const {
  if (file.direct() != nullptr) paths_.closing(file.direct()->descriptor());
}

void DevicePort::after_fork_child() {
  is_child_ = true;
  channels_.abandon();
}

DevicePort::Use::Use(DevicePort& port) : channels_(port.channels_) {
  if (port.is_child_) {
    refusal_ = -EFAULT;
    return;
  }
  Result<std::unique_ptr<DeviceChannel>> channel = channels_.take();
  if (channel) {
    channel_ = std::move(channel).value();
  } else {
    refusal_ = -channel.error().code;
  }
}

bool DevicePort::Use::is_transfer(const FileRequest& request, const io::Alignment& alignment) {
  return alignment.offset <= page_bytes && request.offset % alignment.offset == 0 &&
         request.bytes % alignment.offset == 0;
}

Outcome DevicePort::Use::run_plan(const FileRequest& part, const Plan& plan, const OpenFile& file,
                                  const io::DirectFile& direct) const {
  return channel_->execution.run(part, plan, direct, *channel_->cached, *channel_->direct,
                                 file.has_transferred());
}

Outcome DevicePort::Use::transfer(const FileRequest& request, const OpenFile& file,
                                  const io::DirectFile& direct) const {
  return run_plan(request, {.pages = static_cast<std::uint32_t>(request.pages()), .cached = {}},
                  file, direct);
}

bool DevicePort::Use::prepare(const FileRequest&, const OpenFile& file,
                              const io::DirectFile& direct, Counters&) const {
  if (direct.alignment().offset > page_bytes) return false;
  plan_by(channel_->planner, file.model());
  return true;
}

Outcome DevicePort::Use::run(const FileRequest& part, Residency residency, const OpenFile& file,
                             const io::DirectFile& direct) const {
  return run_plan(part, channel_->planner.overlapped(residency), file, direct);
}

ssize_t DevicePort::Use::write(const FileRequest& request) const {
  // An offset of -1 would be the descriptor's own position.
  if (static_cast<std::int64_t>(request.offset) < 0) return -EINVAL;
  const iovec piece{request.memory, request.bytes};
  const bool is_device = true;
  return through_host({.descriptor = request.descriptor,
                       .pieces = {&piece, 1},
                       .is_device = {&is_device, 1},
                       .write = true,
                       .offset = static_cast<std::int64_t>(request.offset)},
                      *channel_);
}

ssize_t DevicePort::Use::whole(const WholeCall& call) const {
  return through_host(call, *channel_);
}

ssize_t DevicePort::Use::to_device(const FileRequest& request,
                                   std::span<const std::byte> bytes) const {
  const int code = channel_->copies.to_device(request.memory, bytes);
  return code != 0 ? -code : static_cast<ssize_t>(bytes.size());
}

ssize_t DevicePort::Use::from_pinned(const FileRequest& request, std::size_t bytes) const {
  const int code = channel_->copies.store(request.memory, bytes);
  return code != 0 ? -code : static_cast<ssize_t>(bytes);
}

}  // namespace k2k::router
