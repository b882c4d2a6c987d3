package simd

import "golang.org/x/sys/unix"

// Linux saves tile registers only for processes that request it; then all their
// threads may use them (Documentation/arch/x86/xstate.rst).
const (
	archReqXcompPerm = 0x1023
	xfeatureTileData = 18
)

// tilesAllowed reports whether the system lets this process use AMX.
var tilesAllowed = func() bool {
	_, _, err := unix.RawSyscall(unix.SYS_ARCH_PRCTL, archReqXcompPerm, xfeatureTileData, 0)
	return err == 0
}()
