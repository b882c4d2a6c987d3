// image.cc: what a kernel file declares: PTX text, cubin (ELF), fatbin.
//
// Nothing of it runs. Entry names and the sizes of parameters are compared with
// the C++ signatures of the emulation, so that a stale file is found.
#include "driver.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

namespace fake {
namespace {

bool starts(const std::string &s, size_t at, const char *with) { return s.compare(at, strlen(with), with) == 0; }

// without_comments replaces comments by spaces.
std::string without_comments(const char *text) {
  std::string s = text;
  for (size_t i = 0; i < s.size(); i++) {
    size_t end;
    if (starts(s, i, "//"))
      end = s.find('\n', i);
    else if (starts(s, i, "/*"))
      end = s.find("*/", i) == std::string::npos ? s.size() : s.find("*/", i) + 2;
    else
      continue;
    if (end == std::string::npos) end = s.size();
    for (; i < end; i++)
      if (s[i] != '\n') s[i] = ' ';
  }
  return s;
}

std::string word_after(const std::string &s, size_t at) {
  while (at < s.size() && isspace((unsigned char)s[at])) at++;
  size_t end = at;
  while (end < s.size() && !isspace((unsigned char)s[end]) && !strchr("(){},;", s[end])) end++;
  return s.substr(at, end - at);
}

// parameter_bytes reads one ".param .u64 name" or ".param .align 8 .b8 name[16]".
int parameter_bytes(const std::string &p) {
  int bytes = 0;
  for (size_t i = 0; i < p.size(); i++)
    if (p[i] == '.' && i + 2 < p.size() && strchr("usbf", p[i + 1]) && isdigit((unsigned char)p[i + 2])) {
      bytes = atoi(p.c_str() + i + 2) / 8;
      break;
    }
  size_t array = p.find('[');
  return array == std::string::npos ? bytes : bytes * atoi(p.c_str() + array + 1);
}

CUresult read_ptx(const char *text, int architecture, int driver_version, Image &out, std::string &why) {
  std::string s = without_comments(text);
  size_t v = s.find(".version"), t = s.find(".target");
  if (v == std::string::npos || t == std::string::npos) {
    why = "neither a cubin nor PTX: it has no .version or .target";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  std::string version = word_after(s, v + 8), target = word_after(s, t + 7);
  // PTX 8.n came with CUDA 12.n, 7.n with 11.n.
  int major = atoi(version.c_str()), minor = version.find('.') == std::string::npos ? 0 : atoi(version.c_str() + version.find('.') + 1);
  if ((major + 4) * 1000 + minor * 10 > driver_version) {
    why = "PTX " + version + " is newer than the driver";
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  if (!starts(target, 0, "sm_")) return CUDA_ERROR_INVALID_PTX;
  out.architecture = atoi(target.c_str() + 3);
  bool exact = target.back() == 'a';
  if (exact ? out.architecture != architecture : out.architecture > architecture) {
    why = "PTX for " + target;
    return CUDA_ERROR_INVALID_PTX;
  }
  for (size_t at = 0; (at = s.find(".entry", at)) != std::string::npos;) {
    at += 6;
    Image::Kernel k;
    k.name = word_after(s, at);
    size_t open = s.find('(', at), body = s.find('{', at);
    if (body == std::string::npos) return CUDA_ERROR_INVALID_PTX;
    k.sizes_known = true;
    size_t close = at;
    if (open != std::string::npos && open < body) {
      close = s.find(')', open);
      if (close == std::string::npos) return CUDA_ERROR_INVALID_PTX;
      std::string list = s.substr(open + 1, close - open - 1);
      for (size_t p = 0; (p = list.find(".param", p)) != std::string::npos;) {
        p += 6;
        k.sizes.push_back(parameter_bytes(list.substr(p, list.find(',', p) - p)));
      }
    }
    std::string hints = s.substr(close, body - close);
    for (const char *name : {".maxntid", ".reqntid"})
      if (hints.find(name) != std::string::npos) k.max_threads = atoi(word_after(hints, hints.find(name) + 8).c_str());
    k.registers = 32;
    out.kernels.push_back(k);
    at = body;
  }
  return CUDA_SUCCESS;
}

// Cubins: the ELF file's machine is 190; the flags' low byte is the architecture;
// entries are functions with STO_CUDA_ENTRY; .nv.info.NAME has their parameters.
constexpr int machine_cuda = 190, entry_flag = 0x10, parameter_record = 0x17, threads_record = 0x05, registers_record = 0x2f;
constexpr int reserved_shared = 1024; // of each block, from sm_90 on

struct Elf {
  const unsigned char *base;
  const Elf64_Ehdr *head;
  const Elf64_Shdr *section(int i) const { return (const Elf64_Shdr *)(base + head->e_shoff) + i; }
  const char *name(int i) const { return (const char *)base + section(head->e_shstrndx)->sh_offset + section(i)->sh_name; }
  int find(const std::string &n) const {
    for (int i = 0; i < head->e_shnum; i++)
      if (n == name(i)) return i;
    return -1;
  }
};

// each_record calls f(what, value, bytes) for the records of a section of information that have a value of their own.
// It reports whether the section is there.
template <class F>
bool each_record(const Elf &e, const std::string &section, F f) {
  int at = e.find(section);
  if (at < 0) return false;
  const Elf64_Shdr *s = e.section(at);
  const unsigned char *p = e.base + s->sh_offset, *end = p + s->sh_size;
  while (p + 4 <= end) {
    int format = p[0], what = p[1];
    uint16_t n;
    memcpy(&n, p + 2, 2);
    p += 4;
    if (format != 4) continue; // the value is in those four bytes
    if (p + n > end) break;
    f(what, p, n);
    p += n;
  }
  return true;
}

void read_info(const Elf &e, Image::Kernel &k) {
  k.sizes_known = each_record(e, ".nv.info." + k.name, [&](int what, const unsigned char *p, int n) {
    if (what == parameter_record && n >= 12) {
      uint16_t ordinal;
      uint32_t packed;
      memcpy(&ordinal, p + 4, 2);
      memcpy(&packed, p + 8, 4);
      if (k.sizes.size() <= ordinal) k.sizes.resize(ordinal + 1u);
      k.sizes[ordinal] = (int)(packed >> 18);
    }
    if (what == threads_record && n >= 4) {
      uint32_t t;
      memcpy(&t, p, 4);
      k.max_threads = (int)t;
    }
  });
}

// registers_of looks up the registers of the function with a symbol's index; 0: unknown.
int registers_of(const Elf &e, uint32_t symbol) {
  int registers = 0;
  each_record(e, ".nv.info", [&](int what, const unsigned char *p, int n) {
    uint32_t pair[2];
    if (what != registers_record || n < 8) return;
    memcpy(pair, p, 8);
    if (pair[0] == symbol && !registers) registers = (int)pair[1];
  });
  return registers;
}

CUresult read_cubin(const void *image, int architecture, Image &out, std::string &why) {
  Elf e{(const unsigned char *)image, (const Elf64_Ehdr *)image};
  if (e.head->e_ident[EI_CLASS] != ELFCLASS64 || e.head->e_machine != machine_cuda) {
    why = "an ELF file, but not a cubin";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  int low = (int)(e.head->e_flags & 255), high = (int)(e.head->e_flags >> 8 & 255);
  out.architecture = low >= 50 ? low : high;
  bool exact = e.find(".nv.compat") >= 0 ? false : e.head->e_flags >> 11 & 1;
  if (out.architecture / 10 != architecture / 10 || out.architecture > architecture || (exact && out.architecture != architecture)) {
    why = "a cubin for sm_" + std::to_string(out.architecture);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  int symbols = e.find(".symtab");
  if (symbols < 0) return CUDA_ERROR_INVALID_IMAGE;
  const Elf64_Shdr *s = e.section(symbols);
  const char *strings = (const char *)e.base + e.section((int)s->sh_link)->sh_offset;
  for (size_t i = 0; i < s->sh_size / sizeof(Elf64_Sym); i++) {
    const Elf64_Sym &y = ((const Elf64_Sym *)(e.base + s->sh_offset))[i];
    if (ELF64_ST_TYPE(y.st_info) != STT_FUNC || !(y.st_other & entry_flag)) continue;
    Image::Kernel k;
    k.name = strings + y.st_name;
    read_info(e, k);
    int code = e.find(".text." + k.name), shared = e.find(".nv.shared." + k.name);
    k.registers = registers_of(e, (uint32_t)i);
    if (!k.registers && code >= 0) k.registers = (int)(e.section(code)->sh_info >> 24);
    if (shared >= 0) k.shared = (int)e.section(shared)->sh_size;
    if (out.architecture >= 90 && k.shared >= reserved_shared) k.shared -= reserved_shared;
    out.kernels.push_back(k);
  }
  return CUDA_SUCCESS;
}

// Fatbins: a header, then entries of kind 1 (PTX) or 2 (ELF) with their length.
struct FatHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;
};
struct FatEntry {
  uint16_t kind, attributes;
  uint32_t header_bytes;
  uint64_t bytes;
  uint32_t compressed_bytes, unknown;
  uint16_t minor, major;
  uint32_t architecture, name_at, name_bytes;
  uint64_t flags;
};
constexpr uint32_t fat_magic = 0xba55ed50, fat_wrapper = 0x466243b1;
constexpr uint64_t fat_compressed = 0x2000;

CUresult read_fatbin(const unsigned char *p, int architecture, int driver_version, Image &out, std::string &why) {
  const FatHeader *h = (const FatHeader *)p;
  const unsigned char *end = p + h->header_bytes + h->bytes;
  bool compressed = false;
  for (int kind : {2, 1}) // code first, then PTX
    for (const unsigned char *q = p + h->header_bytes; q + sizeof(FatEntry) <= end;) {
      const FatEntry *e = (const FatEntry *)q;
      const unsigned char *data = q + e->header_bytes;
      q = data + e->bytes;
      compressed |= (e->flags & fat_compressed) != 0;
      if (e->kind != kind || (e->flags & fat_compressed)) continue;
      Image i;
      CUresult r = kind == 2 ? read_cubin(data, architecture, i, why)
                             : read_ptx(std::string((const char *)data, e->bytes).c_str(), architecture, driver_version, i, why);
      if (r == CUDA_SUCCESS) {
        out = i;
        return r;
      }
    }
  if (compressed) why = "the fatbin is compressed, which the fake driver cannot read (fatbinary --compress=false)";
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

} // namespace

CUresult read_image(const void *image, int architecture, int driver_version, Image &out, std::string &why) {
  uint32_t magic;
  memcpy(&magic, image, 4);
  if (!memcmp(image, ELFMAG, SELFMAG)) return read_cubin(image, architecture, out, why);
  if (magic == fat_magic) return read_fatbin((const unsigned char *)image, architecture, driver_version, out, why);
  if (magic == fat_wrapper) return read_fatbin(*(const unsigned char *const *)((const char *)image + 8), architecture, driver_version, out, why);
  if (!strncmp((const char *)image, "// emulation", 12)) {
    out.any = true;
    out.architecture = architecture;
    return CUDA_SUCCESS;
  }
  return read_ptx((const char *)image, architecture, driver_version, out, why);
}

} // namespace fake
