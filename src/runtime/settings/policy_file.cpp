#include "runtime/settings/policy_file.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "calls/rows.hpp"
#include "calls/table.hpp"
#include "runtime/settings/config_file.hpp"
#include "runtime/settings/nearest.hpp"
#include "services/rules/call_rules.hpp"

namespace k2k {

namespace {

using services::MemoryRanges;
using services::RootedFiles;
using services::WantedMemory;
using services::WantedRules;

constexpr std::string_view text_mend = "change the text";
constexpr std::string_view policy_mend = "fix the file or name another with --server-policy";

struct Named {
  std::string_view name;
  int value;
};
constexpr Named families[] = {
    {"unix", AF_UNIX},     {"inet", AF_INET},   {"inet6", AF_INET6}, {"netlink", AF_NETLINK},
    {"packet", AF_PACKET}, {"vsock", AF_VSOCK}, {"alg", AF_ALG},     {"bluetooth", AF_BLUETOOTH},
    {"can", AF_CAN},       {"xdp", AF_XDP},
};
constexpr Named defaults[] = {
    {"any", static_cast<int>(WantedRules::Otherwise::any)},
    {"io", static_cast<int>(WantedRules::Otherwise::io)},
    {"known_only", static_cast<int>(WantedRules::Otherwise::known_only)},
    {"none", static_cast<int>(WantedRules::Otherwise::none)},
};

std::vector<std::uint16_t> confined_calls() {
  std::vector<std::uint16_t> numbers;
  for (std::uint16_t number = 0; number < calls::entry_numbers_end; ++number) {
    if (RootedFiles::confines(number)) numbers.push_back(number);
  }
  return numbers;
}

std::vector<std::uint16_t> calls_with_known_memory() {
  std::vector<std::uint16_t> numbers;
  for (std::uint16_t number = 0; number < calls::entry_numbers_end; ++number) {
    if (MemoryRanges::use_of(number) == MemoryRanges::Use::known) numbers.push_back(number);
  }
  return numbers;
}

// "0xADDRESS+BYTES". Nothing: no such text, no bytes, or an end beyond the address space.
std::optional<WantedMemory::Range> memory_range(std::string_view text) {
  WantedMemory::Range range;
  const std::size_t plus = text.find('+');
  if (!text.starts_with("0x") || plus == std::string_view::npos) return {};
  const char* const middle = text.data() + plus;
  const char* const end = text.data() + text.size();
  const auto address = std::from_chars(text.data() + 2, middle, range.first, 16);
  const auto bytes = std::from_chars(middle + 1, end, range.bytes, 10);
  const bool read = address.ec == std::errc() && address.ptr == middle && bytes.ec == std::errc() &&
                    bytes.ptr == end;
  if (!read || range.bytes == 0 || range.bytes > UINT64_MAX - range.first) return {};
  return range;
}

std::vector<std::string> names_of_calls() {
  std::vector<std::string> names;
  for (std::uint16_t number = 0; number < calls::entry_numbers_end; ++number) {
    const calls::Entry* const entry = calls::entry_of(number);
    if (entry != nullptr) names.emplace_back(entry->name);
  }
  return names;
}

// As Linux' header names it, or as the wrapper of kernels.
std::optional<std::uint16_t> call_named(std::string_view name) {
  for (std::uint16_t number = 0; number < calls::entry_numbers_end; ++number) {
    const calls::Entry* const entry = calls::entry_of(number);
    if (entry != nullptr && entry->name == name) return number;
  }
  for (const calls::Shape& row : calls::shapes) {
    if (row.name == name && row.number < services::call_number_end) return row.number;
  }
  return {};
}

// Reads one file; its first error ends it.
class PolicyReader {
 public:
  explicit PolicyReader(const std::string& path) : path_(&path) {}

  Result<WantedRules> read(const toml::table& table) {
    for (const auto& [key, node] : table) read_key(key.str(), node);
    for (const auto& [number, node] : allowed_) check_allowed(number, *node);
    check_needed(families_, {SYS_socket, SYS_socketpair}, "a socket can be made");
    check_needed(roots_, confined_calls(), "a path can be reached");
    check_needed(memory_, calls_with_known_memory(), "memory can be named");
    check_needed(targets_, {SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo}, "a signal can be sent");
    if (wanted_.roots && wanted_.families &&
        std::ranges::find(*wanted_.families, AF_UNIX) != wanted_.families->end()) {
      fail(*families_,
           "sockets.families names unix, whose sockets have paths that files.roots does "
           "not confine; remove one of the two");
    }
    if (error_) return *error_;
    if (wanted_.otherwise == WantedRules::Otherwise::io && !wanted_.targets) {
      wanted_.targets = services::io_rules().targets;
    }
    return wanted_;
  }

