#include "apps/comd/atom_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "apps/comd/pair.hpp"
#include "base/signals_blocked.hpp"

namespace k2k::comd {

namespace {

constexpr char magic[] = {'K', '2', 'K', 'C', 'o', 'M', 'D', '\n'};
constexpr const char* anew = "make the file anew with --generate";

Error told(const AtomFile& file, const std::string& what) {
  return Error{EINVAL, fmt::format("{}: {}", file.path, what)};
}

Error failed(const std::string& path, int error) {
  return Error{error, fmt::format("{}: {}", path, std::strerror(error))};
}

// Bytes read, fewer at the file's end, or a negative errno.
std::int64_t read_whole(int file, void* to, std::size_t bytes, std::int64_t offset) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::pread(file, static_cast<char*>(to) + done, bytes - done,
                                  offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return static_cast<std::int64_t>(done);
}

Status judge_size(const AtomFile& file, std::uint64_t bytes) {
  const std::uint64_t right = header_bytes + file.atom_bytes();
  if (bytes == right) return {};
  return told(file, fmt::format("the file has {} bytes, but {} atoms take {}; {}", bytes,
                                file.header.atoms, right, anew));
}

Status judge_header(const AtomFile& file) {
  const Header& header = file.header;
  if (std::memcmp(header.magic, magic, sizeof(magic)) != 0) {
    return told(file, "no file of atoms, which begins with K2KCoMD; make one with --generate");
  }
  if (header.version != format_version || header.atom_bytes != sizeof(Atom)) {
    return told(file,
                fmt::format("version {} of the format with {} bytes an atom, but this program "
                            "reads version {} with {}; {}",
                            header.version, header.atom_bytes, format_version, sizeof(Atom), anew));
  }
  if (check_of(header) != header.check) {
    return told(file, fmt::format("the header is damaged: its check does not fit; {}", anew));
  }
  if (header.atoms == 0) return told(file, fmt::format("no atoms; {}", anew));
  if (header.atoms > atoms_most) {
    return told(file, fmt::format("{} atoms; permitted are 1 to {}", header.atoms, atoms_most));
  }
  for (const double side : header.side) {
    if (!std::isfinite(side) || side <= 0) {
      return told(file, fmt::format("a side of the box is {}; {}", side, anew));
    }
    if (side < 2 * cutoff) {
      return told(file,
                  fmt::format("the cutoff of {} is larger than half the box's side of {:.4g}; "
                              "make a larger file with --unit-cells",
                              cutoff, side));
    }
  }
  return {};
}

Status write_whole(int file, const void* from, std::size_t bytes, std::int64_t offset) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::pwrite(file, static_cast<const char*>(from) + done, bytes - done,
                                   offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Error{count < 0 ? errno : EIO, ""};
    done += static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace

std::uint64_t check_of(const Header& header) {
  std::uint64_t words[offsetof(Header, check) / 8];
  std::memcpy(words, &header, sizeof(words));
  return check_of_words(words, offsetof(Header, check) / 8);
}

Box box_of(const double* sides, std::uint64_t atoms) {
  // A box with few atoms has wider cells than the cutoff, so that there are not more cells than
  // atoms by far.
  const double most = std::max(2.0, std::ceil(std::cbrt(static_cast<double>(atoms))));
  Box box;
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    const double cells = std::min(std::floor(sides[axis] / cutoff), most);
    box.side[axis] = sides[axis];
    box.cells[axis] = static_cast<std::uint32_t>(cells);
    box.cells_a_length[axis] = cells / sides[axis];
  }
  return box;
}

Result<AtomFile> open_atoms(const std::string& path) {
  // O_NONBLOCK: a FIFO without a writer is refused below, and not waited for.
  AtomFile file{path, Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), {}, {}};
  if (!file.descriptor.open()) return failed(path, errno);
  struct stat status{};
  if (::fstat(file.descriptor.number(), &status) != 0) return failed(path, errno);
  if (!S_ISREG(status.st_mode)) return told(file, "no regular file; name a file of --generate");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes < header_bytes) {
    return told(file, fmt::format("the file has {} bytes, fewer than its header's {}; {}", bytes,
                                  header_bytes, anew));
  }
  const std::int64_t read = read_whole(file.descriptor.number(), &file.header, sizeof(Header), 0);
  if (read < 0) return failed(path, static_cast<int>(-read));
  if (Status judged = judge_header(file); !judged) return judged.error();
  if (Status judged = judge_size(file, bytes); !judged) return judged.error();
  file.box = box_of(file.header.side, file.header.atoms);
  return Result<AtomFile>(std::move(file));
}

