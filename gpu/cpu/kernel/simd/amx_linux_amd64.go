package simd

import "golang.org/x/sys/unix"

// Linux saves tiles only of processes that asked for it, all of whose threads
// then may use them (Documentation/arch/x86/xstate.rst).
const (
	archReqXcompPerm = 0x1023
	xfeatureTileData = 18
)

// tilesAllowed: the system has given its leave. Where there is no AMX it
// refuses.
var tilesAllowed = func() bool {
	_, _, err := unix.RawSyscall(unix.SYS_ARCH_PRCTL, archReqXcompPerm, xfeatureTileData, 0)
	return err == 0
}()
