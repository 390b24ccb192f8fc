#include "cli/verify/verify.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/system_call.hpp"
#include "calls/rows.hpp"
#include "calls/table.hpp"
#include "cli/verify/case.hpp"
#include "cli/verify/maker.hpp"
#include "cli/verify/namespaces.hpp"
#include "cli/verify/sandbox.hpp"

namespace k2k::cli::verify {

namespace {

constexpr std::size_t notes_max = 8;  // Of one call.

// A call whose outcome cannot be compared, and why: the reason completes a sentence that begins
// with the name.
struct Unverifiable {
  std::uint16_t number;
  const char* reason;
};
constexpr Unverifiable unverifiable[] = {
    {SYS_vhangup, "would hang up the terminal of this process"},
};

std::string escaped(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    text += code >= ' ' && code < 0x7f ? std::string(1, byte) : fmt::format("\\{:02x}", code);
  }
  return text;
}

void replace_all(std::string& text, const std::string& old, const std::string& fresh) {
  for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += fresh.size()) {
    text.replace(at, old.size(), fresh);
  }
}

std::string shown_answer(Answer kind, std::int64_t answer, const std::string& root) {
  if (is_error(answer)) return fmt::format("error {}", -answer);
  switch (kind) {
    case Answer::exact:
      return std::to_string(answer);
    case Answer::varies:
      return "no error";
    case Answer::descriptor: {
      const std::string shown = described(static_cast<int>(answer), root);
      ::close(static_cast<int>(answer));
      return shown;
    }
    case Answer::address: {
      auto* const page = reinterpret_cast<char*>(answer);
      const std::string shown = fmt::format("memory with {}", static_cast<int>(*page));
      ::munmap(page, page_bytes);
      return shown;
    }
  }
  return "?";
}

std::string shown_descriptors(const std::string& bytes, const std::string& root) {
  std::string shown;
  for (std::size_t at = 0; at + sizeof(int) <= bytes.size(); at += sizeof(int)) {
    int descriptor = -1;
    std::memcpy(&descriptor, bytes.data() + at, sizeof(descriptor));
    shown += described(descriptor, root) + "; ";
    ::close(descriptor);
  }
  return shown;
}

// Bytes that may differ become '?' where the call wrote them.
void blank(std::string& bytes, const std::string& before, const Ignored& ignored) {
  const std::size_t end = std::min(bytes.size(), ignored.from + ignored.bytes);
  if (ignored.from >= end) return;
  const std::size_t count = end - ignored.from;
  if (bytes.compare(ignored.from, count, before, ignored.from, count) == 0) return;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(ignored.from), count, '?');
}

// A wrapper does not know how much a call that failed has written of a large buffer.
bool is_large_output(const Case& the_case, std::size_t argument) {
  const int row = calls::find(the_case.number);
  if (row < 0) return false;
  const calls::Kind kind = calls::shapes[row].parameters[argument].kind;
  return kind == calls::Kind::out_bytes || kind == calls::Kind::out_array;
}

// The outcome of one call as lines of text, without what may differ.
std::string outcome_of(const Case& the_case, const Sandbox& sandbox, const Image& before,
                       const Image& after, std::int64_t answer) {
  std::string lines =
      fmt::format("answer: {}\n", shown_answer(the_case.answer, answer, sandbox.root()));
  for (const Image::Span& span : after.spans) {
    if (is_error(answer) && is_large_output(the_case, span.argument)) continue;
    std::string bytes = after.bytes.substr(span.from, span.bytes);
    if (the_case.arguments[span.argument].gives_descriptors && !is_error(answer)) {
      bytes = shown_descriptors(bytes, sandbox.root());
    }
    const std::string was = before.bytes.substr(span.from, span.bytes);
    for (const Ignored& ignored : the_case.ignored) {
      if (ignored.argument == span.argument) blank(bytes, was, ignored);
    }
    replace_all(bytes, sandbox.root(), "$");
    lines += fmt::format("argument {}: {}\n", span.argument, escaped(bytes));
  }
  return lines + sandbox.state();
}

template <class Make>
std::string outcome_from(const Case& the_case, IpcKinds ipc, const Make& make) {
  const calls::Entry* const entry = calls::entry_of(the_case.number);
  const bool of_ipc = entry != nullptr && entry->family == calls::Family::ipc;
  const Sandbox sandbox(of_ipc ? ipc : IpcKinds{});
  const Image before = image_of(the_case, sandbox);
  Image after = before;
  const std::int64_t answer = make(after);
  return outcome_of(the_case, sandbox, before, after, answer);
}