Status read_atoms(const AtomFile& file, Atom* to) {
  const std::int64_t read =
      read_whole(file.descriptor.number(), to, file.atom_bytes(), header_bytes);
  if (read < 0) return failed(file.path, static_cast<int>(-read));
  return static_cast<std::size_t>(read) == file.atom_bytes() ? Status{} : still_whole(file);
}

Status still_whole(const AtomFile& file) {
  struct stat status{};
  if (::fstat(file.descriptor.number(), &status) != 0) return failed(file.path, errno);
  const std::uint64_t right = header_bytes + file.atom_bytes();
  if (static_cast<std::uint64_t>(status.st_size) >= right) return {};
  return Error{EIO,
               fmt::format("{}: the file became shorter while it was in use: {} of {} bytes; {}",
                           file.path, status.st_size, right, anew)};
}

Error wrong_atom(const AtomFile& file, Wrong wrong, std::uint64_t index, const Atom& atom,
                 std::uint64_t step) {
  const auto place =
      fmt::format("({:.6g}, {:.6g}, {:.6g})", atom.place[0], atom.place[1], atom.place[2]);
  switch (wrong) {
    case Wrong::damaged:
      return told(file, fmt::format("atom {} is damaged: its check does not fit; {}", index, anew));
    case Wrong::not_finite:
      return told(file, fmt::format("atom {} has a place or a velocity that is not finite: {} and "
                                    "({:.6g}, {:.6g}, {:.6g}); {}",
                                    index, place, atom.velocity[0], atom.velocity[1],
                                    atom.velocity[2], anew));
    case Wrong::outside:
      return told(file, fmt::format("atom {} lies at {}, outside the box of {:.6g} x {:.6g} x "
                                    "{:.6g}; {}",
                                    index, place, file.box.side[0], file.box.side[1],
                                    file.box.side[2], anew));
    case Wrong::strange_id:
      return told(file,
                  fmt::format("atom {} has the id {}, but the ids of {} atoms end at {}; {}", index,
                              atom.id, file.header.atoms, file.header.atoms - 1, anew));
    case Wrong::id_twice:
      return told(file, fmt::format("atom {} has the id {}, as another atom has; {}", index,
                                    atom.id, anew));
    case Wrong::crowded:
      return told(file, fmt::format("step {}: too many atoms in the cell of atom {} at {}; make a "
                                    "file with a larger --lattice, or take a smaller --dt",
                                    step, index, place));
    case Wrong::nothing:
    case Wrong::flew:
      break;
  }
  return told(file,
              fmt::format("step {}: atom {} flew out of the box from {}; take a smaller --dt, "
                          "or a file without atoms at one place",
                          step, index, place));
}

Status write_atoms(const std::string& path, Header header, std::vector<Atom> atoms) {
  std::memcpy(header.magic, magic, sizeof(magic));
  header.atoms = atoms.size();
  if (header.check == 0) header.check = check_of(header);
  for (Atom& atom : atoms) {
    if (atom.check == 0) atom.check = check_of(atom);
  }
  const SignalsBlocked blocked;
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.open()) return failed(path, errno);
  std::vector<char> page(header_bytes);
  std::memcpy(page.data(), &header, sizeof(header));
  // The header last: a machine that stops here leaves a file that is refused.
  Status written =
      write_whole(file.number(), atoms.data(), atoms.size() * sizeof(Atom), header_bytes);
  if (written) written = write_whole(file.number(), page.data(), page.size(), 0);
  if (written) return {};
  ::unlink(path.c_str());
  return failed(path, written.error().code);
}

}  // namespace k2k::comd
