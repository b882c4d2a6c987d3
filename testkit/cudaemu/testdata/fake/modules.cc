// Images, functions, launches, tensor maps.
#include "device.h"

#include <elf.h>

static std::string ptx(const char *version, const char *target, const char *entries) {
  return std::string("// a comment with .entry nothing(\n.version ") + version + "\n.target " + target + "\n.address_size 64\n" + entries;
}
static const char *const good =
    ".visible .entry add(\n\t.param .u64 .ptr .align 1 add_0,\n\t.param .u64 add_1,\n\t.param .u32 add_2,\n\t.param .u32 add_3\n)\n.maxntid 256, 1, 1\n{\n\tret;\n}\n"
    ".visible .entry sixty_four(.param .u64 a, .param .f32 b, .param .u8 c, .param .u64 d, .param .align 2 .b8 e[2]) { ret; }\n"
    ".visible .entry unknown(.param .u64 a) { ret; }\n";

static CUresult load(const std::string &image) {
  CUmodule m;
  CUresult r = cuModuleLoadData(&m, image.c_str());
  if (!r) must(cuModuleUnload(m));
  return r;
}

TEST(ptx) {
  Opened d;
  CUmodule m;
  CUfunction f;
  must(cuModuleLoadData(&m, ptx("8.0", "sm_80", good).c_str()));
  must(cuModuleGetFunction(&f, m, "add"));
  int v;
  must(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
  if (v != 256) wrong("%d threads", v);
  must(cuModuleGetFunction(&f, m, "sixty_four"));
  size_t offset, size;
  const size_t want[5][2] = {{0, 8}, {8, 4}, {12, 1}, {16, 8}, {24, 2}};
  for (size_t i = 0; i < 5; i++) {
    must(cuFuncGetParamInfo(f, i, &offset, &size));
    if (offset != want[i][0] || size != want[i][1]) wrong("parameter %zu: %zu bytes at %zu", i, size, offset);
  }
  returns(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(f, 5, &offset, &size));
  returns(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, m, "unknown"));  // not in the emulation
  returns(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, m, "twice"));    // not in the image
  must(cuModuleUnload(m));
  must(cuModuleLoadData(&m, ptx("8.4", "sm_90a", ".entry twice(.param .u32 p) {}\n.entry thrice(.param .u64 p, .param .u64 q) {}").c_str()));
  returns(CUDA_ERROR_INVALID_PTX, cuModuleGetFunction(&f, m, "twice"));  // another size
  returns(CUDA_ERROR_INVALID_PTX, cuModuleGetFunction(&f, m, "thrice")); // another number
  must(cuModuleUnload(m));
  returns(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, load(ptx("8.5", "sm_80", good)));
  returns(CUDA_ERROR_INVALID_PTX, load(ptx("8.0", "sm_100", good)));
  returns(CUDA_ERROR_INVALID_IMAGE, load("nothing"));
  troupe_fake_set("arch=8.9");
  returns(CUDA_ERROR_INVALID_PTX, load(ptx("8.0", "sm_90a", good)));
  must(load(ptx("8.0", "sm_80", good)));
  troupe_fake_set("version=12000");
  returns(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, load(ptx("8.1", "sm_80", good)));
  troupe_fake_set("arch=9.0;version=12040");
}

// cubin makes an ELF file as ptxas does, with one kernel of parameters of the given
// sizes.
static std::string cubin(unsigned flags, const char *name, std::vector<uint32_t> sizes, bool entry = true) {
  std::string info, strings("\0", 1), symbol_names("\0", 1);
  for (size_t i = 0; i < sizes.size(); i++) {
    unsigned char record[16] = {4, 0x17, 12, 0, 0, 0, 0, 0, (unsigned char)i, 0, 0, 0};
    uint32_t packed = sizes[i] << 18 | 0x1f000;
    memcpy(record + 12, &packed, 4);
    info.append((char *)record, 16);
  }
  struct Part {
    std::string name, data;
    uint32_t type, link, extra;
  };
  Elf64_Sym symbols[2] = {};
  symbols[1].st_name = 1;
  symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbols[1].st_other = entry ? 0x10 : 0;
  symbol_names += std::string(name) + '\0';
  std::vector<Part> parts = {{"", "", SHT_NULL, 0, 0},
                             {".shstrtab", "", SHT_STRTAB, 0, 0},
                             {".strtab", symbol_names, SHT_STRTAB, 0, 0},
                             {".symtab", std::string((char *)symbols, sizeof symbols), SHT_SYMTAB, 2, 0},
                             {std::string(".nv.info.") + name, info, SHT_PROGBITS, 0, 0},
                             {std::string(".text.") + name, "code", SHT_PROGBITS, 0, 40u << 24},
                             {std::string(".nv.shared.") + name, std::string(1536, 0), SHT_NOBITS, 0, 0}};
  for (auto &p : parts)
    if (!p.name.empty()) strings += p.name + '\0';
  parts[1].data = strings;
  Elf64_Ehdr head{};
  memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_machine = 190;
  head.e_flags = flags;
  head.e_shnum = (uint16_t)parts.size();
  head.e_shstrndx = 1;
  std::string body;
  std::vector<Elf64_Shdr> table;
  size_t at = 1;
  for (auto &p : parts) {
    Elf64_Shdr s{};
    s.sh_name = p.name.empty() ? 0 : (uint32_t)at;
    at += p.name.size() + (p.name.empty() ? 0 : 1);
    s.sh_type = p.type;
    s.sh_offset = sizeof head + body.size();
    s.sh_size = p.data.size();
    s.sh_link = p.link;
    s.sh_info = p.extra;
    body += p.data;
    body.resize((body.size() + 7) / 8 * 8);
    table.push_back(s);
  }
  head.e_shoff = sizeof head + body.size();
  std::string out((char *)&head, sizeof head);
  out += body;
  out.append((char *)table.data(), table.size() * sizeof(Elf64_Shdr));
  return out;
}

TEST(cubins) {
  Opened d;
  CUmodule m;
  CUfunction f;
  std::string image = cubin(0x5a055a, "add", {8, 8, 4, 4});
  must(cuModuleLoadData(&m, image.data()));
  must(cuModuleGetFunction(&f, m, "add"));
  int registers, shared;
  must(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
  must(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
  if (registers != 40 || shared != 512) // without what the system reserves wrong("%d registers, %d bytes", registers, shared);
  returns(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, m, "twice"));
  must(cuModuleUnload(m));
  must(cuModuleLoadData(&m, (image = cubin(0x5a055a, "add", {8, 8, 4})).data()));
  returns(CUDA_ERROR_INVALID_PTX, cuModuleGetFunction(&f, m, "add"));
  must(cuModuleUnload(m));
  must(cuModuleLoadData(&m, (image = cubin(0x5a055a, "add", {8, 8, 4, 4}, false)).data()));
  returns(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, m, "add")); // not an entry
  must(cuModuleUnload(m));
  returns(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&m, (image = cubin(0x500550, "add", {8, 8, 4, 4})).data()));
  troupe_fake_set("arch=8.6");
  must(cuModuleLoadData(&m, image.data())); // 8.0 runs on 8.6
  must(cuModuleUnload(m));
  troupe_fake_set("arch=9.0");
}

TEST(fatbins) {
  Opened d;
  struct {
    uint32_t magic;
    uint16_t version, header;
    uint64_t bytes;
  } head{0xba55ed50, 1, 16, 0};
  auto entry = [](uint16_t kind, const std::string &data) {
    std::string e(64, 0);
    uint32_t header = 64;
    uint64_t bytes = (data.size() + 8) / 8 * 8;
    memcpy(&e[0], &kind, 2);
    memcpy(&e[4], &header, 4);
    memcpy(&e[8], &bytes, 8);
    e += data;
    e.resize(64 + bytes);
    return e;
  };
  auto whole = [&](const std::string &entries) {
    head.bytes = entries.size();
    return std::string((char *)&head, 16) + entries;
  };
  std::string code = entry(2, cubin(0x500550, "add", {8, 8, 4, 4})), text = entry(1, ptx("8.0", "sm_80", good));
  CUmodule m;
  CUfunction f;
  std::string both = whole(code + text);
  must(cuModuleLoadData(&m, both.data())); // the code is for 8.x, so the text is taken
  must(cuModuleGetFunction(&f, m, "sixty_four"));
  must(cuModuleUnload(m));
  std::string only = whole(code);
  returns(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&m, only.data()));
}

