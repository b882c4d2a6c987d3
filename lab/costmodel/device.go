package costmodel

import "time"

// Device is a device on virtual time: it runs one step after the other, in the
// order of submission. Not safe for concurrent use.
type Device struct {
	costs *Costs
	free  time.Duration // when the last submitted step is over
	busy  time.Duration
	steps int
}

// NewDevice returns an idle device.
func NewDevice(costs *Costs) *Device { return &Device{costs: costs} }

// Submit gives the device a step at time now, which must not go back. It
// begins when those before it are over; the result is when it is over itself.
func (d *Device) Submit(now time.Duration, rows []Row) (done time.Duration) {
	took := d.costs.StepTime(rows)
	d.free = max(d.free, now) + took
	d.busy += took
	d.steps++
	return d.free
}

// Busy is the time spent in steps, those submitted included.
func (d *Device) Busy() time.Duration { return d.busy }

// Steps is the number of submitted steps.
func (d *Device) Steps() int { return d.steps }
