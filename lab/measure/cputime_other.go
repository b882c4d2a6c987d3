//go:build !unix

package measure

import "time"

var began = time.Now()

// CPUTime is the time since the start, where processor time is not known.
func CPUTime() time.Duration { return time.Since(began) }
