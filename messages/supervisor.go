package messages

type ToSupervisor interface{ toSupervisor() }

// FailEpoch ends an epoch: a device step failed, an invariant is broken, or a message
// is missing. The supervisor also ends it when an actor panics.
type FailEpoch struct {
	Header
	From  Actor
	Cause string
	// Suspects are the requests in the step or the message that failed. Moved.
	Suspects []RequestID
	// Sticky means that the device will not work again in this process.
	Sticky bool
	// Planned: an operator has asked for it, so nothing has failed.
	Planned bool
	// Hold: no epoch follows before StartEpochs.
	Hold bool
}

// StartEpochs ends a Hold.
type StartEpochs struct{}

// DeviceQuiesced says that the device is idle.
type DeviceQuiesced struct{ Header }

// EpochDue is the end of the pause between two epochs.
type EpochDue struct{ Header }

// QuiesceDue ends the time that the device has to become idle.
type QuiesceDue struct{ Header }

func (*FailEpoch) toSupervisor()      {}
func (*StartEpochs) toSupervisor()    {}
func (*DeviceQuiesced) toSupervisor() {}
func (*EpochDue) toSupervisor()       {}
func (*QuiesceDue) toSupervisor()     {}
