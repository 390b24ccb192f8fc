// The functions outside of a module that a kernel may call: vprintf, which printf becomes, and
// __assertfail. They run on the thread of the multiprocessor.

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "emulator/cuda/exec/ops/access.hpp"
#include "emulator/cuda/exec/ops/program.hpp"

namespace k2k::emulator::exec {

namespace {

constexpr std::size_t text_max = 4096;

// A text of the device, at most text_max long. False after a fault.
bool text_at(Lane& lane, std::uint64_t address, std::string& text) {
  while (text.size() < text_max) {
    const std::byte* const from = reach(lane, ptx::Space::generic, address + text.size(), 1, 1);
    if (from == nullptr) return false;
    if (*from == std::byte{0}) return true;
    text += static_cast<char>(*from);
  }
  return true;
}

// An argument of a call, 64 bits of it.
std::uint64_t argument(const Lane& lane, const Op& op, std::size_t index, std::size_t bytes) {
  const Source& from = op.more[op.flags + index];
  std::uint64_t bits = bits_of(lane, from);
  if (from.kind == Source::Kind::frame) {
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(bits), bytes);
    bits = value;
  }
  return bits;
}

// The arguments of a printf, one after the other, each aligned to its size.
class Arguments {
 public:
  Arguments(Lane& lane, std::uint64_t address) : lane_(lane), next_(address) {}

  std::uint64_t take(std::size_t bytes) {
    next_ = (next_ + bytes - 1) / bytes * bytes;
    const std::byte* const from = reach(lane_, ptx::Space::generic, next_, bytes, bytes);
    next_ += bytes;
    std::uint64_t value = 0;
    if (from != nullptr) std::memcpy(&value, from, bytes);
    return value;
  }

 private:
  Lane& lane_;
  std::uint64_t next_;
};

// One conversion, "%-8.3f" for example, with its argument.
std::string converted(Lane& lane, const std::string& how, Arguments& arguments) {
  std::string plain;
  bool wide = false;
  for (const char c : how) {
    if (c == 'l' || c == 'z' || c == 'j' || c == 't') {
      wide = true;
    } else if (c != 'h') {
      plain += c;
    }
  }
  const char kind = plain.back();
  plain.pop_back();
  std::array<char, 512> text{};
  if (std::strchr("fFeEgGaA", kind) != nullptr) {
    const double value = std::bit_cast<double>(arguments.take(8));
    std::snprintf(text.data(), text.size(), (plain + kind).c_str(), value);
  } else if (kind == 's') {
    std::string value;
    text_at(lane, arguments.take(8), value);
    std::snprintf(text.data(), text.size(), (plain + kind).c_str(), value.c_str());
  } else if (kind == 'd' || kind == 'i') {
    const std::uint64_t raw = arguments.take(wide ? 8 : 4);
    const long long value = wide ? static_cast<long long>(raw) : static_cast<std::int32_t>(raw);
    std::snprintf(text.data(), text.size(), (plain + "ll" + kind).c_str(), value);
  } else if (kind == 'c') {
    std::snprintf(text.data(), text.size(), (plain + kind).c_str(),
                  static_cast<int>(arguments.take(4)));
  } else if (std::strchr("uxXop", kind) != nullptr) {
    const unsigned long long value = arguments.take(wide || kind == 'p' ? 8 : 4);
    const std::string end = kind == 'p' ? "#llx" : std::string("ll") + kind;
    std::snprintf(text.data(), text.size(), (plain + end).c_str(), value);
  } else {
    return how;
  }
  return text.data();
}

void print(Lane& lane, const Op& op) {
  std::string format;
  if (!text_at(lane, argument(lane, op, 0, 8), format)) return;
  Arguments arguments(lane, argument(lane, op, 1, 8));
  std::string all;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      all += format[at];
      continue;
    }
    if (at + 1 < format.size() && format[at + 1] == '%') {
      all += format[++at];
      continue;
    }
    const std::size_t end = format.find_first_of("diouxXeEfFgGaAcspn", at + 1);
    if (end == std::string::npos) break;
    all += converted(lane, format.substr(at, end - at + 1), arguments);
    at = end;
  }
  std::fwrite(all.data(), 1, all.size(), stdout);
  std::fflush(stdout);
  if (op.flags == 0) return;
  const auto written = static_cast<std::uint32_t>(all.size());
  const Source& to = op.more[0];
  if (to.kind == Source::Kind::frame) {
    std::memcpy(reinterpret_cast<void*>(bits_of(lane, to)), &written, sizeof written);
  } else {
    lane.regs[to.value] = written;
  }
}

void assertion_failed(Lane& lane, const Op& op) {
  std::string condition;
  std::string file;
  if (!text_at(lane, argument(lane, op, 0, 8), condition)) return;
  if (!text_at(lane, argument(lane, op, 1, 8), file)) return;
  lane.fail(Fault::assertion, "the assertion `" + condition + "` failed (" + file + ":" +
                                  std::to_string(argument(lane, op, 2, 4)) + ")");
}

}  // namespace

Handler host_function(const std::string& name) {
  if (name == "vprintf") return &print;
  if (name == "__assertfail") return &assertion_failed;
  return nullptr;
}

}  // namespace k2k::emulator::exec
