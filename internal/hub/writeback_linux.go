package hub

import (
	"os"

	"golang.org/x/sys/unix"
)

// writeBack asks the system to begin writing a range of a file to the disk. It does not
// wait, and failures show when the file is synchronised.
func writeBack(file *os.File, from, n int64) {
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_ = unix.SyncFileRange(int(fd), from, n, unix.SYNC_FILE_RANGE_WRITE)
	})
}
