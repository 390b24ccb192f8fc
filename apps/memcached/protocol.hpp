#pragma once
// The binary protocol of memcached over UDP, as far as this server speaks it: GET and SET.
//
//   datagram   8 bytes of frame: request, number and count of datagrams, 0   (big-endian words of
//   16) header     24 bytes: magic, opcode, key bytes, extras bytes, 0, status, body bytes, opaque,
//   CAS body       extras, key, value
//
// Source: memcached's doc/protocol-binary.xml and doc/protocol.txt, "UDP protocol". Requests of
// several datagrams are not answered, as with memcached.
//
// Device code and host code. Threading: pure functions of the caller's memory.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::memcached {

inline constexpr std::size_t frame_bytes = 8;
inline constexpr std::size_t header_bytes = 24;
inline constexpr std::size_t key_bytes_max = 250;
inline constexpr std::size_t value_bytes_max = 1024;
inline constexpr std::size_t set_extras_bytes = 8;  // Flags, expiration.
inline constexpr std::size_t get_extras_bytes = 4;  // Of the answer: flags.
// The longest datagram that is a request, and one byte more to know a longer one.
inline constexpr std::size_t request_bytes_max =
    frame_bytes + header_bytes + set_extras_bytes + key_bytes_max + value_bytes_max;

inline constexpr unsigned char magic_request = 0x80;
inline constexpr unsigned char magic_answer = 0x81;
inline constexpr unsigned char opcode_get = 0x00;
inline constexpr unsigned char opcode_set = 0x01;

enum class Code : std::uint16_t {
  ok = 0x0000,
  not_found = 0x0001,
  exists = 0x0002,
  too_large = 0x0003,
  invalid = 0x0004,
  unknown_command = 0x0081,
  no_memory = 0x0082,
  busy = 0x0085,
};

K2K_HD inline std::uint16_t word16(const unsigned char* at) {
  return static_cast<std::uint16_t>(at[0] << 8 | at[1]);
}
K2K_HD inline std::uint32_t word32(const unsigned char* at) {
  return static_cast<std::uint32_t>(word16(at)) << 16 | word16(at + 2);
}
K2K_HD inline std::uint64_t word64(const unsigned char* at) {
  return static_cast<std::uint64_t>(word32(at)) << 32 | word32(at + 4);
}
K2K_HD inline void put16(unsigned char* at, std::uint16_t value) {
  at[0] = static_cast<unsigned char>(value >> 8);
  at[1] = static_cast<unsigned char>(value);
}
K2K_HD inline void put32(unsigned char* at, std::uint32_t value) {
  put16(at, static_cast<std::uint16_t>(value >> 16));
  put16(at + 2, static_cast<std::uint16_t>(value));
}
K2K_HD inline void put64(unsigned char* at, std::uint64_t value) {
  put32(at, static_cast<std::uint32_t>(value >> 32));
  put32(at + 4, static_cast<std::uint32_t>(value));
}

enum class Kind : std::uint8_t {
  garbage,  // No request: dropped, because nothing in it can be trusted.
  get,
  other,  // SET, what this server does not know, and requests that are wrong in themselves.
};

struct Request {
  Kind kind = Kind::garbage;
  unsigned char opcode = 0;
  const unsigned char* extras = nullptr;
  std::size_t extras_bytes = 0;
  const unsigned char* key = nullptr;
  std::size_t key_bytes = 0;
  const unsigned char* value = nullptr;
  std::size_t value_bytes = 0;
  std::uint64_t cas = 0;
};

// Every length is checked against the bytes that arrived.
K2K_HD inline Request parse(const unsigned char* datagram, std::size_t bytes) {
  Request request;
  if (bytes < frame_bytes + header_bytes) return request;
  if (word16(datagram + 4) != 1 || word16(datagram + 2) != 0) return request;  // Several datagrams.
  const unsigned char* const header = datagram + frame_bytes;
  if (header[0] != magic_request || header[5] != 0) return request;
  const std::size_t body = word32(header + 8);
  if (body != bytes - frame_bytes - header_bytes) return request;  // Cut, or too long.
  request.key_bytes = word16(header + 2);
  request.extras_bytes = header[4];
  if (request.key_bytes + request.extras_bytes > body) return request;
  request.opcode = header[1];
  request.extras = header + header_bytes;
  request.key = request.extras + request.extras_bytes;
  request.value = request.key + request.key_bytes;
  request.value_bytes = body - request.extras_bytes - request.key_bytes;
  request.cas = word64(header + 16);
  const bool is_get = request.opcode == opcode_get && request.extras_bytes == 0 &&
                      request.value_bytes == 0 && request.key_bytes != 0 &&
                      request.key_bytes <= key_bytes_max;
  request.kind = is_get ? Kind::get : Kind::other;
  return request;
}

// Writes frame and header of the answer to `datagram`; returns the bytes of the whole answer, whose
// body has `body` bytes, `extras` of them extras.
K2K_HD inline std::size_t put_header(unsigned char* answer, const unsigned char* datagram,
                                     Code code, std::size_t extras, std::size_t body,
                                     std::uint64_t cas) {
  put16(answer, word16(datagram));
  put16(answer + 2, 0);
  put16(answer + 4, 1);
  put16(answer + 6, 0);
  const unsigned char* const asked = datagram + frame_bytes;
  unsigned char* const header = answer + frame_bytes;
  header[0] = magic_answer;
  header[1] = asked[1];
  put16(header + 2, 0);
  header[4] = static_cast<unsigned char>(extras);
  header[5] = 0;
  put16(header + 6, static_cast<std::uint16_t>(code));
  put32(header + 8, static_cast<std::uint32_t>(body));
  put32(header + 12, word32(asked + 12));  // Opaque: the client's own.
  put64(header + 16, cas);
  return frame_bytes + header_bytes + body;
}

// memcached's own texts.
K2K_HD inline const char* text_of(Code code) {
  switch (code) {
    case Code::ok:
      return "";
    case Code::not_found:
      return "Not found";
    case Code::exists:
      return "Data exists for key.";
    case Code::too_large:
      return "Too large.";
    case Code::invalid:
      return "Invalid arguments";
    case Code::unknown_command:
      return "Unknown command";
    case Code::no_memory:
      return "Out of memory";
    case Code::busy:
      return "Temporary failure";
  }
  return "";
}

// An answer without a value: the code and its text.
K2K_HD inline std::size_t put_error(unsigned char* answer, const unsigned char* datagram,
                                    Code code) {
  const char* const text = text_of(code);
  std::size_t bytes = 0;
  for (; text[bytes] != '\0'; ++bytes) {
    answer[frame_bytes + header_bytes + bytes] = static_cast<unsigned char>(text[bytes]);
  }
  return put_header(answer, datagram, code, 0, bytes, 0);
}

}  // namespace k2k::memcached
