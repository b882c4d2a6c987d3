//go:build !unix

package cputime

import "time"

var began = time.Now()

// Used is the time that has passed, where processor time is not known.
func Used() time.Duration { return time.Since(began) }
