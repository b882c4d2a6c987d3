//go:build !unix

package engine

import "time"

var began = time.Now()

// ownTime is the time that has passed, where processor time is not known.
func ownTime() time.Duration { return time.Since(began) }
