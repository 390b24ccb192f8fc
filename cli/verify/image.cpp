#include "cli/verify/image.hpp"

#include <cstring>
#include <stdexcept>

namespace k2k::cli::verify {

namespace {

constexpr std::size_t alignment = 16;

std::string with_root(const Argument& argument, const std::string& root) {
  std::string bytes;
  for (const char byte : argument.bytes) {
    if (byte == root_mark) {
      bytes += root;
    } else {
      bytes += byte;
    }
  }
  if (argument.size != 0) bytes.resize(argument.size, '\0');
  return bytes;
}

class Layout {
 public:
  Layout(Image& image, const Sandbox& sandbox) : image_(&image), sandbox_(&sandbox) {}

  void place(const Argument& argument, std::size_t word) {
    if (!is_buffer(argument)) {
      image_->words[word] = value_of(argument);
      return;
    }
    image_->word_links.push_back({word, append(argument, word)});
  }

 private:
  [[nodiscard]] std::uint64_t value_of(const Argument& argument) const {
    switch (argument.kind) {
      case Argument::Kind::object:
        return static_cast<std::uint64_t>(sandbox_->descriptor(argument.object));
      case Argument::Kind::ipc:
        return static_cast<std::uint64_t>(sandbox_->identifier(argument.ipc));
      case Argument::Kind::mapping:
        return reinterpret_cast<std::uint64_t>(sandbox_->mapping()) + argument.number;
      case Argument::Kind::nowhere:
        return reinterpret_cast<std::uint64_t>(nowhere());
      default:
        return argument.number;
    }
  }

  // The offset of the argument's bytes.
  std::size_t append(const Argument& argument, std::size_t word) {
    const std::string bytes = argument.kind == Argument::Kind::rooted
                                  ? with_root(argument, sandbox_->root())
                                  : argument.bytes;
    const std::size_t from = image_->bytes.size();
    image_->spans.push_back({word, from, bytes.size()});
    image_->bytes += bytes;
    image_->bytes.resize((image_->bytes.size() + alignment - 1) / alignment * alignment, '\0');
    for (const Part& part : argument.parts) {
      if (is_buffer(part.target)) {
        image_->links.push_back({from + part.offset, append(part.target, word)});
      } else if (part.target.kind == Argument::Kind::object) {
        const int descriptor = sandbox_->descriptor(part.target.object);
        std::memcpy(image_->bytes.data() + from + part.offset, &descriptor, sizeof(descriptor));
      } else {
        const std::uint64_t value = value_of(part.target);
        std::memcpy(image_->bytes.data() + from + part.offset, &value, sizeof(value));
      }
    }
    if (image_->bytes.size() > image_bytes_max) throw std::length_error("a case is too long");
    return from;
  }

  Image* image_;
  const Sandbox* sandbox_;
};

}  // namespace

Image image_of(const Case& the_case, const Sandbox& sandbox) {
  Image image;
  Layout layout(image, sandbox);
  image.count = the_case.arguments.size();
  for (std::size_t word = 0; word < image.count; ++word) {
    layout.place(the_case.arguments[word], word);
  }
  if (image.links.size() > links_max) throw std::length_error("a case has too many pointers");
  return image;
}

}  // namespace k2k::cli::verify
