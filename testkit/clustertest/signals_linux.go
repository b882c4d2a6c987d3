package clustertest

import (
	"os"
	"syscall"
)

// childAttributes let a process die with the test.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

func pause(p *os.Process) error     { return p.Signal(syscall.SIGSTOP) }
func unpause(p *os.Process) error   { return p.Signal(syscall.SIGCONT) }
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