 private:
  void fail(const toml::node& node, std::string_view what) {
    if (error_) return;
    const toml::source_position at = node.source().begin;
    error_ = Error{EINVAL, fmt::format("{}:{}:{}: {}", *path_, at.line, at.column, what)};
  }

  void read_key(std::string_view key, const toml::node& node) {
    if (key == "default") {
      return read_default(node);
    }
    if (key == "calls") return read_section(node, key, {"allow", "refuse"});
    if (key == "files") return read_section(node, key, {"roots"});
    if (key == "sockets") return read_section(node, key, {"families"});
    if (key == "signals") return read_section(node, key, {"targets"});
    if (key == "memory") return read_section(node, key, {"ranges"});
    if (key == "functions") return read_section(node, key, {"allow"});
    if (key == "audit") return read_section(node, key, {"file"});
    fail(node, fmt::format("unknown key '{}'; expected: default, calls, files, sockets, signals, "
                           "memory, functions, audit",
                           key));
  }

  void read_section(const toml::node& node, std::string_view section,
                    const std::vector<std::string_view>& keys) {
    const toml::table* const table = node.as_table();
    if (table == nullptr) {
      return fail(node, fmt::format("'{}' is no section; expected: [{}] and, on the next line, {} "
                                    "= ...",
                                    section, section, keys.front()));
    }
    for (const auto& [key, value] : *table) {
      if (std::ranges::find(keys, key.str()) == keys.end()) {
        fail(value, fmt::format("unknown key '{}.{}'; expected: {}", section, key.str(),
                                fmt::join(keys, ", ")));
      } else if (section == "functions") {
        read_functions(value);
      } else if (key == "allow") {
        read_calls(value, "calls.allow", allowed_, wanted_.allowed);
      } else if (key == "refuse") {
        read_calls(value, "calls.refuse", refused_, wanted_.refused);
      } else if (key == "roots") {
        read_roots(value);
      } else if (key == "families") {
        read_families(value);
      } else if (key == "targets") {
        read_targets(value);
      } else if (key == "ranges") {
        read_memory(value);
      } else {
        read_audit(value);
      }
    }
  }

  // Calls `each` with every entry of an array.
  template <class Each>
  void read_array(const toml::node& node, std::string_view key, std::string_view of, Each each) {
    const toml::array* const array = node.as_array();
    if (array == nullptr) {
      return fail(node, fmt::format("{} is no array; expected: an array of {}", key, of));
    }
    for (const toml::node& entry : *array) each(entry);
  }

  // A text that has a meaning in `known`.
  std::optional<int> meaning(const toml::node& node, std::string_view key, const Named* begin,
                             const Named* end) {
    const auto text = node.value<std::string>();
    std::vector<std::string_view> names;
    for (const Named* known = begin; known != end; ++known) {
      if (text && node.is_string() && known->name == *text) return known->value;
      names.push_back(known->name);
    }
    fail(node, fmt::format("{} has an entry that is not permitted{}; expected: one of {}", key,
                           text ? fmt::format(", '{}'", *text) : "", fmt::join(names, ", ")));
    return {};
  }

  void read_default(const toml::node& node) {
    const auto value = meaning(node, "default", std::begin(defaults), std::end(defaults));
    if (value) wanted_.otherwise = static_cast<WantedRules::Otherwise>(*value);
  }

  using Calls = std::vector<std::pair<std::uint16_t, const toml::node*>>;

  void read_calls(const toml::node& node, std::string_view key, Calls& seen,
                  std::vector<std::uint16_t>& numbers) {
    read_array(node, key, "names of calls", [&](const toml::node& entry) {
      const toml::value<std::string>* const name = entry.as_string();
      const auto number = name == nullptr ? std::nullopt : call_named(name->get());
      if (!number) {
        const std::string text =
            name == nullptr ? "a value that is no text" : "'" + name->get() + "'";
        const std::string near = name == nullptr ? "" : nearest(name->get(), names_of_calls());
        return fail(entry,
                    fmt::format("{} names {};{} expected: a name that k2k calls lists", key, text,
                                near.empty() ? "" : fmt::format(" did you mean '{}'?", near)));
      }
      seen.emplace_back(*number, &entry);
      numbers.push_back(*number);
    });
  }

