#pragma once
// The Linux ABI that the kernels of k2k-display use, as in <linux/fb.h>, <linux/kd.h>, <linux/fs.h>
// and <sys/stat.h>: device code includes no system header. display_test.cpp compares.
//
// C++17, freestanding, constant.

#include <cstdint>

namespace k2k::display::abi {

inline constexpr int o_rdonly = 0;
inline constexpr int o_rdwr = 2;
inline constexpr int o_noctty = 0400;
inline constexpr int o_nonblock = 04000;  // A FIFO is opened at once, and then refused.
inline constexpr int o_cloexec = 02000000;

inline constexpr int prot_read = 1;
inline constexpr int prot_write = 2;
inline constexpr int map_shared = 1;
inline constexpr int map_private = 2;

inline constexpr std::uint32_t mode_type = 0170000;
inline constexpr std::uint32_t mode_character = 0020000;
inline constexpr std::uint32_t mode_block = 0060000;
inline constexpr std::uint32_t mode_regular = 0100000;

// struct stat of x86-64.
struct Stat {
  std::uint64_t device;
  std::uint64_t inode;
  std::uint64_t links;
  std::uint32_t mode;
  std::uint32_t unused[5];
  std::int64_t size;
  std::uint64_t rest[11];
};
static_assert(sizeof(Stat) == 144);

// struct fb_bitfield
struct BitField {
  std::uint32_t offset;
  std::uint32_t length;
  std::uint32_t most_significant_right;
};

// struct fb_var_screeninfo
struct Variable {
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t virtual_width;
  std::uint32_t virtual_height;
  std::uint32_t x_offset;
  std::uint32_t y_offset;
  std::uint32_t bits_per_pixel;
  std::uint32_t grayscale;  // 1: shades of gray; above: a FourCC.
  BitField red;
  BitField green;
  BitField blue;
  BitField transparent;
  std::uint32_t nonstandard;
  std::uint32_t activate;  // 0: at once.
  std::uint32_t rest[18];
};
static_assert(sizeof(Variable) == 160);

// struct fb_fix_screeninfo
struct Fixed {
  char driver[16];
  std::uint64_t memory_start;
  std::uint32_t memory_bytes;
  std::uint32_t type;
  std::uint32_t auxiliary_type;
  std::uint32_t visual;
  std::uint16_t x_pan_step;
  std::uint16_t y_pan_step;
  std::uint16_t y_wrap_step;
  std::uint32_t line_bytes;
  std::uint64_t registers_start;
  std::uint32_t registers_bytes;
  std::uint32_t accelerator;
  std::uint16_t capabilities;
  std::uint16_t reserved[2];
};
static_assert(sizeof(Fixed) == 80);

inline constexpr std::uint32_t packed_pixels = 0;  // FB_TYPE_PACKED_PIXELS
inline constexpr std::uint32_t true_colour = 2;    // FB_VISUAL_TRUECOLOR

// struct winsize
struct WindowSize {
  std::uint16_t rows;
  std::uint16_t columns;
  std::uint16_t width;
  std::uint16_t height;
};

inline constexpr unsigned long get_variable = 0x4600;     // FBIOGET_VSCREENINFO
inline constexpr unsigned long put_variable = 0x4601;     // FBIOPUT_VSCREENINFO
inline constexpr unsigned long get_fixed = 0x4602;        // FBIOGET_FSCREENINFO
inline constexpr unsigned long pan_display = 0x4606;      // FBIOPAN_DISPLAY
inline constexpr unsigned long set_mode = 0x4b3a;         // KDSETMODE
inline constexpr unsigned long get_mode = 0x4b3b;         // KDGETMODE
inline constexpr std::uint64_t mode_graphics = 1;         // KD_GRAPHICS
inline constexpr unsigned long get_window_size = 0x5413;  // TIOCGWINSZ
inline constexpr unsigned long get_bytes = 0x80081272;    // BLKGETSIZE64
inline constexpr unsigned long get_sector = 0x1268;       // BLKSSZGET
inline constexpr unsigned long get_read_only = 0x125e;    // BLKROGET

}  // namespace k2k::display::abi
