#include "services/functions/host_signature.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <optional>

namespace k2k::services {

namespace {

// Reads a signature from its begin to its end.
class SignatureReader {
 public:
  explicit SignatureReader(std::string_view text) : text_(text) {}

  Result<HostSignature> read() {
    HostSignature signature;
    if (take("void")) {
      signature.text = "void";
    } else if (!read_type(signature.text, signature.layout.reply_bytes)) {
      return expected("a type such as i32, u8, f64, s24 or void");
    }
    if (!take("(")) return expected("\"(\" behind the reply's type");
    signature.text += '(';
    if (!take(")")) {
      do {
        if (!signature.parameters.empty()) signature.text += ',';
        const std::optional<HostParameter> parameter = read_parameter(signature.text);
        if (!parameter) return expected("a type such as i32, u8, f64 or s24, or in, out, inout");
        signature.parameters.push_back(*parameter);
      } while (take(","));
      if (!take(")")) return expected("\",\" or \")\" behind a parameter");
    }
    signature.text += ')';
    skip_spaces();
    if (at_ != text_.size()) return expected("nothing behind \")\"");
    return finished(std::move(signature));
  }

 private:
  static Result<HostSignature> finished(HostSignature signature) {
    calls::host::Hash hash;
    for (const char byte : signature.text) hash.put(byte);
    signature.id = hash.value;
    calls::HostLayout& layout = signature.layout;
    for (const HostParameter& parameter : signature.parameters) {
      if (parameter.is_buffer) {
        ++layout.buffers;
      } else {
        layout.argument_bytes += calls::whole_words(parameter.bytes);
      }
    }
    if (layout.frame_bytes() > calls::host_frame_bytes_max) {
      return Error{EMSGSIZE,
                   fmt::format("arguments and reply of the signature \"{}\" take {} bytes, at most "
                               "{} are possible: pass a buffer",
                               signature.text, layout.frame_bytes(), calls::host_frame_bytes_max)};
    }
    return signature;
  }

  std::optional<HostParameter> read_parameter(std::string& text) {
    HostParameter parameter;
    struct Named {
      std::string_view word;
      calls::Direction direction;
    };
    constexpr Named directions[] = {{"inout ", calls::Direction::inout},
                                    {"in ", calls::Direction::in},
                                    {"out ", calls::Direction::out}};
    for (const Named& named : directions) {
      if (!take(named.word)) continue;
      parameter.is_buffer = true;
      parameter.direction = named.direction;
      text += named.word;
      break;
    }
    if (!read_type(text, parameter.bytes)) return {};
    return parameter;
  }

  bool read_type(std::string& text, std::size_t& bytes) {
    skip_spaces();
    if (at_ == text_.size()) return false;
    const char kind = text_[at_];
    std::size_t number = 0;
    const char* const end = text_.data() + text_.size();
    const auto [rest, error] = std::from_chars(text_.data() + at_ + 1, end, number);
    if (error != std::errc() || number == 0 || text_[at_ + 1] == '0') return false;
    const bool is_word = number == 8 || number == 16 || number == 32 || number == 64;
    const bool is_float = kind == 'f' && (number == 16 || number == 32 || number == 64);
    const bool is_integer = (kind == 'i' || kind == 'u') && is_word;
    const bool is_structure = kind == 's' && number <= calls::host_frame_bytes_max;
    if (!is_float && !is_integer && !is_structure) return false;
    bytes = is_structure ? number : number / 8;
    text += std::string_view(text_.data() + at_, rest);
    at_ = static_cast<std::size_t>(rest - text_.data());
    return true;
  }

  bool take(std::string_view word) {
    skip_spaces();
    if (text_.substr(at_).substr(0, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  [[nodiscard]] Error expected(std::string_view thing) const {
    return {EINVAL, fmt::format("the signature \"{}\" has an error at character {}: expected {}",
                                text_, at_ + 1, thing)};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<HostSignature> parse_host_signature(std::string_view text) {
  return SignatureReader(text).read();
}

}  // namespace k2k::services