  void read_roots(const toml::node& node) {
    roots_ = &node;
    wanted_.roots.emplace();
    read_array(node, "files.roots", "paths", [&](const toml::node& entry) {
      const toml::value<std::string>* const path = entry.as_string();
      if (path == nullptr) {
        return fail(entry, "files.roots has an entry that is no text; expected: an absolute path");
      }
      if (const auto root = RootedFiles::open({path->get()}); !root) {
        return fail(entry, fmt::format("files.roots names {}; expected: the absolute path of a "
                                       "folder",
                                       root.error().message));
      }
      wanted_.roots->push_back(path->get());
    });
  }

  void read_families(const toml::node& node) {
    families_ = &node;
    wanted_.families.emplace();
    read_array(node, "sockets.families", "address families", [&](const toml::node& entry) {
      const auto family =
          meaning(entry, "sockets.families", std::begin(families), std::end(families));
      if (family) wanted_.families->push_back(*family);
    });
  }

  void read_targets(const toml::node& node) {
    targets_ = &node;
    wanted_.targets.emplace();
    read_array(node, "signals.targets", "processes", [&](const toml::node& entry) {
      const auto* const text = entry.as_string();
      const auto* const number = entry.as_integer();
      if (text != nullptr && text->get() == "self") return wanted_.targets->push_back(0);
      if (number != nullptr && number->get() > 0 && number->get() <= INT_MAX) {
        return wanted_.targets->push_back(static_cast<pid_t>(number->get()));
      }
      fail(entry,
           "signals.targets has an entry that is no process; expected: \"self\" or the "
           "number of a process");
    });
  }

  void read_memory(const toml::node& node) {
    memory_ = &node;
    wanted_.memory.emplace();
    read_array(node, "memory.ranges", "ranges", [&](const toml::node& entry) {
      const toml::value<std::string>* const text = entry.as_string();
      if (text != nullptr && text->get() == "kernels") {
        wanted_.memory->of_kernels = true;
        return;
      }
      const auto range = text == nullptr ? std::nullopt : memory_range(text->get());
      if (range) return wanted_.memory->ranges.push_back(*range);
      fail(entry, fmt::format("memory.ranges has an entry that is no range of memory{}; expected: "
                              "\"kernels\", or an address and a number of bytes, such as "
                              "\"0x7f5000000000+65536\"",
                              text == nullptr ? "" : fmt::format(", '{}'", text->get())));
    });
  }

  void read_functions(const toml::node& node) {
    wanted_.functions.emplace();
    read_array(node, "functions.allow", "names", [&](const toml::node& entry) {
      const toml::value<std::string>* const name = entry.as_string();
      if (name == nullptr) {
        return fail(entry,
                    "functions.allow has an entry that is no text; expected: the name of a host "
                    "function");
      }
      if (name->get().empty() || name->get().starts_with("k2k.")) {
        return fail(entry, fmt::format("functions.allow names '{}', which no program can provide; "
                                       "expected: the name of a host function",
                                       name->get()));
      }
      wanted_.functions->push_back(name->get());
    });
  }

  void read_audit(const toml::node& node) {
    const toml::value<std::string>* const path = node.as_string();
    if (path == nullptr || !path->get().starts_with('/')) {
      return fail(node, "audit.file is no path; expected: the absolute path of a file");
    }
    wanted_.audit_file = path->get();
  }

  // --- Contradictions.

  void check_allowed(std::uint16_t number, const toml::node& node) {
    const std::string name = calls::entry_of(number)->name;
    if (const auto same = std::ranges::find(refused_, number, &Calls::value_type::first);
        same != refused_.end()) {
      fail(node,
           fmt::format("calls.allow names {}, and so does calls.refuse in line {}; remove one "
                       "of the two",
                       name, same->second->source().begin.line));
    }
    if (const char* const why = services::refusal_of(number); why != nullptr) {
      fail(node, fmt::format("calls.allow names {}, which every policy refuses: it {}; remove it",
                             name, why));
    }
    if (wanted_.memory && MemoryRanges::use_of(number) == MemoryRanges::Use::unconfined) {
      fail(node, fmt::format("calls.allow names {}, whose memory cannot be confined to "
                             "memory.ranges; remove one of the two",
                             name));
    }
    if (wanted_.roots && RootedFiles::takes_path(number) && !RootedFiles::confines(number)) {
      fail(node, fmt::format("calls.allow names {}, whose paths cannot be confined to files.roots; "
                             "remove one of the two",
                             name));
    }
  }

