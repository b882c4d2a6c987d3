package node

import (
	"cmp"
	"context"
	"fmt"
	"runtime"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
)

func OpenDevice(c *configs.Config) (gpu.Device, error) {
	o := c.CPU
	if c.DataParallel > 1 { // the engines share the processors
		o.Threads = max(1, cmp.Or(o.Threads, runtime.GOMAXPROCS(0))/c.DataParallel)
	}
	device, err := cpu.New(o)
	// Only here it shows whether the processor has the instruction set.
	return device, c.Explain(configs.About(err, "instruction-set"))
}

func (n *Node) openDevice(ctx context.Context) (err error) {
	c := n.Config()
	if n.Device, err = OpenDevice(c); err != nil {
		return err
	}
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
	if n.Model, err = n.Device.Load(n.Checkpoint.Program, n.Checkpoint.Weights, n.opt.Progress); err != nil {
		return configs.About(err, "model")
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
	if n.Plan, n.KVDType, err = PlanMemory(c, n.Checkpoint, DeviceMemory{
		Before: planned.Before, After: after.Available, WeightBytes: n.Model.Bytes()["weights"]}); err != nil {
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
	rows := n.Plan.MaxRunning
	// The scheduler gives prompts a page even if decoding rows use up the limits, and
	// adds an unchunked prompt to all decoding rows.
	spec := gpu.PoolSpec{PageSize: c.PageSize, Pages: n.Plan.Pages, DType: n.KVDType, Layout: layout,
		Rows: rows, Context: p.Context, StepTokens: stepTokens(c, p, rows) + rows + c.PageSize}
	for _, m := range n.Models {
		if err := m.NewPool(spec); err != nil {
			return err
		}
	}
	return nil
}
