//go:build unix && !linux

package up

import "syscall"

// apartFromParent gives a process a group of its own, so that Ctrl-C reaches only the
// parent, which ends nodes in order.
func apartFromParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
