package node

import (
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/internal/units"
	"github.com/troupe-engine/troupe/memory/pool"
	"github.com/troupe-engine/troupe/model"
)

// DeviceMemory describes a device's memory to a plan.
type DeviceMemory struct {
	Before      gpu.Memory    // without the weights
	After       int64         // bytes available with the weights loaded; 0: they are not
	WeightBytes int64         // of the weights on the device; as stored if that is unknown
	Steps       gpu.StepSizer // what a step takes; nil: it is estimated
}

// memoryOf describes the memory of a device.
func memoryOf(device gpu.Device, before gpu.Memory, weightBytes int64) DeviceMemory {
	d := DeviceMemory{Before: before, WeightBytes: weightBytes}
	d.Steps, _ = device.(gpu.StepSizer)
	return d
}

// MemoryPlanMessage is the message of the log line with the memory plan.
const MemoryPlanMessage = "memory plan"

// PlanMemory sizes the KV pool for a model. If memory is short, the error says what would fit.
func PlanMemory(c *configs.Config, m *model.Checkpoint, d DeviceMemory) (pool.Plan, gpu.DType, error) {
	plan, dtype, err := planMemory(c, m, d)
	if short, is := errors.AsType[*pool.Shortage](err); is {
		err = whatFits(short, c, m, d)
	}
	return plan, dtype, err
}

func planMemory(c *configs.Config, m *model.Checkpoint, d DeviceMemory) (pool.Plan, gpu.DType, error) {
	dtype := gpu.BF16
	if m.WeightDType() == gpu.F32 {
		dtype = gpu.F32
	}
	if c.KVCacheDType != "auto" {
		var err error
		if dtype, err = gpu.ParseDType(c.KVCacheDType); err != nil {
			return pool.Plan{}, 0, err
		}
	}
	p := m.Program
	o := c.Pool
	o.Pools = c.DataParallel
	o.OwnMemory, o.CapToRunning, o.StepTokens, o.PageSize = d.Before.Own, !d.Before.Own, stepTokens(c, p, 0), c.PageSize
	plan, err := pool.NewPlan(o, pool.Facts{
		AvailableBytes: d.Before.Available, AvailableFrom: d.Before.Source, AfterLoadBytes: d.After,
		WeightBytes: d.WeightBytes, WorkspaceBytes: int64(c.DataParallel) * d.workspace(c, p, d.mostRunning(c)),
		BytesPerToken: p.KV.BytesPerToken(dtype), PerTokenFrom: perTokenFrom(p.KV, dtype), Context: p.Context,
	})
	return plan, dtype, err
}

// Planned is a memory plan of a device before the weights are loaded.
type Planned struct {
	Plan    pool.Plan
	KVDType gpu.DType
	Weights gpu.WeightPlan
	Before  gpu.Memory
}

// PlanOn plans a device's memory. With an error it returns what was planned before it.
func PlanOn(device gpu.Device, c *configs.Config, m *model.Checkpoint) (p Planned, err error) {
	if p.Before, err = device.Memory(); err != nil {
		return p, err
	}
	if p.Weights, err = device.PlanWeights(m.Program, m.Weights); err != nil {
		return p, configs.About(err, "model", "weight-dtype")
	}
	d := memoryOf(device, p.Before, p.Weights.Bytes)
	if p.Plan, p.KVDType, err = PlanMemory(c, m, d); err != nil {
		return p, err
	}
	if err = device.Info().CheckKV(p.KVDType); err != nil {
		return p, configs.About(fmt.Errorf("%s device: %w", device.Info().Kind, err), "kv-cache-dtype")
	}
	return p, nil
}

// smaller are the weight types to try if memory is short, the most exact first.
var smaller = []string{"bf16", "q8_0", "q4_0"}

// The largest mem-fraction-static and the page-size that are advised.
const (
	mostFraction = 0.95
	smallPage    = 16
)