  // A list is of no use if none of these calls is permitted.
  void check_needed(const toml::node* node, const std::vector<std::uint16_t>& numbers,
                    std::string_view purpose) {
    if (node == nullptr || node->as_array() == nullptr || node->as_array()->empty()) return;
    const bool possible = std::ranges::any_of(numbers, [this](std::uint16_t number) {
      if (std::ranges::find(wanted_.refused, number) != wanted_.refused.end()) return false;
      if (std::ranges::find(wanted_.allowed, number) != wanted_.allowed.end()) return true;
      // The policy io permits each of these.
      return wanted_.otherwise == WantedRules::Otherwise::any ||
             wanted_.otherwise == WantedRules::Otherwise::io ||
             (wanted_.otherwise == WantedRules::Otherwise::known_only &&
              calls::is_basic(calls::find(number)));
    });
    if (possible) return;
    std::vector<std::string_view> names;
    for (const std::uint16_t number : numbers) names.emplace_back(calls::entry_of(number)->name);
    constexpr std::size_t named_max = 20;
    if (names.size() > named_max) {
      names.resize(named_max);
      names.emplace_back("...");
    }
    fail(*node, fmt::format("the list is not empty, but no call is permitted by which {}; name one "
                            "of {} in calls.allow, or remove the list",
                            purpose, fmt::join(names, ", ")));
  }

  const std::string* path_;
  WantedRules wanted_;
  Calls allowed_;
  Calls refused_;
  const toml::node* roots_ = nullptr;
  const toml::node* families_ = nullptr;
  const toml::node* targets_ = nullptr;
  const toml::node* memory_ = nullptr;
  std::optional<Error> error_;
};

// What names the policy in a message, and how to mend it.
struct Source {
  bool is_text;
  std::string path;
  std::string_view mend;
};
Source source_of(const std::string& setting) {
  const bool is_text = is_policy_text(setting);
  return {is_text, is_text ? "server.policy" : setting, is_text ? text_mend : policy_mend};
}

Result<WantedRules> read_wanted(const std::string& setting) {
  const Source source = source_of(setting);
  const Result<std::string> text =
      source.is_text ? Result<std::string>(setting) : read_toml_text(source.path, policy_mend);
  if (!text) return text.error();
  try {
    const toml::table table = toml::parse(text.value(), source.path);
    return PolicyReader(source.path).read(table);
  } catch (const toml::parse_error& error) {
    return Error{EINVAL, fmt::format("{}:{}:{}: {}; expected: TOML, such as [calls] and, on the "
                                     "next line, refuse = [\"socket\"]",
                                     source.path, error.source().begin.line,
                                     error.source().begin.column, error.description())};
  }
}

}  // namespace

bool is_policy_text(std::string_view setting) {
  return setting.find('=') != std::string_view::npos && !setting.ends_with(policy_file_ending);
}

Result<std::shared_ptr<services::CallRules>> read_policy(const std::string& setting) {
  const Result<WantedRules> wanted = read_wanted(setting);
  if (!wanted) return wanted.error();
  auto rules = services::CallRules::create(wanted.value());
  if (rules) return rules;
  const Source source = source_of(setting);
  return Error{rules.error().code,
               fmt::format("{}: {}; {}", source.path, rules.error().message, source.mend)};
}

Result<PolicyMemory> memory_of_policy(const std::string& setting) {
  const Result<WantedRules> wanted = read_wanted(setting);
  if (!wanted) return wanted.error();
  PolicyMemory memory;
  if (!wanted.value().memory) return memory;
  memory.is_confined = true;
  memory.of_kernels = wanted.value().memory->of_kernels;
  for (const WantedMemory::Range& range : wanted.value().memory->ranges) {
    memory.ranges.push_back({range.first, range.bytes});
  }
  return memory;
}

}  // namespace k2k
