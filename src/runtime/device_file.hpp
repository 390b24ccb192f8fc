#pragma once
// The device file of a runtime: PID.device in the folder of the control sockets, with what the
// runtime knows of its device (report/device_text.hpp). Kernels and host programs read it as any
// other file (thesis, section 3.1: "everything is a file").
//
// It is renewed when it is made, before a kernel opens it by its path, at the end of each launch
// and of drain(). A host program reads the values of that moment, which is the time of the file's
// last change.
//
// Threading: refresh() from any thread, service threads included; the rest by one thread.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "control/folder.hpp"
#include "server/account/stats.hpp"
#include "services/opens/served_file.hpp"

namespace k2k::runtime {

class DeviceFile {
 public:
  // Removes files that ended processes left. `stats` must outlive the file. Errors: as
  // ServedFile::create(); EEXIST (all names are taken); as open(2) and write(2).
  static Result<std::unique_ptr<DeviceFile>> create(control::Folder folder,
                                                    std::function<server::Stats()> stats);
  // Removes the file.
  ~DeviceFile();
  DeviceFile(const DeviceFile&) = delete;
  DeviceFile& operator=(const DeviceFile&) = delete;

  // A write that fails leaves the values of before.
  void refresh();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  DeviceFile(control::Folder folder, std::function<server::Stats()> stats)
      : folder_(std::move(folder)), stats_(std::move(stats)) {}
  Status open_free_name();
  // False if the program has closed the descriptor: another file may have its number.
  bool has_file();
  Status write_once();

  const control::Folder folder_;
  const std::function<server::Stats()> stats_;
  std::string name_;
  std::string path_;
  Descriptor file_;  // With a lock (flock(2)): the file belongs to a living process.
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::mutex writing_;
  std::uint64_t sequence_ = 0;
  std::unique_ptr<services::ServedFile> served_;
};

}  // namespace k2k::runtime
