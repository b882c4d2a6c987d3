//go:build cuda

package cuda

import (
	"fmt"
	"runtime/debug"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// worker runs functions on the goroutine that owns the device's context. Its methods are
// safe for concurrent use; functions run one after the other.
type worker struct {
	device *driver.Device
	jobs   chan func()
}

// startWorker makes the device's context. The caller stops the worker.
func startWorker(ordinal int) (*worker, error) {
	w := &worker{jobs: make(chan func())}
	started := make(chan error)
	go func() {
		device, err := driver.Retain(ordinal)
		w.device = device
		started <- err
		if err != nil {
			return
		}
		for job := range w.jobs {
			job()
		}
	}()
	return w, <-started
}

// do runs f and returns its error. A panic becomes an error.
func (w *worker) do(f func() error) (err error) {
	done := make(chan struct{})
	w.jobs <- func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		err = f()
	}
	<-done
	return err
}

// stop releases the context. If something is still open on the device, the error names it
// and the worker goes on.
func (w *worker) stop() error {
	err := w.do(w.device.Close)
	if err == nil {
		close(w.jobs)
	}
	return err
}