// whatFits adds to a shortage the changes that end it, each alone.
func whatFits(short *pool.Shortage, c *configs.Config, m *model.Checkpoint, d DeviceMemory) error {
	var changes []string
	fits := func(d DeviceMemory, change func(*configs.Config), format string, args ...any) bool {
		try := *c
		change(&try)
		_, _, err := planMemory(&try, m, d)
		if err == nil {
			changes = append(changes, fmt.Sprintf(format, args...))
		}
		return err == nil
	}
	if f := short.MemFraction; f <= mostFraction {
		fits(d, func(c *configs.Config) { c.Pool.MemFraction = f }, "mem-fraction-static %g", f)
	}
	if !d.Before.Own {
		for _, dtype := range smaller {
			as, err := d.weightsAs(dtype, c, m)
			if err == nil && as.WeightBytes < d.WeightBytes && fits(as, func(c *configs.Config) { c.CPU.WeightDType = dtype }, "weight-dtype %s", dtype) {
				break
			}
		}
	}
	for rows := 2048; rows >= 64; rows /= 2 {
		running, chunk := min(rows, d.mostRunning(c)), max(min(rows, stepTokens(c, m.Program, 0)), c.PageSize)
		if fits(d, func(c *configs.Config) { c.Pool.MaxRunning, c.Batch.ChunkedPrefillSize = running, chunk },
			"max-running-requests %d with chunked-prefill-size %d", running, chunk) {
			break
		}
	}
	if c.PageSize > smallPage {
		fits(d, func(c *configs.Config) { c.PageSize = smallPage }, "page-size %d", smallPage)
	}
	text := ""
	if used := d.Before.Total - d.Before.Available; d.Before.Own && used > 0 {
		text = fmt.Sprintf(". %s of the device's %s are in use already (nvidia-smi lists by whom)", units.Bytes(used), units.Bytes(d.Before.Total))
	}
	switch {
	case len(changes) > 0:
		text += ". Set " + strings.Join(changes, ", or ")
	case d.Before.Own:
		text += ". No setting makes the model fit: use a smaller model, or --device cpu"
	default:
		text += ". No setting makes the model fit: use a smaller model, or a machine with more memory"
	}
	return fmt.Errorf("%w%s", short, text)
}

// weightsAs is the memory of the CPU with its weights in another type.
func (d DeviceMemory) weightsAs(dtype string, c *configs.Config, m *model.Checkpoint) (DeviceMemory, error) {
	options := c.CPU
	options.WeightDType = dtype
	device, err := cpu.New(options)
	if err != nil {
		return d, err
	}
	plan, err := device.PlanWeights(m.Program, m.Weights)
	d.WeightBytes, d.After = plan.Bytes, 0 // a measured amount is of the present type
	return d, err
}

// perTokenFrom explains the size of K and V of one token.
func perTokenFrom(k gpu.KVSpec, d gpu.DType) string {
	if d.ScaleBytes() == 0 {
		return fmt.Sprintf("%d layers × %d KV heads × %d head dim × 2 (K, V) × %d bytes (kv-cache-dtype)", k.Layers, k.Heads, k.HeadDim, d.BlockBytes())
	}
	return fmt.Sprintf("%d layers × %d KV heads × 2 (K, V) × (%d head dim × %d bytes + %d for the scale) (kv-cache-dtype)",
		k.Layers, k.Heads, k.HeadDim, d.BlockBytes(), d.ScaleBytes())
}

// mostRunning is the maximum of running requests, before the pool is known.
func (d DeviceMemory) mostRunning(c *configs.Config) int {
	switch {
	case c.Pool.MaxRunning > 0:
		return c.Pool.MaxRunning
	case d.Before.Own:
		return pool.MostRunning
	}
	return pool.DefaultMaxRunning
}

// stepTokens is the number of tokens of the largest step.
func stepTokens(c *configs.Config, p *gpu.Program, running int) int {
	n := c.Batch.MaxPrefillTokens
	if chunk := c.Chunk(); chunk > 0 {
		n = min(n, chunk)
	} else {
		n = max(n, p.Context)
	}
	return max(n, running)
}

// poolSpec is the size of a model's pool and steps, without pages.
func poolSpec(c *configs.Config, p *gpu.Program, running int) gpu.PoolSpec {
	// The scheduler gives prompts a page even if decoding rows use up the limits, and
	// adds an unchunked prompt to all decoding rows.
	return gpu.PoolSpec{PageSize: c.PageSize, Rows: running, Context: p.Context, StepTokens: stepTokens(c, p, running) + running + c.PageSize}
}

// workspace is what the largest step takes of the memory, in bytes.
func (d DeviceMemory) workspace(c *configs.Config, p *gpu.Program, running int) int64 {
	if d.Steps != nil {
		return d.Steps.StepBytes(p, poolSpec(c, p, running))
	}
	return workspace(c, p, running)
}

// workspace is the size in bytes of the activation buffers of the largest step. The
// inputs of products count twice: devices copy them into their kernels' layout.
func workspace(c *configs.Config, p *gpu.Program, running int) int64 {
	var bytes int64
	inputs := map[gpu.Buffer]bool{}
	for _, op := range p.Ops {
		if op, ok := op.(gpu.Linear); ok {
			inputs[op.In] = true
		}
	}
	for i, b := range p.Buffers {
		rows := stepTokens(c, p, running)
		if b.PerOutput {
			rows = running
		}
		if inputs[gpu.Buffer(i)] {
			rows *= 2
		}
		bytes += int64(rows) * int64(b.Width) * 4
	}
	return bytes
}
