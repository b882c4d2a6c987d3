//go:build !linux

package store

import "time"

// lowerLater does nothing: threads have no priority of their own here.
func lowerLater(time.Duration) (stop func()) { return func() {} }
