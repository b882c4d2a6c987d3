//go:build cuda && cgo && linux && amd64

package driver

import (
	"time"

	"gorgonia.org/cu"
)

// Event marks a place in a stream's work.
type Event struct {
	handle
	event cu.Event
}

// EventOptions say what an event can do.
type EventOptions struct {
	Timing bool // Since works; recording costs a little more
	Sleep  bool // Synchronize sleeps instead of spinning: less work for the host, and later by tens of µs
}

// NewEvent makes an event. The caller closes it.
func (d *Device) NewEvent(o EventOptions) (*Event, error) {
	if err := d.usable("cuEventCreate"); err != nil {
		return nil, err
	}
	flags := cu.DefaultEvent
	if !o.Timing {
		flags |= cu.DisableTiming
	}
	if o.Sleep {
		flags |= cu.BlockingSyncEvent
	}
	event, err := cu.MakeEvent(flags)
	if e := d.check("cuEventCreate", err); e != nil {
		return nil, e
	}
	e := &Event{event: event}
	d.adopt(&e.handle, eventKind)
	return e, nil
}

// Done reports whether the device has reached the mark; true if it was never recorded. An
// error may be one of the work before it.
func (e *Event) Done() (bool, error) {
	if err := e.usable("cuEventQuery"); err != nil {
		return false, err
	}
	return e.done("cuEventQuery", e.event.Query())
}

// Synchronize waits until the device has reached the mark. An error may be one of the work
// before it.
func (e *Event) Synchronize() error {
	if err := e.usable("cuEventSynchronize"); err != nil {
		return err
	}
	return e.result("cuEventSynchronize", e.event.Synchronize())
}

// Since is the time that the device took from another event to this one, to about 1 µs.
// Both have Timing, were recorded, and are done.
func (e *Event) Since(start *Event) (time.Duration, error) {
	if err := e.usable("cuEventElapsedTime"); err != nil {
		return 0, err
	}
	if err := start.usable("cuEventElapsedTime"); err != nil {
		return 0, err
	}
	ms, err := start.event.Elapsed(e.event)
	return time.Duration(ms * float64(time.Millisecond)), e.result("cuEventElapsedTime", err)
}

// Close ends the event. What waits for it goes on to do so.
func (e *Event) Close() error {
	if e == nil {
		return nil
	}
	return e.release("cuEventDestroy", func() error {
		event := e.event // DestroyEvent clears it, even if it fails
		return cu.DestroyEvent(&event)
	})
}
