package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/weights"
)

// errNoAnswer: a device did not return. What it was given may still be used.
var errNoAnswer = errors.New("the device does not answer")

// Answered returns what f does, which waits for a device: its driver may hang. When ctx ends, f
// has some time to return; without an answer its goroutine goes on, and the process must end.
func Answered[T any](ctx context.Context, while string, wait time.Duration, f func() (T, error)) (answer T, err error) {
	type result struct {
		answer T
		err    error
	}
	over := make(chan result, 1)
	go func() {
		answer, err := f()
		over <- result{answer, err}
	}()
	select {
	case r := <-over:
		return r.answer, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-over:
		return r.answer, r.err
	case <-time.After(wait):
		return answer, fmt.Errorf("interrupted while %s: %w: %w", while, errNoAnswer, context.Cause(ctx))
	}
}

func (n *Node) openDevice(ctx context.Context) (err error) {
	if n.opened, err = OpenDevice(ctx, n.Config()); err != nil {
		return err
	}
	told := context.AfterFunc(ctx, func() {
		n.opt.Log.Warn().Stringer("limit", closeLimit).Msg("interrupted: the start ends when the device answers, or at the limit")
	})
	defer told()
	_, err = Answered(ctx, "the model was loaded", closeLimit, func() (struct{}, error) { return struct{}{}, n.load(ctx) })
	n.silent = errors.Is(err, errNoAnswer)
	return err
}

// load loads the model onto the device and makes the KV pool.
func (n *Node) load(ctx context.Context) error {
	n.Device = n.opened.Device
	n.config.Store(n.opened.Config)
	c := n.Config()
	n.opt.Log.Info().Str("device", n.Device.Info().Name).Str("why", n.opened.Why).Msg("the device was chosen")
	// A first plan refuses a model that does not fit before its weights are loaded. The
	// second uses the memory that they left.
	planned, err := PlanOn(n.Device, c, n.Checkpoint)
	for _, w := range planned.Weights.Changed {
		n.opt.Log.Info().Stringer("stored", w.Stored).Stringer("held", w.Held).Int("matrices", w.Tensors).Int64("bytes", w.Bytes).
			Msg("weights are converted to another type: " + w.Why)
	}
	if err != nil {
		return err
	}
	if n.Model, err = n.Device.Load(n.Checkpoint.Program, until{ctx, n.Checkpoint.Weights}, n.opt.Progress); err != nil {
		return AboutModel(err, c)
	}
	n.Models = []gpu.Model{n.Model}
	for range c.DataParallel - 1 {
		shared, ok := n.Model.(gpu.Sharer)
		if !ok {
			return configs.About(fmt.Errorf("the %s device cannot share weights between engines; set data-parallel-size to 1", n.Device.Info().Kind), "data-parallel-size")
		}
		n.Models = append(n.Models, shared.Share())
	}
	after, err := n.Device.Memory()
	if err != nil {
		return err
	}
	memory := memoryOf(n.Device, planned.Before, n.Model.Bytes()["weights"])
	memory.After = after.Available
	if n.Plan, n.KVDType, err = PlanMemory(c, n.Checkpoint, memory); err != nil {
		return err
	}
	plan := n.opt.Log.Info()
	for _, f := range n.Plan.Figures {
		name := f.Name // it tells the unit of a count
		if f.Unit == "bytes" {
			name += "_bytes"
		}
		plan.Int64(name, f.Value)
	}
	plan.Str("bound", n.Plan.Bound).Msg(MemoryPlanMessage)
	for _, w := range n.Plan.Warnings {
		n.opt.Log.Warn().Msg(w)
	}
	if !n.opt.Unhashed {
		n.startHash(ctx)
	}
	p := n.Checkpoint.Program
	layout, err := gpu.ParseLayout(c.KVLayout)
	if err != nil {
		return err
	}
	spec := poolSpec(c, p, n.Plan.MaxRunning)
	spec.Pages, spec.DType, spec.Layout = n.Plan.Pages, n.KVDType, layout
	for _, m := range n.Models {
		if err := m.NewPool(spec); err != nil {
			return err
		}
	}
	return nil
}

// until are weights that end when ctx does: loading them may take minutes, and a
// start that is interrupted shall end.
type until struct {
	ctx context.Context
	weights.Source
}

func (u until) Tensor(name string) (gpu.Tensor, error) {
	if u.ctx.Err() != nil {
		return gpu.Tensor{}, fmt.Errorf("interrupted while the weights were loaded: %w", context.Cause(u.ctx))
	}
	return u.Source.Tensor(name)
}