// The first line in which two outcomes differ; empty if there is none.
std::string difference(const std::string& of_kernel, const std::string& of_thread) {
  std::istringstream kernel(of_kernel);
  std::istringstream thread(of_thread);
  std::string kernel_line;
  std::string thread_line;
  while (true) {
    const bool more_kernel = static_cast<bool>(std::getline(kernel, kernel_line));
    const bool more_thread = static_cast<bool>(std::getline(thread, thread_line));
    if (!more_kernel && !more_thread) return "";
    if (!more_kernel) kernel_line = "nothing";
    if (!more_thread) thread_line = "nothing";
    if (kernel_line != thread_line) return kernel_line + " | thread: " + thread_line;
  }
}

struct Variation {
  Case changed;
  std::string says;
  bool strict = true;  // A strict device reads the memory behind a pointer itself.
};

// A kernel of a GPU that reads the memory behind such a pointer ends, and its device with it.
bool leads_nowhere(const Argument& argument) {
  return argument.kind == Argument::Kind::nowhere ||
         std::any_of(argument.parts.begin(), argument.parts.end(),
                     [](const Part& part) { return leads_nowhere(part.target); });
}

// Memory that Linux must find at its address. A GPU shares with the host only what the runtime
// allocated so, and the sandbox' mapping is not.
bool names_the_mapping(const Case& the_case) {
  const int row = calls::find(the_case.number);
  if (row < 0) return false;
  for (std::size_t index = 0; index < the_case.arguments.size(); ++index) {
    const bool opaque = calls::shapes[row].parameters[index].kind == calls::Kind::opaque;
    if (opaque && the_case.arguments[index].kind == Argument::Kind::mapping) return true;
  }
  return false;
}

bool a_gpu_can_make(const Case& the_case) {
  const std::vector<Argument>& arguments = the_case.arguments;
  return std::none_of(arguments.begin(), arguments.end(), leads_nowhere) &&
         !names_the_mapping(the_case);
}

std::vector<Variation> variations_of(const Case& the_case) {
  std::vector<Variation> all{{the_case, the_case.says, true}};
  if (!the_case.vary) return all;
  const auto add = [&](std::size_t index, Argument argument, const char* what, bool strict) {
    Variation variation{the_case, fmt::format("{}, argument {} {}", the_case.says, index, what),
                        strict};
    variation.changed.arguments[index] = std::move(argument);
    all.push_back(std::move(variation));
  };
  for (std::size_t index = 0; index < the_case.arguments.size(); ++index) {
    const Argument& argument = the_case.arguments[index];
    if (argument.kind == Argument::Kind::object) add(index, number(-1), "is no descriptor", true);
    if (!is_buffer(argument)) continue;
    add(index, null(), "is null", true);
    add(index, {.kind = Argument::Kind::nowhere}, "points to no memory", false);
  }
  return all;
}

class Verifier {
 public:
  Verifier(Device device, IpcKinds ipc)
      : ipc_(ipc), kernels_(device == Device::gpu ? Maker::gpu : Maker::strict_device) {
    if (device == Device::cpu) open_.emplace(Maker::open_device);
  }

  [[nodiscard]] std::string device_name() const { return kernels_.device_name(); }

  void compare(Verdict& verdict, const Case& the_case) {
    for (const Variation& variation : variations_of(the_case)) compare(verdict, variation);
  }

  // The errno with which the device's server refuses this call, 0 if it makes it.
  [[nodiscard]] int refusal_of(const calls::Entry& call) const {
    if (call.access == calls::Access::refused) return EPERM;
    // A device that does not reach the host's pages could not follow such an address.
    const bool hidden = calls::answers_an_address(call.number) && !kernels_.reach_host_pages();
    return hidden ? ENOTSUP : 0;
  }

  void expect_refusal(Verdict& verdict, int error) {
    Image image;
    const std::int64_t answer = kernels_.call(verdict.call->number, image, Place::shared);
    ++verdict.comparisons;
    verdict.outcome = answer == -error ? Outcome::refused : Outcome::mismatched;
    if (answer == -error) return;
    verdict.notes.push_back(fmt::format("answered {}, not {}", answer, -error));
  }

