package roster

import "github.com/troupe-engine/troupe/internal/invariants"

// Crash makes the actor panic at its next message, if its shell calls Trip. For tests.
func (e *Entry) Crash(why string) { e.armed.Store(&why) }

// Calm takes back a Crash that has not happened.
func (e *Entry) Calm() { e.armed.Store(nil) }

// Trip panics if Crash was called since its last panic.
func (e *Entry) Trip() {
	if e == nil || e.armed.Load() == nil {
		return
	}
	if why := e.armed.Swap(nil); why != nil {
		invariants.Fail("%s", *why)
	}
}
