//go:build unix

package serve

import (
	"fmt"
	"os"
	"syscall"
)

// canExecute: the process can execute itself anew.
const canExecute = true

// execute replaces the program of the process by the one that is installed now, with the
// same arguments and environment. It returns only if that is not possible.
func execute() error {
	path, err := os.Executable()
	if err == nil {
		err = syscall.Exec(path, os.Args, os.Environ())
	}
	return fmt.Errorf("cannot restart %s: %w; start it by hand", path, err)
}
