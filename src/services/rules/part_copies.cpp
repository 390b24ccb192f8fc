#include "services/rules/part_copies.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <iterator>
#include <vector>

#include "backend/backend.hpp"
#include "calls/pieces.hpp"
#include "calls/rows.hpp"
#include "router/door/files.hpp"
#include "services/policy.hpp"
#include "services/rules/call_copies.hpp"
#include "services/rules/call_rules.hpp"

namespace k2k::services {

namespace {

using calls::CountedMessage;
using calls::Kind;
using calls::Message;
using calls::Piece;

// Levels of control data without addresses in it. RDS, for one, has addresses of remote reads.
constexpr int levels_without_addresses[] = {
    SOL_SOCKET, IPPROTO_IP, IPPROTO_IPV6, IPPROTO_UDP, IPPROTO_SCTP, SOL_ALG, SOL_TLS,
};

// What Linux writes into a message: the length of the name, and the words behind the control data.
constexpr std::size_t answers_at = offsetof(Message, control_bytes);
constexpr std::size_t answers_bytes = offsetof(Message, more_padding) - answers_at;
constexpr std::size_t counted_answers_bytes = offsetof(CountedMessage, padding) - answers_at;

std::int64_t put_back(std::uint64_t address, const void* copy, std::size_t at, std::size_t bytes) {
  return copy_out(address + at, static_cast<const char*>(copy) + at, bytes) == 0 ? 0 : -EFAULT;
}

std::int64_t put_back_answers(std::uint64_t address, const Message& message, std::size_t bytes) {
  if (message.name != 0) {
    const std::int64_t failed =
        put_back(address, &message, offsetof(Message, name_bytes), sizeof(message.name_bytes));
    if (failed != 0) return failed;
  }
  return put_back(address, &message, answers_at, bytes);
}

}  // namespace

// The copies of one try. Each take_...() returns 0, or the negative errno of the answer.
class PartCopies::Copies {
 public:
  Copies(const PartCopies& judge, const Request& request) : judge_(&judge), request_(&request) {}

  // Lets the argument `index` lead to a copy.
  std::int64_t take(const calls::Extent& extent, std::size_t index, Request& judged) {
    std::uint64_t& word = judged.arguments[index];
    if (word == 0) return 0;  // Linux answers it, and touches nothing.
    writes_ = calls::is_one_of(extent.kind, Kind::out_pieces, Kind::out_content, Kind::out_message,
                               Kind::out_messages);
    switch (extent.kind) {
      case Kind::in_pieces:
      case Kind::out_pieces:
        if (extent.bytes != sizeof(Piece)) return unknown();
        return take_pieces(word, judged.arguments[extent.size_from], -EINVAL);
      case Kind::in_piece:
        return take_mask(word);
      case Kind::in_content:
      case Kind::out_content:
        return take_content(word, judged.arguments[index + 1]);
      case Kind::in_message:
      case Kind::out_message:
        return take_message(word);
      case Kind::in_messages:
      case Kind::out_messages:
        return take_messages(word, judged.arguments[extent.size_from]);
      default:
        return unknown();
    }
  }

  std::int64_t judge(const char* what, std::uint64_t address, std::uint64_t bytes, bool writes) {
    if (bytes == 0 || judge_->hold(address, bytes, writes)) return 0;
    return judge_->refuse(
        *request_, -EFAULT,
        fmt::format("{} names {} bytes at {:#x}, beyond memory.ranges", what, bytes, address));
  }

  // For the caller, what Linux wrote into the copies of a call that was made.
  [[nodiscard]] std::int64_t give_back(std::int64_t value) const {
    if (value < 0) return value;
    if (one_ && writes_) {
      const std::int64_t failed = put_back_answers(place_, message_, answers_bytes);
      return failed != 0 ? failed : value;
    }
    const std::size_t made = std::min(messages_.size(), static_cast<std::size_t>(value));
    for (std::size_t index = 0; index < made; ++index) {
      const CountedMessage& each = messages_[index];
      const std::uint64_t place = place_ + index * sizeof(CountedMessage);
      const std::int64_t failed =
          writes_ ? put_back_answers(place, each.message, counted_answers_bytes)
                  : put_back(place, &each, offsetof(CountedMessage, bytes), sizeof(each.bytes));
      if (failed != 0) return failed;
    }
    return value;
  }

 private:
  [[nodiscard]] std::int64_t unknown() const {
    return judge_->refuse(*request_, -EACCES,
                          "the memory of the call cannot be confined to memory.ranges");
  }

  std::int64_t take_pieces(std::uint64_t& address, std::uint64_t count, std::int64_t too_many) {
    if (count > calls::pieces_max) return too_many;
    return copy_pieces(address, count, writes_, pieces_.emplace_back(),
                       [this](const char* what, std::uint64_t at, std::uint64_t bytes,
                              bool writes) { return judge(what, at, bytes, writes); });
  }

  // Linux takes a mask of its own size alone.
  std::int64_t take_mask(std::uint64_t& address) {
    std::vector<Piece>& mask = pieces_.emplace_back(1);
    if (copy_in(address, mask.data(), sizeof(Piece)) != 0) return -EFAULT;
    address = reinterpret_cast<std::uint64_t>(mask.data());
    if (mask[0].address == 0) return 0;
    return judge("the mask", mask[0].address, sizeof(std::uint64_t), false);
  }

  std::int64_t take_content(std::uint64_t& address, std::uint64_t bytes) {
    if (bytes != sizeof(content_)) return bytes < sizeof(content_) ? -EINVAL : -E2BIG;
    if (copy_in(address, &content_, sizeof(content_)) != 0) return -EFAULT;
    address = reinterpret_cast<std::uint64_t>(&content_);
    if (content_.address == 0) return 0;
    return judge("the content", content_.address, content_.bytes, writes_);
  }

  std::int64_t take_message(std::uint64_t& address) {
    if (copy_in(address, &message_, sizeof(message_)) != 0) return -EFAULT;
    one_ = true;
    place_ = address;
    address = reinterpret_cast<std::uint64_t>(&message_);
    return take_parts(message_);
  }

  std::int64_t take_messages(std::uint64_t& address, std::uint64_t& count) {
    // As Linux takes it.
    count = std::min<std::uint64_t>(static_cast<std::uint32_t>(count), calls::pieces_max);
    if (count == 0) return 0;
    messages_.resize(count);
    if (copy_in(address, messages_.data(), count * sizeof(CountedMessage)) != 0) return -EFAULT;
    place_ = address;
    address = reinterpret_cast<std::uint64_t>(messages_.data());
    for (CountedMessage& each : messages_) {
      if (const std::int64_t refused = take_parts(each.message); refused != 0) return refused;
    }
    return 0;
  }

  std::int64_t take_parts(Message& message) {
    if (message.name != 0) {
      const auto bytes = std::min<std::uint64_t>(message.name_bytes, calls::name_bytes_max);
      const std::int64_t refused = judge("the name of a peer", message.name, bytes, writes_);
      if (refused != 0) return refused;
    }
    if (message.control != 0) {
      const std::int64_t refused =
          judge("control data", message.control, message.control_bytes, writes_);
      if (refused != 0) return refused;
      if (!writes_) {
        if (const std::int64_t failed = take_control(message); failed != 0) return failed;
      }
    }
    if (message.pieces != 0 && message.piece_count <= calls::pieces_max) {
      const std::int64_t refused =
          judge("a vector", message.pieces, message.piece_count * sizeof(Piece), false);
      if (refused != 0) return refused;
    }
    return take_pieces(message.pieces, message.piece_count, -EMSGSIZE);
  }

  std::int64_t take_control(Message& message) {
    if (message.control_bytes > control_bytes_max - control_bytes_) return -ENOBUFS;
    control_bytes_ += message.control_bytes;
    std::vector<char>& control = controls_.emplace_back(message.control_bytes);
    if (control.empty()) return 0;
    if (copy_in(message.control, control.data(), control.size()) != 0) return -EFAULT;
    message.control = reinterpret_cast<std::uint64_t>(control.data());
    return for_each_control(control, [&](const cmsghdr& header, std::size_t) {
      const int level = header.cmsg_level;
      if (std::ranges::find(levels_without_addresses, level) != std::end(levels_without_addresses))
        return std::int64_t{0};
      return judge_->refuse(
          *request_, -EACCES,
          fmt::format("control data of level {} may hold addresses, beyond memory.ranges", level));
    });
  }

  const PartCopies* judge_;
  const Request* request_;
  bool writes_ = false;      // Linux writes the parts.
  bool one_ = false;         // message_ is a copy.
  std::uint64_t place_ = 0;  // Of the caller's message or messages.
  Message message_{};
  calls::Content content_{};
  std::vector<CountedMessage> messages_;
  std::deque<std::vector<Piece>> pieces_;
  std::deque<std::vector<char>> controls_;
  std::size_t control_bytes_ = 0;
};

bool PartCopies::hold(std::uint64_t address, std::uint64_t bytes, bool writes) const {
  return rules_->memory()->hold(address, bytes, !writes, *backend_, files_->registered());
}

std::int64_t PartCopies::refuse(const Request& request, std::int64_t value,
                                std::string_view why) const {
  return rules_->refuse(request, value, why);
}

std::int64_t PartCopies::make_call(const Request& request,
                                   const std::function<std::int64_t(const Request&)>& make) const {
  const calls::Shape& row = calls::shapes[request.row];
  Request judged = request;
  judged.parts = nullptr;
  Copies copies(*this, request);
  for (std::size_t index = 0; index < std::size(row.parameters); ++index) {
    const calls::Extent extent = extent_of(row, index, request);
    if (!calls::is_nested(extent.kind)) continue;
    if (const std::int64_t refused = copies.take(extent, index, judged); refused != 0)
      return refused;
  }
  CallCopies of_call([&](const char* what, std::uint64_t address, std::uint64_t bytes,
                         bool writes) { return copies.judge(what, address, bytes, writes); });
  if (const std::int64_t refused = of_call.take(judged); refused != 0) return refused;
  return of_call.give_back(copies.give_back(make(judged)));
}

}  // namespace k2k::services
