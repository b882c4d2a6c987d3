//go:build !linux

package clustertest

import (
	"errors"
	"os"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return nil }

var errLinux = errors.New("processes can be paused on Linux only")

func pause(*os.Process) error       { return errLinux }
func unpause(*os.Process) error     { return errLinux }
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }
