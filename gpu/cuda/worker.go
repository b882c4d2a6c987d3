//go:build cuda

package cuda

import (
	"fmt"
	"runtime/debug"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// worker runs functions on a goroutine that has the device's context. Its methods are
// safe for concurrent use; functions run one after the other.
type worker struct {
	device *driver.Device
	calls  chan *call
}

// call is a function for the worker, and then its error.
type call struct {
	f    func() error
	err  error
	done chan struct{}
}

// startWorker makes the device's context. The caller stops the worker.
func startWorker(ordinal int) (*worker, error) {
	w := &worker{calls: make(chan *call)}
	started := make(chan error)
	go func() {
		device, err := driver.Retain(ordinal)
		w.device = device
		started <- err
		if err != nil {
			return
		}
		for c := range w.calls {
			c.err = contained(c.f)
			c.done <- struct{}{}
		}
	}()
	return w, <-started
}

// do runs f and returns its error. A panic becomes an error.
func (w *worker) do(f func() error) error {
	c := &call{f: f, done: make(chan struct{})}
	w.calls <- c
	<-c.done
	return c.err
}

// contained turns a panic of f into an error.
func contained(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// stop releases the context. If something is still open on the device, the error names it
// and the worker goes on.
func (w *worker) stop() error {
	err := w.do(w.device.Close)
	if err == nil {
		close(w.calls)
	}
	return err
}
