package up

import "syscall"

// apartFromParent gives a process a group of its own, so that Ctrl-C reaches only the
// parent, which ends nodes in order. If the parent dies, the kernel kills the process.
func apartFromParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