TEST(limits_of_launches) {
  Opened d;
  CUdeviceptr p = d.alloc(4);
  returns(CUDA_ERROR_INVALID_VALUE, d.launch(d.stream, "twice", 1025, {p}));
  returns(CUDA_ERROR_INVALID_VALUE, d.launch(d.stream, "twice", 0, {p}));
  returns(CUDA_ERROR_INVALID_VALUE, d.launch(d.stream, "twice", 1, {p}, 0));
  returns(CUDA_ERROR_INVALID_VALUE, d.launch(d.stream, "sixty_four", 128, {p, 0, 0, 0, 0}));
  returns(CUDA_ERROR_INVALID_VALUE, d.launch(d.stream, "needs_shared", 32, {p, 50000}, 1, 50000));
  returns(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(d.function("needs_shared"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449));
  must(cuFuncSetAttribute(d.function("needs_shared"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
  must(d.launch(d.stream, "needs_shared", 32, {p, 232448}, 1, 232448));
  if (d.value(p) != 1) wrong("%d", d.value(p));
  float x = 2.5f;
  uint64_t box = 0;
  memcpy(&box, &x, 4);
  must(d.launch(d.stream, "sixty_four", 64, {p, box, (uint64_t)(uint8_t)-3, 1000, (uint64_t)(uint16_t)-200}));
  if (d.value(p) != 2 - 3 + 1000 - 200) wrong("%d", d.value(p));
  // All parameters in one buffer.
  struct {
    CUdeviceptr out;
    float x;
    int8_t small;
    uint64_t big;
    int16_t shorter;
  } all{p, 4.f, 1, 7, -2};
  size_t bytes = sizeof all;
  void *extra[] = {(void *)1, &all, (void *)2, &bytes, nullptr};
  must(cuLaunchKernel(d.function("sixty_four"), 1, 1, 1, 64, 1, 1, 0, d.stream, nullptr, extra));
  if (d.value(p) != 10) wrong("%d", d.value(p));
  must(cuMemFree(p));
}

TEST(tensor_maps) {
  Opened d;
  CUdeviceptr matrix = d.alloc(32 * 16 * 4), map = d.alloc(128), out = d.alloc(32 * 4);
  std::vector<float> values(32 * 16), got(32);
  for (size_t i = 0; i < values.size(); i++) values[i] = (float)i;
  must(cuMemcpyHtoD(matrix, values.data(), values.size() * 4));
  CUtensorMap m;
  cuuint64_t sizes[2] = {32, 16}, strides[1] = {128};
  cuuint32_t box[2] = {8, 4}, ones[2] = {1, 1};
  auto encode = [&](CUtensorMapSwizzle swizzle) {
    return cuTensorMapEncodeTiled(&m, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)matrix, sizes, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  must(encode(CU_TENSOR_MAP_SWIZZLE_NONE));
  must(cuMemcpyHtoD(map, &m, 128));
  must(d.launch(d.stream, "first_tile", 32, {map, out}, 1, 1024));
  must(cuStreamSynchronize(d.stream));
  must(cuMemcpyDtoH(got.data(), out, 128));
  for (size_t i = 0; i < 32; i++)
    if (got[i] != (float)((2 + i / 8) * 32 + 4 + i % 8)) wrong("%zu: %g", i, (double)got[i]);
  box[0] = 64; // wider than a swizzle of 128 bytes
  returns(CUDA_ERROR_INVALID_VALUE, encode(CU_TENSOR_MAP_SWIZZLE_128B));
  box[0] = 8;
  strides[0] = 120;
  returns(CUDA_ERROR_INVALID_VALUE, encode(CU_TENSOR_MAP_SWIZZLE_NONE));
  troupe_fake_set("arch=8.0");
  returns(CUDA_ERROR_NOT_SUPPORTED, encode(CU_TENSOR_MAP_SWIZZLE_NONE));
  troupe_fake_set("arch=9.0");
  for (CUdeviceptr p : {matrix, map, out}) must(cuMemFree(p));
}
