package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/cuda"
	"github.com/troupe-engine/troupe/model/weights"
)

// Opened is a device that was chosen by the settings. Close it.
type Opened struct {
	gpu.Device
	Config *configs.Config // the settings, with the defaults of the device
	Why    string          // it is this device, for people
	memory int64           // all that it has of its own, in bytes
}

// with gives settings that were read again the defaults of the device.
func (o Opened) with(c *configs.Config) *configs.Config {
	if o.Device == nil { // a gateway
		return c
	}
	return c.ForDevice(o.Info().Kind, o.memory)
}

// Close frees what the device holds; no model may be open.
func (o Opened) Close() error {
	if c, is := o.Device.(io.Closer); is {
		return c.Close()
	}
	return nil
}

// OpenDevice opens the device of the settings: with auto a GPU that can be used, otherwise
// the CPU.
func OpenDevice(c *configs.Config) (Opened, error) {
	ordinal, named := c.CUDA()
	if c.Device == "cpu" {
		return openCPU(c, "the setting device says so")
	}
	device, err := cuda.New(cuda.Options{Ordinal: ordinal, Library: c.CUDALibrary, NoGraphs: c.NoGraphs})
	switch {
	case err == nil:
		return openedCUDA(c, device, named)
	case named && c.CUDALibrary != "":
		return Opened{}, c.Explain(configs.About(err, "device", "cuda-library"))
	case named:
		return Opened{}, c.Explain(configs.About(err, "device"))
	}
	return openCPU(c, "no GPU can be used: "+err.Error())
}

func openCPU(c *configs.Config, why string) (Opened, error) {
	o := c.CPU
	if c.DataParallel > 1 { // the engines share the processors
		o.Threads = max(1, cmp.Or(o.Threads, runtime.GOMAXPROCS(0))/c.DataParallel)
	}
	device, err := cpu.New(o)
	// Only here it shows whether the processor has the instruction set.
	return Opened{device, c.ForDevice("cpu", 0), why, 0}, c.Explain(configs.About(err, "instruction-set"))
}

func openedCUDA(c *configs.Config, device cuda.Device, named bool) (Opened, error) {
	memory, err := device.Memory()
	if keys := c.OnlyCPU(); err == nil && len(keys) > 0 {
		err = configs.About(fmt.Errorf("only the CPU device has %s; remove the setting, or set device to cpu", configs.List(keys, "and")), keys...)
	}
	if err != nil {
		return Opened{}, errors.Join(c.Explain(err), device.Close())
	}
	why := "it can be used"
	if named {
		why = "the setting device says so"
	}
	return Opened{device, c.ForDevice("cuda", memory.Total), why, memory.Total}, nil
}

// openDeviceOr opens the device, or returns when ctx ends: a driver may hang.
func openDeviceOr(ctx context.Context, c *configs.Config) (Opened, error) {
	type result struct {
		device Opened
		err    error
	}
	opened := make(chan result, 1)
	go func() {
		device, err := OpenDevice(c)
		opened <- result{device, err}
	}()
	select {
	case r := <-opened:
		return r.device, r.err
	case <-ctx.Done():
		return Opened{}, fmt.Errorf("interrupted while the device was opened: %w", context.Cause(ctx))
	}
}

func (n *Node) openDevice(ctx context.Context) (err error) {
	if n.opened, err = openDeviceOr(ctx, n.Config()); err != nil {
		return err
	}
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
