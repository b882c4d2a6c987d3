//go:build !unix

package serve

import "github.com/troupe-engine/troupe/cmd/troupe/node"

// canExecute: there is no way to replace the program of a process.
const canExecute = false

func execute() error { return node.ErrRestart }
