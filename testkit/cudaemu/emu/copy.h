// copy.h: cp.async, the copy from global to shared memory by one thread.
//
// Copies of a thread belong to the group that its next commit closes. They
// happen when a wait asks for their group, the last moment that is allowed; a
// missing or too weak wait therefore reads what was there before. Source and
// target are touched at that moment only. (PTX ISA: cp.async.)
#pragma once

#include "thread.h"

#include <string.h>

namespace emu {
void copy_async(void *shared, const void *global, int bytes, bool valid);
void commit_copies();
void wait_copies(size_t open); // until at most open groups are pending
void finish_copies();          // of committed and open groups
} // namespace emu

// cp_async16 copies 16 bytes, or writes 16 zero bytes and reads nothing if not
// valid. Both addresses must be multiples of the size.
inline void cp_async16(void *shared, const void *global, bool valid = true) { ::emu::copy_async(shared, global, 16, valid); }
inline void cp_async16_cached(void *shared, const void *global, bool valid = true) { cp_async16(shared, global, valid); }
inline void cp_async8(void *shared, const void *global, bool valid = true) { ::emu::copy_async(shared, global, 8, valid); }
inline void cp_async4(void *shared, const void *global, bool valid = true) { ::emu::copy_async(shared, global, 4, valid); }
inline void cp_async_commit() { ::emu::commit_copies(); }
template <int N> inline void cp_async_wait() { ::emu::wait_copies(N); }
inline void cp_async_wait_all() { ::emu::finish_copies(); }
