// Goal: every way draws the picture that a plain reading of the file gives, at every depth, for
// pictures smaller and larger than the screen and for every shape of launch; wrong pictures, wrong
// screens and what is no framebuffer are told with their remedy; a kernel gets from Linux what the
// host gets.

#include "apps/display/display.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fb.h>
#include <linux/fs.h>
#include <linux/kd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "apps/common/small_device_fixture.hpp"
#include "apps/display/terminal_guard.hpp"
#include "base/descriptor.hpp"
#include "base/temporary_folder.hpp"

namespace k2k::display {
namespace {

// Pixels of red, green and blue, from the upper left.
struct Image {
  std::uint32_t width;
  std::uint32_t height;
  std::vector<std::array<unsigned char, 3>> pixels;
  [[nodiscard]] const std::array<unsigned char, 3>& at(std::uint32_t x, std::uint32_t y) const {
    return pixels[std::size_t{y} * width + x];
  }
};

Image random_image(std::uint32_t width, std::uint32_t height, std::uint32_t seed) {
  std::mt19937 random(seed);
  Image image{width, height, {}};
  for (std::uint32_t at = 0; at < width * height; ++at) {
    image.pixels.push_back({static_cast<unsigned char>(random()),
                            static_cast<unsigned char>(random()),
                            static_cast<unsigned char>(random())});
  }
  return image;
}

void put(std::string& text, std::size_t at, std::uint32_t value) {
  std::memcpy(text.data() + at, &value, sizeof(value));
}

// The image as a BMP file; `behind`: bytes between header and pixels.
std::string bmp_of(const Image& image, std::uint32_t bits, bool top_down, std::size_t behind = 0) {
  const std::size_t row_bytes = (image.width * bits / 8 + 3) / 4 * 4;
  const std::size_t first = 54 + behind;
  std::string text(first + row_bytes * image.height, '\0');
  text[0] = 'B';
  text[1] = 'M';
  put(text, 2, static_cast<std::uint32_t>(text.size()));
  put(text, 10, static_cast<std::uint32_t>(first));
  put(text, 14, 40);
  put(text, 18, image.width);
  put(text, 22, top_down ? 0 - image.height : image.height);
  put(text, 26, 1 | bits << 16);
  for (std::uint32_t y = 0; y < image.height; ++y) {
    const std::size_t row = top_down ? y : image.height - 1 - y;
    for (std::uint32_t x = 0; x < image.width; ++x) {
      char* const pixel = text.data() + first + row * row_bytes + x * (bits / 8);
      for (std::size_t channel = 0; channel < 3; ++channel) {
        pixel[channel] = static_cast<char>(image.at(x, y)[2 - channel]);
      }
    }
  }
  return text;
}

// The bytes of a plain screen that shows the image in its middle, by the definition of the colours.
std::string shown_on(const Image& image, const Geometry& geometry) {
  std::string bytes;
  const int left = (static_cast<int>(image.width) - static_cast<int>(geometry.width)) / 2;
  const int top = (static_cast<int>(image.height) - static_cast<int>(geometry.height)) / 2;
  for (int y = 0; y < static_cast<int>(geometry.height); ++y) {
    for (int x = 0; x < static_cast<int>(geometry.width); ++x) {
      std::uint32_t colour = 0;
      const int column = x + left;
      const int row = y + top;
      if (column >= 0 && column < static_cast<int>(image.width) && row >= 0 &&
          row < static_cast<int>(image.height)) {
        const auto& pixel =
            image.at(static_cast<std::uint32_t>(column), static_cast<std::uint32_t>(row));
        const auto scaled = [&](std::size_t channel, double most) {
          return static_cast<std::uint32_t>(pixel[channel] * most / 255 + 0.5);
        };
        colour = geometry.bits == 16
                     ? scaled(0, 31) << 11 | scaled(1, 63) << 5 | scaled(2, 31)
                     : static_cast<std::uint32_t>(pixel[0] << 16 | pixel[1] << 8 | pixel[2]);
      }
      bytes.append(reinterpret_cast<const char*>(&colour), geometry.bits / 8);
    }
  }
  return bytes;
}

class DisplayTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] Settings settings_for(const std::string& bmp, By by) {
    Settings settings;
    settings.by = by;
    settings.picture = write("picture.bmp", bmp);
    settings.screen = path("screen");
    settings.geometry = Geometry{40, 30, 32};
    return settings;
  }
  // The message of a run that fails, and its calls of `shown`: none.
  std::string complaint(const Settings& settings) {
    const auto result =
        show(settings, apps::small_device(2), [](const Display&) { FAIL() << "shown"; });
    EXPECT_FALSE(result);
    return result ? "" : result.error().message;
  }

