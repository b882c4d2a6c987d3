//go:build cuda && cgo && linux && amd64

package driver

import "gorgonia.org/cu"

// Stream is work that the device does in order. Streams run beside each other unless
// events order them.
type Stream struct {
	handle
	stream cu.Stream
}

// NewStream makes a stream, which does not wait for the default stream. The caller closes
// it.
func (d *Device) NewStream() (*Stream, error) {
	if err := d.usable("cuStreamCreate"); err != nil {
		return nil, err
	}
	stream, err := cu.MakeStream(cu.NonBlocking)
	if e := d.check("cuStreamCreate", err); e != nil {
		return nil, e
	}
	s := &Stream{stream: stream}
	d.adopt(&s.handle, streamKind)
	return s, nil
}

// Wait makes what is added to the stream from now on wait for the event, as it was last
// recorded. The host does not wait.
func (s *Stream) Wait(e *Event) error {
	if err := s.usable("cuStreamWaitEvent"); err != nil {
		return err
	}
	if err := e.usable("cuStreamWaitEvent"); err != nil {
		return err
	}
	return s.result("cuStreamWaitEvent", s.stream.Wait(e.event, 0))
}

// Record makes the event mark the end of what the stream has so far.
func (s *Stream) Record(e *Event) error {
	if err := s.usable("cuEventRecord"); err != nil {
		return err
	}
	if err := e.usable("cuEventRecord"); err != nil {
		return err
	}
	return s.result("cuEventRecord", e.event.Record(s.stream))
}

// Done reports whether the device has done all that the stream has. An error may be one of
// that work.
func (s *Stream) Done() (bool, error) {
	if err := s.usable("cuStreamQuery"); err != nil {
		return false, err
	}
	return s.done("cuStreamQuery", s.stream.Query())
}

// Synchronize waits until the device has done all that the stream has. An error may be one
// of that work.
func (s *Stream) Synchronize() error {
	if err := s.usable("cuStreamSynchronize"); err != nil {
		return err
	}
	return s.result("cuStreamSynchronize", s.stream.Synchronize())
}

// Close ends the stream. The device still does what was added.
func (s *Stream) Close() error {
	if s == nil {
		return nil
	}
	return s.release("cuStreamDestroy", func() error {
		stream := s.stream // Destroy clears it, even if it fails
		return stream.Destroy()
	})
}

// result turns an error of package cu into one of this package.
func (h *handle) result(call string, err error) error {
	if err == nil {
		return nil
	}
	return h.device.check(call, err)
}

// done is result for questions whether work is done.
func (h *handle) done(call string, err error) (bool, error) {
	if err == nil {
		return true, nil
	}
	if err == error(cu.NotReady) {
		return false, nil
	}
	return false, h.device.check(call, err)
}
