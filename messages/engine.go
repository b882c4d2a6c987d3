package messages

// ToEngine is the set of messages that an engine's supervisor accepts.
type ToEngine interface{ toEngine() }

// FailEpoch ends an epoch: a device step failed, an invariant is broken, a
// message is missing. The supervisor does the same by itself when an actor
// panics.
type FailEpoch struct {
	Header
	From  Actor
	Cause string
	// Suspects were in the step or the message being executed. Moved.
	Suspects []RequestID
	// Sticky means that the device will not work again in this process.
	Sticky bool
}

// DeviceQuiesced says that no step runs on the device any more.
type DeviceQuiesced struct{ Header }

// EpochDue is the end of the pause between two epochs.
type EpochDue struct{ Header }

// QuiesceDue is the end of the supervisor's patience with a device.
type QuiesceDue struct{ Header }

func (*FailEpoch) toEngine()      {}
func (*DeviceQuiesced) toEngine() {}
func (*EpochDue) toEngine()       {}
func (*QuiesceDue) toEngine()     {}