  const TemporaryFolder folder_ = TemporaryFolder::create("k2k-display").value();
};

constexpr By all_ways[] = {By::map, By::write, By::threads, By::serial};

TEST(Abi, is_that_of_linux) {
  static_assert(sizeof(abi::Variable) == sizeof(fb_var_screeninfo));
  static_assert(offsetof(abi::Variable, bits_per_pixel) ==
                offsetof(fb_var_screeninfo, bits_per_pixel));
  static_assert(offsetof(abi::Variable, red) == offsetof(fb_var_screeninfo, red));
  static_assert(offsetof(abi::Variable, activate) == offsetof(fb_var_screeninfo, activate));
  static_assert(offsetof(abi::Variable, y_offset) == offsetof(fb_var_screeninfo, yoffset));
  static_assert(sizeof(abi::Fixed) == sizeof(fb_fix_screeninfo));
  static_assert(offsetof(abi::Fixed, visual) == offsetof(fb_fix_screeninfo, visual));
  static_assert(offsetof(abi::Fixed, line_bytes) == offsetof(fb_fix_screeninfo, line_length));
  static_assert(offsetof(abi::Fixed, y_pan_step) == offsetof(fb_fix_screeninfo, ypanstep));
  static_assert(offsetof(abi::Fixed, memory_bytes) == offsetof(fb_fix_screeninfo, smem_len));
  static_assert(offsetof(abi::Stat, mode) == offsetof(struct stat, st_mode));
  static_assert(offsetof(abi::Stat, size) == offsetof(struct stat, st_size));
  static_assert(sizeof(abi::WindowSize) == sizeof(winsize));
  static_assert(offsetof(abi::WindowSize, columns) == offsetof(winsize, ws_col));
  EXPECT_EQ(abi::get_variable, FBIOGET_VSCREENINFO);
  EXPECT_EQ(abi::put_variable, FBIOPUT_VSCREENINFO);
  EXPECT_EQ(abi::get_fixed, FBIOGET_FSCREENINFO);
  EXPECT_EQ(abi::pan_display, FBIOPAN_DISPLAY);
  EXPECT_EQ(abi::set_mode, KDSETMODE);
  EXPECT_EQ(abi::get_mode, KDGETMODE);
  EXPECT_EQ(abi::mode_graphics, KD_GRAPHICS);
  EXPECT_EQ(abi::get_window_size, TIOCGWINSZ);
  EXPECT_EQ(abi::get_bytes, BLKGETSIZE64);
  EXPECT_EQ(abi::get_sector, BLKSSZGET);
  EXPECT_EQ(abi::get_read_only, BLKROGET);
  EXPECT_EQ(abi::packed_pixels, FB_TYPE_PACKED_PIXELS);
  EXPECT_EQ(abi::true_colour, FB_VISUAL_TRUECOLOR);
  EXPECT_EQ(abi::o_rdwr | abi::o_noctty | abi::o_nonblock | abi::o_cloexec,
            O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_EQ(abi::map_shared, MAP_SHARED);
  EXPECT_EQ(abi::map_private, MAP_PRIVATE);
  EXPECT_EQ(abi::mode_regular, S_IFREG);
  EXPECT_EQ(abi::mode_block, S_IFBLK);
}

TEST_F(DisplayTest, every_way_draws_the_picture_at_every_depth_and_size) {
  constexpr struct {
    std::uint32_t width;
    std::uint32_t height;
  } sizes[] = {{1, 1}, {40, 30}, {7, 29}, {601, 3}, {55, 41}};
  std::uint32_t seed = 0;
  for (const auto& size : sizes) {
    const Image image = random_image(size.width, size.height, ++seed);
    const std::string bmp = bmp_of(image, seed % 2 == 0 ? 24 : 32, seed % 3 == 0, seed % 2 * 70);
    for (const std::uint32_t bits : {16u, 24u, 32u}) {
      for (const By by : all_ways) {
        Settings settings = settings_for(bmp, by);
        settings.geometry = Geometry{40, 30, bits};
        settings.groups = 1 + seed;
        settings.items = by == By::map ? 3 : 5;
        int calls = 0;
        const auto shown = show(settings, apps::small_device(2), [&](const Display& display) {
          ++calls;
          EXPECT_EQ(display.picture.width, size.width);
          EXPECT_EQ(display.screen.pixel_bytes, bits / 8);
        });
        ASSERT_TRUE(shown) << shown.error().message;
        EXPECT_EQ(calls, 1);
        EXPECT_TRUE(read("screen") == shown_on(image, *settings.geometry))
            << size.width << " by " << size.height << ", " << bits << " bits, way "
            << static_cast<int>(by);
      }
    }
  }
}

// Lines of more pixels than a part, in both ways of the kernel.
TEST_F(DisplayTest, a_line_may_be_longer_than_a_part) {
  const Image image = random_image(1'500, 4, 9);
  for (const By by : all_ways) {
    Settings settings = settings_for(bmp_of(image, 24, false), by);
    settings.geometry = Geometry{1'283, 6, 24};
    const auto shown = show(settings, apps::small_device(2), [](const Display&) {});
    ASSERT_TRUE(shown) << shown.error().message;
    EXPECT_TRUE(read("screen") == shown_on(image, *settings.geometry));
  }
}

TEST_F(DisplayTest, a_generated_picture_is_shown_and_follows_from_its_seed) {
  ASSERT_TRUE(generate(path("one.bmp"), 37, 11, 5));
  ASSERT_TRUE(generate(path("two.bmp"), 37, 11, 5));
  ASSERT_TRUE(generate(path("three.bmp"), 37, 11, 6));
  EXPECT_EQ(read("one.bmp"), read("two.bmp"));
  EXPECT_NE(read("one.bmp"), read("three.bmp"));
  const Status again = generate(path("one.bmp"), 37, 11, 5);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, EEXIST);
  for (const By by : all_ways) {
    Settings settings = settings_for(read("one.bmp"), by);
    const auto shown = show(settings, apps::small_device(2), [](const Display&) {});
    ASSERT_TRUE(shown) << shown.error().message;
    EXPECT_EQ(shown->picture.width, 37u);
  }
}

TEST_F(DisplayTest, tells_wrong_pictures_with_their_remedy) {
  const std::string good = bmp_of(random_image(6, 5, 1), 24, false);
  const auto with = [&](std::size_t at, std::uint32_t value) {
    std::string text = good;
    put(text, at, value);
    return text;
  };
  const struct {
    std::string bmp;
    const char* says;
  } cases[] = {
      {"", "is no BMP file"},
      {"hello", "is no BMP file"},
      {good.substr(0, 53), "is no BMP file"},
      {good.substr(0, good.size() - 1), "names 154 bytes and has 153; the file is cut"},
      {good + "x", "names 154 bytes and has 155"},
      {with(2, 100'000), "names 100000 bytes and has 154"},
      {with(14, 12), "has a header of OS/2"},
      {with(18, 0), "names 0 by 5 pixels"},
      {with(18, 0x7fffffff), "names 2147483647 by 5 pixels"},
      {with(22, 0x80000000), "names 6 by 2147483648 pixels"},
      {with(18, 700), "too few for 700 by 5 pixels"},
      {with(22, 1'000), "too few for 6 by 1000 pixels"},
      {with(10, 20), "has its pixels at byte 20, within the header"},
      {with(10, 0xffffffff), "too few for 6 by 5 pixels from byte 4294967295 on"},
      {with(26, 2 | 24 << 16), "names other than one plane"},
      {with(26, 1 | 8 << 16), "has 8 bits a pixel; 24 and 32 are supported"},
      {with(26, 1 | 16 << 16), "has 16 bits a pixel"},
      {with(30, 1), "is compressed or has masks (method 1)"},
      {with(30, 3), "is compressed or has masks (method 3)"},
  };
  for (const auto& one : cases) {
    for (const By by : all_ways) {
      EXPECT_NE(complaint(settings_for(one.bmp, by)).find(one.says), std::string::npos)
          << one.says << "\nbut: " << complaint(settings_for(one.bmp, by));
    }
  }
}

TEST_F(DisplayTest, no_mutation_of_a_picture_reaches_beyond_its_file) {
  const std::string good = bmp_of(random_image(9, 7, 2), 32, true);
  std::mt19937 random(4);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (int change = 0; change < 4; ++change) text[random() % 54] = static_cast<char>(random());
    if (round % 3 == 0) put(text, 2, static_cast<std::uint32_t>(text.size()));
    if (round % 5 == 0) text.resize(random() % (text.size() + 1));
    Picture picture;
    const auto* const head = reinterpret_cast<const unsigned char*>(text.data());
    const auto count = static_cast<std::int64_t>(std::min<std::size_t>(text.size(), head_bytes));
    if (judge_picture(head, count, text.size(), picture) != PictureFault::none) continue;
    for (const std::uint32_t row : {0u, picture.height - 1}) {
      ASSERT_GE(picture.row_at(row), head_bytes);
      ASSERT_LE(picture.row_at(row) + picture.row_bytes, text.size());
    }
    ASSERT_GE(picture.row_bytes, picture.width * (picture.bits / 8));
  }
}

// A screen as efifb describes it, and one wrong number each.
// Cuts the picture as soon as `screen` is opened for the second time: once to give it its size,
// then to be drawn on.
class Cutter {
 public:
  Cutter(const std::string& picture, const std::string& screen)
      : watched_(::inotify_init1(IN_CLOEXEC)), thread_([this, picture] { run(picture); }) {
    ::inotify_add_watch(watched_.number(), screen.c_str(), IN_OPEN | IN_DELETE_SELF);
  }
  // Expects that the screen was removed, or opened twice.
  ~Cutter() { thread_.join(); }

 private:
  void run(const std::string& picture) {
    for (int opened = 0; opened < 2;) {
      std::array<std::byte, 4096> events{};
      const ssize_t bytes = ::read(watched_.number(), events.data(), events.size());
      for (ssize_t at = 0; at < bytes;) {
        inotify_event event{};
        std::memcpy(&event, events.data() + at, sizeof(event));
        at += static_cast<ssize_t>(sizeof(event) + event.len);
        if ((event.mask & IN_OPEN) == 0) return;
        ++opened;
      }
    }
    [[maybe_unused]] const int cut = ::truncate(picture.c_str(), 4096);
  }

  Descriptor watched_;
  std::thread thread_;
};

// The picture may be drawn before it is cut, or cut before it is judged: then once more.
TEST_F(DisplayTest, a_picture_that_becomes_shorter_while_it_is_drawn_is_told) {
  const std::string bmp = bmp_of(random_image(1'500, 1'500, 3), 32, false);
  const auto show_cut = [&](By by) {
    Settings settings = settings_for(bmp, by);
    settings.geometry = Geometry{1'500, 1'500, 32};
    write("screen", "");
    const Cutter cutter(settings.picture, settings.screen);
    const auto shown = show(settings, apps::small_device(2), [](const Display&) {});
    ::unlink(settings.screen.c_str());
    return shown ? std::string() : shown.error().message;
  };
  for (const By by : {By::map, By::threads, By::serial}) {
    EXPECT_EXIT(while (true) show_cut(by), testing::ExitedWithCode(1),
                "k2k-display: .*picture.bmp or .*screen became shorter while it was drawn");
  }
  std::string message;
  do {
    message = show_cut(By::write);
  } while (message.find("became shorter while it was read") == std::string::npos);
}

TEST(TerminalGuards, guard_consoles_alone) {
  const TerminalGuard none("/dev/null");
  EXPECT_EQ(none.child(), 0);
  TerminalGuard missing("/dev/no/such/terminal");
  EXPECT_EQ(missing.child(), 0);
  missing.release();
}

TEST(Screens, of_other_forms_are_refused) {
  abi::Variable good{};
  good.width = good.virtual_width = 64;
  good.height = good.virtual_height = 48;
  good.bits_per_pixel = 32;
  good.red = {16, 8, 0};
  good.green = {8, 8, 0};
  good.blue = {0, 8, 0};
  abi::Fixed memory{};
  memory.line_bytes = 256;
  memory.memory_bytes = 256 * 48;
  memory.visual = abi::true_colour;
  const auto judge = [&](const auto& change) {
    abi::Variable variable = good;
    abi::Fixed fixed = memory;
    change(variable, fixed);
    Screen screen;
    return judge_screen(fixed, variable, screen);
  };
  using Variable = abi::Variable;
  using Fixed = abi::Fixed;
  EXPECT_EQ(judge([](Variable&, Fixed&) {}), ScreenFault::none);
  EXPECT_EQ(judge([](Variable& v, Fixed&) { v.width = 0; }), ScreenFault::sides);
  EXPECT_EQ(judge([](Variable& v, Fixed&) { v.height = 1u << 20; }), ScreenFault::sides);
  EXPECT_EQ(judge([](Variable&, Fixed& f) { f.visual = 3; }), ScreenFault::no_colours);
  EXPECT_EQ(judge([](Variable&, Fixed& f) { f.type = 1; }), ScreenFault::no_colours);
  EXPECT_EQ(judge([](Variable& v, Fixed&) { v.grayscale = 1; }), ScreenFault::no_colours);
  EXPECT_EQ(judge([](Variable& v, Fixed&) { v.bits_per_pixel = 8; }), ScreenFault::depth);
  EXPECT_EQ(judge([](Variable& v, Fixed&) { v.bits_per_pixel = 30; }), ScreenFault::depth);
  EXPECT_EQ(judge([](Variable& v, Fixed&) { v.red.offset = 25; }), ScreenFault::channels);
  EXPECT_EQ(judge([](Variable& v, Fixed&) { v.blue.length = 0; }), ScreenFault::channels);
  EXPECT_EQ(judge([](Variable& v, Fixed&) { v.blue.length = 0xffffffff; }), ScreenFault::channels);
  EXPECT_EQ(judge([](Variable& v, Fixed&) { v.green.most_significant_right = 1; }),
            ScreenFault::channels);
  EXPECT_EQ(judge([](Variable&, Fixed& f) { f.line_bytes = 255; }), ScreenFault::line);
  EXPECT_EQ(judge([](Variable& v, Fixed&) { v.x_offset = 1; }), ScreenFault::line);
  EXPECT_EQ(judge([](Variable&, Fixed& f) { f.memory_bytes -= 1; }), ScreenFault::memory);
  EXPECT_EQ(judge([](Variable& v, Fixed&) { v.y_offset = 1; }), ScreenFault::memory);
}

TEST_F(DisplayTest, tells_what_is_no_framebuffer) {
  const std::string bmp = bmp_of(random_image(6, 5, 1), 24, false);
  for (const By by : all_ways) {
    Settings settings = settings_for(bmp, by);
    settings.geometry.reset();
    settings.screen = path("none");
    EXPECT_NE(complaint(settings).find("Linux has no framebuffer here: load a driver"),
              std::string::npos)
        << complaint(settings);
    settings.screen = settings.picture;
    EXPECT_NE(complaint(settings).find("FBIOGET_VSCREENINFO: Inappropriate ioctl for device; it is "
                                       "no framebuffer"),
              std::string::npos)
        << complaint(settings);
    settings.screen = "/dev/null";
    settings.geometry = Geometry{4, 4, 32};
    EXPECT_NE(complaint(settings).find("/dev/null is no plain file"), std::string::npos);
    settings.screen = path("missing/screen");
    EXPECT_NE(complaint(settings).find("No such file"), std::string::npos);
    settings.screen = path("screen");
    settings.terminal = "/dev/null";
    EXPECT_NE(complaint(settings).find("KDGETMODE"), std::string::npos) << complaint(settings);
    settings.terminal.clear();
    settings.picture = folder_.path();
    EXPECT_NE(complaint(settings).find("is no file; name a BMP file"), std::string::npos);
    settings.picture = path("none.bmp");
    EXPECT_NE(complaint(settings).find("none.bmp: open: No such file"), std::string::npos);
    ASSERT_TRUE(::mkfifo(path("fifo").c_str(), 0600) == 0 || errno == EEXIST);
    settings.picture = path("fifo");
    EXPECT_NE(complaint(settings).find("is no file"), std::string::npos) << "and does not wait";
  }
}

TEST_F(DisplayTest, leaves_no_descriptor_and_no_mapping_behind) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const std::string good = bmp_of(random_image(6, 5, 1), 24, false);
  for (const std::string& bmp : {good, good.substr(0, 100)}) {
    for (const By by : all_ways) {
      const Settings settings = settings_for(bmp, by);
      static_cast<void>(show(settings, apps::small_device(2), [](const Display&) {}));
      const auto before = descriptors();
      static_cast<void>(show(settings, apps::small_device(2), [](const Display&) {}));
      EXPECT_EQ(descriptors(), before);
      std::ifstream maps("/proc/self/maps");
      const std::string text{std::istreambuf_iterator<char>(maps), {}};
      EXPECT_EQ(text.find("picture.bmp"), std::string::npos);
    }
  }
}

TEST(Geometries, are_read_and_refused) {
  const auto right = geometry_of("640x480x16");
  ASSERT_TRUE(right);
  EXPECT_EQ(right->width, 640u);
  EXPECT_EQ(right->height, 480u);
  EXPECT_EQ(right->bits, 16u);
  for (const char* wrong : {"", "640", "640x480", "640x480x", "640x480x8", "0x480x32", "640x0x32",
                            "640x480x32x", "x640x480x32", "-1x480x32", "40000x1x32", "1x40000x32",
                            "99999999999x1x32", "640 x480x32"}) {
    EXPECT_FALSE(geometry_of(wrong)) << wrong;
  }
}

// A pseudo-terminal, and where there is one that may be opened, a block device.
TEST_F(DisplayTest, a_kernel_gets_the_answers_that_the_host_gets) {
  const Descriptor master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master.open() || ::grantpt(master.number()) != 0 || ::unlockpt(master.number()) != 0) {
    GTEST_SKIP() << "no terminal here";
  }
  const winsize size{31, 97, 5, 6};
  ASSERT_EQ(::ioctl(master.number(), TIOCSWINSZ, &size), 0);
  std::vector<std::string> paths = {::ptsname(master.number()), write("plain", "x"),
                                    path("missing")};
  std::string block;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/block")) {
    const std::string device = "/dev/" + entry.path().filename().string();
    if (Descriptor(::open(device.c_str(), O_RDONLY | O_CLOEXEC)).open()) block = device;
  }
  if (!block.empty()) paths.push_back(block);
  const auto facts = query(paths, apps::small_device(2));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_GE((*facts)[0].opened, 0);
  EXPECT_EQ((*facts)[0].replies[0], 0);
  EXPECT_EQ((*facts)[0].window.rows, 31);
  EXPECT_EQ((*facts)[0].window.columns, 97);
  EXPECT_EQ((*facts)[1].replies[0], -ENOTTY);
  EXPECT_EQ((*facts)[1].replies[1], -ENOTTY);
  EXPECT_EQ((*facts)[2].opened, -ENOENT);
  if (block.empty()) return;
  const Descriptor device(::open(block.c_str(), O_RDONLY | O_CLOEXEC));
  std::uint64_t bytes = 0;
  int sector = 0;
  ASSERT_EQ(::ioctl(device.number(), BLKGETSIZE64, &bytes), 0);
  ASSERT_EQ(::ioctl(device.number(), BLKSSZGET, &sector), 0);
  EXPECT_EQ((*facts)[3].bytes, bytes);
  EXPECT_EQ((*facts)[3].sector, sector);
  EXPECT_EQ((*facts)[3].replies[2], 0);
}

}  // namespace
}  // namespace k2k::display
