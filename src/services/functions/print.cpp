#include "services/functions/print.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <iterator>
#include <vector>

namespace k2k::services {

namespace {

using calls::PrintType;

// False: there is no such type, or no text for it.
bool add_value(fmt::dynamic_format_arg_store<fmt::format_context>& store,
               const calls::PrintValue& value, std::span<const HostSpan>& texts) {
  switch (static_cast<PrintType>(value.type)) {
    case PrintType::integer:
      store.push_back(static_cast<std::int64_t>(value.bits));
      return true;
    case PrintType::natural:
      store.push_back(value.bits);
      return true;
    case PrintType::number:
      store.push_back(std::bit_cast<double>(value.bits));
      return true;
    case PrintType::character:
      store.push_back(static_cast<char>(value.bits));
      return true;
    case PrintType::boolean:
      store.push_back(value.bits != 0);
      return true;
    case PrintType::pointer:
      store.push_back(reinterpret_cast<const void*>(value.bits));
      return true;
    case PrintType::text:
      if (texts.empty()) return false;
      // By reference: the text outlives the formatting.
      store.push_back(std::string_view(static_cast<const char*>(texts[0].data), texts[0].bytes));
      texts = texts.subspan(1);
      return true;
  }
  return false;
}

}  // namespace

std::int64_t format_print(std::string& text, std::string_view format,
                          std::span<const calls::PrintValue> values,
                          std::span<const HostSpan> texts) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  std::vector<PrintType> types;
  types.reserve(values.size());
  for (const calls::PrintValue& value : values) {
    if (value.type > static_cast<std::uint64_t>(PrintType::pointer)) return -EINVAL;
    if (!add_value(store, value, texts)) return -EINVAL;
    types.push_back(static_cast<PrintType>(value.type));
  }
  if (!texts.empty()) return -EINVAL;
  if (calls::print_fault(format.data(), format.size(), types.data(), types.size()) !=
      calls::PrintFault::none) {
    return -EINVAL;
  }
  try {
    fmt::vformat_to(std::back_inserter(text), format, store);
  } catch (const fmt::format_error&) {
    return -EINVAL;
  }
  return 0;
}

}  // namespace k2k::services
