// tensor.cc: tensor maps. What a real driver refuses is refused (CUDA driver API:
// cuTensorMapEncodeTiled).
#include "driver.h"
#include "tma.h"

#include <string.h>

using namespace fake;

API cuTensorMapEncodeTiled(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *sizes,
                           const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *element_strides,
                           CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  CALL("cuTensorMapEncodeTiled", Call::initialised);
  if (driver().settings.architecture < 90) return CUDA_ERROR_NOT_SUPPORTED;
  // By number: UINT8, UINT16, UINT32, INT32, UINT64, INT64, FLOAT16, FLOAT32, FLOAT64, BFLOAT16.
  static const uint32_t bytes_of[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
  if ((unsigned)type > 9 || rank < 1 || rank > 5 || interleave || (unsigned)swizzle > 3) return CUDA_ERROR_INVALID_VALUE;
  if (!out || (uintptr_t)out % 64 || !address || (uintptr_t)address % 16 || !sizes || !box || !element_strides) return CUDA_ERROR_INVALID_VALUE;
  emu::Tiles t{};
  t.mark = emu::tensor_mark;
  t.base = (const unsigned char *)address;
  t.rank = rank;
  t.element = bytes_of[type];
  t.swizzle = swizzle ? 16u << swizzle : 0;
  t.fill = fill != 0;
  for (cuuint32_t i = 0; i < rank; i++) {
    if (!sizes[i] || sizes[i] > (1ull << 32) || !box[i] || box[i] > 256 || element_strides[i] != 1) return CUDA_ERROR_INVALID_VALUE;
    t.size[i] = sizes[i];
    t.box[i] = box[i];
    if (!i) continue;
    if (strides[i - 1] % 16 || strides[i - 1] >= (1ull << 40)) return CUDA_ERROR_INVALID_VALUE;
    t.stride[i - 1] = (uint32_t)(strides[i - 1] / 16);
  }
  uint64_t inner = (uint64_t)box[0] * t.element;
  if (inner % 16 || (t.swizzle && inner > t.swizzle)) return CUDA_ERROR_INVALID_VALUE;
  memset(out, 0, 128);
  memcpy(out, &t, sizeof t);
  return CUDA_SUCCESS;
}
