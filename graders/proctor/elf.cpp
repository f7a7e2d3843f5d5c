#include "elf.hpp"

#include <elf.h>

#include "sys.hpp"

namespace elf {
namespace {

#if defined(__x86_64__)
constexpr unsigned machine = EM_X86_64;
constexpr const char* glibc_loader = "/lib64/ld-linux-x86-64.so.2";
constexpr const char* musl_loader = "/lib/ld-musl-x86_64.so.1";
#elif defined(__aarch64__)
constexpr unsigned machine = EM_AARCH64;
constexpr const char* glibc_loader = "/lib/ld-linux-aarch64.so.1";
constexpr const char* musl_loader = "/lib/ld-musl-aarch64.so.1";
#endif

// The loader that compilers use here. A program that names a different libc's loader cannot be started.
#ifdef __GLIBC__
constexpr const char* standard_loader = glibc_loader;
#else
constexpr const char* standard_loader = musl_loader;
#endif

// Reads a structure at an offset of the program file. Returns false if the file is too short.
template <class Structure>
bool read_structure_at(int program_fd, uint64_t offset, Structure& structure) {
  return pread(program_fd, &structure, sizeof structure, static_cast<off_t>(offset)) ==
      static_cast<ssize_t>(sizeof structure);
}

// Returns whether a path is the ELF interpreter that compilers name in programs.
bool is_standard_loader(const std::string& path) {
  return path == std::string(standard_loader, std::strlen(standard_loader) + 1);
}

// Returns whether the program names an ELF interpreter other than the standard loader.
bool has_nonstandard_loader(int program_fd, const Elf64_Ehdr& header) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_structure_at(program_fd, header.e_phoff + i * sizeof segment, segment)) return false;
    if (segment.p_type != PT_INTERP) continue;
    char path[64];
    const ssize_t length = pread(program_fd, path, sizeof path, static_cast<off_t>(segment.p_offset));
    return length < 0 || segment.p_filesz > static_cast<uint64_t>(length) ||
        !is_standard_loader(std::string(path, segment.p_filesz));
  }
  return false;
}

}  // namespace

bool is_invalid_program(int program_fd, int error) {
  Elf64_Ehdr header;
  if (!read_structure_at(program_fd, 0, header)) return false;
  // No compiler writes such a file, so it was damaged.
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  return header.e_machine == machine && (error == ENOEXEC || has_nonstandard_loader(program_fd, header));
}

}  // namespace elf
