package up

import "syscall"

// apartFromParent gives a process a group of its own, so that Ctrl-C reaches only the
// parent, which ends nodes in order.
func apartFromParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