 private:
  void compare(Verdict& verdict, const Variation& variation) {
    if (!open_ && !a_gpu_can_make(variation.changed)) return;
    const std::uint16_t number = verdict.call->number;
    const bool wrapped = kernels_.wrap(number);
    const std::string of_thread = outcome_from(
        variation.changed, ipc_, [&](Image& image) { return call_from_thread(number, image); });
    for (const Place place : {Place::stack, Place::local, Place::device, Place::shared}) {
      // Nothing is copied for a call without a wrapper.
      if (place != Place::shared && (!wrapped || !variation.strict)) continue;
      Kernels& kernels = variation.strict ? kernels_ : *open_;
      const std::string of_kernel = outcome_from(variation.changed, ipc_, [&](Image& image) {
        return kernels.call(number, image, place);
      });
      ++verdict.comparisons;
      const std::string differs = difference(of_kernel, of_thread);
      if (differs.empty()) continue;
      verdict.outcome = Outcome::mismatched;
      if (verdict.notes.size() < notes_max) {
        verdict.notes.push_back(
            fmt::format("{} from {}: {}", variation.says, name_of(place), differs));
      }
    }
  }

  const IpcKinds ipc_;
  Kernels kernels_;
  std::optional<Kernels> open_;  // None on a GPU.
};

std::multimap<std::uint16_t, Case> all_cases() {
  std::multimap<std::uint16_t, Case> cases;
  for (const auto family : {file_cases, directory_cases, network_cases, memory_cases, process_cases,
                            scheduling_cases, time_cases, event_cases, ipc_cases, system_cases}) {
    for (Case& the_case : family()) cases.emplace(the_case.number, std::move(the_case));
  }
  return cases;
}

// "" if the outcome of the call can be compared.
std::string reason_of(const calls::Entry& call, const IpcErrors& errors,
                      const std::vector<MissingNamespace>& missing) {
  for (const Unverifiable& known : unverifiable) {
    if (known.number == call.number) return known.reason;
  }
  for (const MissingNamespace& space : missing) {
    if (std::ranges::find(space.calls, call.number) != space.calls.end())
      return reason_of(space) + ": its cases would meet objects of the machine";
  }
  if (call.family != calls::Family::ipc) return "";
  const std::string_view name = call.name;
  const auto needs = [](const char* objects, const char* option, int error) {
    return fmt::format(
        "needs {}, which this Linux refuses to make ({}); use a Linux with {}, and "
        "allow its calls in the container's profile",
        objects, std::strerror(error), option);
  };
  if (name.starts_with("mq_")) {
    return errors.queue == 0 ? ""
                             : needs("a POSIX message queue", "CONFIG_POSIX_MQUEUE", errors.queue);
  }
  const bool is_system_v =
      name.starts_with("msg") || name.starts_with("sem") || name.starts_with("shm");
  if (!is_system_v || errors.system_v == 0) return "";
  return needs("objects of System V", "CONFIG_SYSVIPC", errors.system_v);
}

}  // namespace

Report verify(Device device, const std::vector<const calls::Entry*>& chosen) {
  Report report;
  report.missing = take_namespaces();
  const std::multimap<std::uint16_t, Case> cases = all_cases();
  const IpcErrors missing = errors_of_ipc();
  Verifier verifier(device, {.queue = missing.queue == 0, .system_v = missing.system_v == 0});
  report.device = verifier.device_name();
  for (const calls::Entry* const entry : chosen) {
    if (entry->kind != calls::Class::ready) continue;
    Verdict verdict{.call = entry};
    const auto [begin, end] = cases.equal_range(entry->number);
    if (const int error = verifier.refusal_of(*entry); error != 0) {
      verifier.expect_refusal(verdict, error);
    } else if (const std::string reason = reason_of(*entry, missing, report.missing);
               !reason.empty()) {
      verdict.outcome = Outcome::unverifiable;
      verdict.notes.push_back(reason);
    } else if (begin != end) {
      verdict.outcome = Outcome::same;
      for (auto the_case = begin; the_case != end; ++the_case) {
        verifier.compare(verdict, the_case->second);
      }
      if (verdict.comparisons == 0) {
        verdict.outcome = Outcome::unverifiable;
        verdict.notes.emplace_back("names memory that its cases do not share with a GPU");
      }
    }
    report.verdicts.push_back(std::move(verdict));
  }
  return report;
}

}  // namespace k2k::cli::verify
