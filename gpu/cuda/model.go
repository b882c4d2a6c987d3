//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/gpu/rows"
	"github.com/troupe-engine/troupe/gpu/stepqueue"
)

// model implements gpu.Model. Its fields but the queue belong to the goroutine that begins and
// ends steps while one is in flight, otherwise to the worker.
type model struct {
	program *gpu.Program
	options Options
	worker  *worker
	device  *driver.Device
	kernels *kernelSet
	stream  *driver.Stream
	weights *weights
	shares  bool // another model counts the weights
	ropes   []*ropeTable
	pool    *pool
	rows    *rows.Table // nil before NewPool
	compiled
	graphs graphs
	flow
	bytes atomic.Pointer[map[string]int64] // of Bytes
	*stepqueue.Queue
}

// begin starts the model after its weights are there.
func (m *model) begin() {
	m.flow.init(m)
	m.countBytes()
	m.Queue = stepqueue.NewAhead(stepqueue.Ahead{Begin: m.beginStep, Wait: m.waitStep, End: m.endStep})
}

// NewPool implements gpu.Model.
func (m *model) NewPool(spec gpu.PoolSpec) error {
	if err := spec.Check(m.program); err != nil {
		return err
	}
	if err := m.Idle(); err != nil {
		return fmt.Errorf("cannot allocate the KV pool: %w", err)
	}
	err := m.worker.do(func() (err error) {
		if m.stream == nil { // of Share
			if err := m.setUp(); err != nil {
				return err
			}
		}
		if err := m.freePool(); err != nil { // first, so that the two need not fit at once
			return fmt.Errorf("cannot free the old KV pool: %w", err)
		}
		defer m.countBytes()
		if err = m.makePool(spec); err != nil {
			err = errors.Join(err, m.freePool())
		}
		return err
	})
	return marked(err)
}

func (m *model) makePool(spec gpu.PoolSpec) (err error) {
	if m.pool, err = newPool(m, spec); err != nil {
		return err
	}
	if err := m.makeRopes(spec.Context); err != nil {
		return err
	}
	for i := range m.steps {
		if err := m.steps[i].reserve(); err != nil {
			return err
		}
	}
	c := compiler{model: m, pool: m.pool, ropes: m.ropes, steps: m.pool.headers.Address(), maps: tensorMaps{device: m.device, memory: m.pool.maps}}
	if m.compiled, err = c.compile(); err != nil {
		return err
	}
	if err := c.maps.upload(m.stream); err != nil {
		return err
	}
	m.rows, m.broken = rows.New(m.program, spec), nil
	return nil
}

// makeRopes makes the tables of all Rope ops; those that are there and long enough stay.
func (m *model) makeRopes(context int) error {
	for _, op := range m.program.Ops {
		rope, is := op.(gpu.Rope)
		if !is {
			continue
		}
		at := -1
		for i, t := range m.ropes {
			if t.is(rope.InvFreq) {
				at = i
			}
		}
		if at >= 0 && m.ropes[at].context >= context {
			continue
		}
		t, err := newRopeTable(m, rope.InvFreq, context)
		if err != nil {
			return errors.Join(err, t.memory.Close())
		}
		if at < 0 {
			m.ropes = append(m.ropes, t)
			continue
		}
		if err := m.ropes[at].memory.Close(); err != nil {
			return errors.Join(err, t.memory.Close())
		}
		m.ropes[at] = t
	}
	return nil
}

func (m *model) freePool() error {
	m.rows, m.compiled = nil, compiled{}
	errs := []error{m.graphs.free()}
	for i := range m.steps {
		errs = append(errs, m.steps[i].free())
	}
	errs = append(errs, m.pool.free())
	m.pool = nil
	return errors.Join(errs...)
}

// free closes everything that the model has on the device.
func (m *model) free() error {
	errs := []error{m.freePool()}
	for _, t := range m.ropes {
		errs = append(errs, t.memory.Close())
	}
	errs = append(errs, m.weights.release(), m.stream.Close(), m.kernels.close())
	return errors.Join(errs...)
}

// countBytes runs between steps.
func (m *model) countBytes() {
	all := map[string]int64{}
	if !m.shares {
		all["weights"] = m.weights.memory.Size()
	}
	for _, t := range m.ropes {
		all["workspace"] += t.memory.Size()
	}
	if m.pool != nil {
		m.pool.bytes(all)
		for i := range m.steps {
			m.steps[i].bytes(all)
		}
	}
	m.bytes.Store(&all)
}

// Bytes implements gpu.Model.
func (m *model) Bytes() map[string]int64 {
	all := map[string]int64{}
	for what, n := range *m.bytes.Load() {
		all[what] = n
	}
	return all
}

// Share implements gpu.Sharer.
func (m *model) Share() gpu.Model {
	other := &model{program: m.program, options: m.options, worker: m.worker, device: m.device, weights: m.weights, shares: true}
	_ = m.worker.do(func() error { // never an error
		m.weights.users++
		return nil
	})
	other.begin()
	return other
}

// Close implements gpu.Model. It may be called again, and from the done of the last step.
func (m *model) Close() error {
	first, err := m.Queue.Close()
	if !first {
		return err
	}
	return marked(m.worker.do(m.free))
}
