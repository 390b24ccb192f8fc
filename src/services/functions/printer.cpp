#include "services/functions/printer.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "calls/host_call.hpp"
#include "calls/rows.hpp"
#include "services/functions/host_frame.hpp"
#include "services/functions/print.hpp"

namespace k2k::services {

namespace {

constexpr std::uint64_t print_id = calls::host_id(calls::print_name);

// Writes all of the text, however many calls it takes.
std::int64_t write_all(Request write, std::string_view text, Interruption interruption,
                       router::Files& files) {
  std::size_t written = 0;
  while (written < text.size()) {
    write.arguments[1] = reinterpret_cast<std::uint64_t>(text.data() + written);
    write.arguments[2] = text.size() - written;
    Progress progress;
    const Answer tried = execute_without_waiting(write, progress, files);
    const bool waits = tried.would_wait || tried.value == -EAGAIN;
    const std::int64_t value =
        waits ? execute_waiting(write, progress, interruption, files) : tried.value;
    if (value == -EAGAIN || value == -EINTR) continue;
    if (value < 0) return value;
    if (value == 0) return -EIO;  // It takes nothing, and would not later.
    written += static_cast<std::size_t>(value);
  }
  return static_cast<std::int64_t>(written);
}

// The frame of a print has no signature of its own. False: the words are forged.
bool read_layout(const Request& request, HostSignature& signature) {
  const std::uint64_t shape = request.arguments[calls::host_shape_word];
  const std::uint64_t bytes = request.arguments[calls::host_frame_bytes_word];
  const calls::HostLayout layout = calls::layout_of(shape, bytes);
  if (!calls::is_framed(shape) || layout.shape() != shape || layout.buffers == 0 ||
      layout.reply_bytes != 0 || layout.frame_bytes() != bytes ||
      bytes > calls::host_frame_bytes_max ||
      layout.argument_bytes % sizeof(calls::PrintValue) != 0) {
    return false;
  }
  signature.layout = layout;
  signature.parameters.assign(layout.buffers, {true, calls::Direction::in, 1});
  return true;
}

}  // namespace

bool is_print(const Request& request) {
  return request.number == calls::host_call_number &&
         request.arguments[calls::host_id_word] == print_id;
}

Request write_of_print(const Request& request) {
  Request write;
  write.number = SYS_write;
  write.row = static_cast<std::int16_t>(calls::find(SYS_write));
  write.wave = request.wave;
  write.lane = request.lane;
  write.attributes = request.attributes;
  write.arguments[0] = request.arguments[calls::host_signature_word];
  return write;
}

class Printer::Turn {
 public:
  Turn(Printer& printer, int descriptor) : printer_(printer), descriptor_(descriptor) {
    std::unique_lock lock(printer_.mutex_);
    printer_.changed_.wait(lock, [this] {
      return std::ranges::find(printer_.busy_, descriptor_) == printer_.busy_.end();
    });
    printer_.busy_.push_back(descriptor_);
  }
  ~Turn() {
    const std::lock_guard lock(printer_.mutex_);
    printer_.busy_.erase(std::ranges::find(printer_.busy_, descriptor_));
    printer_.changed_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Printer& printer_;
  int descriptor_;
};

std::int64_t Printer::run(const Request& request, Interruption interruption, router::Files& files,
                          HostRun& host_run) {
  HostSignature signature;
  if (!read_layout(request, signature)) return -EPROTO;
  HostFrame frame(*memory_, signature, HostFrame::Buffers::copied);
  if (const std::int64_t refusal = frame.open(request.arguments[calls::host_frame_word]);
      refusal != 0) {
    return refusal;
  }
  const HostArguments arguments = frame.arguments();
  const calls::HostLayout& layout = signature.layout;
  std::vector<calls::PrintValue> values(layout.argument_bytes / sizeof(calls::PrintValue));
  if (!values.empty()) std::memcpy(values.data(), arguments.values, layout.argument_bytes);
  const HostSpan& format = arguments.buffers[0];
  std::string text;
  const std::int64_t refusal =
      format_print(text, {static_cast<const char*>(format.data), format.bytes}, values,
                   {arguments.buffers + 1, layout.buffers - 1});
  if (refusal != 0) return refusal;
  const Request write = write_of_print(request);
  const auto descriptor = static_cast<int>(write.arguments[0]);
  if (!host_run.begins()) return -ECANCELED;
  const Turn turn(*this, descriptor);
  const std::int64_t value = write_all(write, text, interruption, files);
  return host_run.ends() ? value : -ECANCELED;
}

}  // namespace k2k::services
