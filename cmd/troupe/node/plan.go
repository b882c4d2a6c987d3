package node

import (
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/memory"
	"github.com/troupe-engine/troupe/model"
)

// PlanMemory sizes the KV pool for a model. available is what the device had
// before the weights were loaded, weightBytes what they take there: what is
// stored, as long as that is all that is known.
func PlanMemory(c *configs.Config, m *model.Checkpoint, available gpu.Memory, weightBytes int64) (memory.PoolPlan, gpu.DType, error) {
	dtype := gpu.BF16
	if m.WeightDType() == gpu.F32 {
		dtype = gpu.F32
	}
	if c.KVCacheDType != "auto" {
		var err error
		if dtype, err = gpu.ParseDType(c.KVCacheDType); err != nil {
			return memory.PoolPlan{}, 0, err
		}
	}
	p := m.Program
	plan, err := memory.PlanPool(memory.PoolOptions{
		MemFraction: c.MemFraction, MaxTotalTokens: c.MaxTotalTokens, MaxRunning: maxRunning(c),
		CapToRunning: true, PageSize: c.PageSize,
	}, memory.PoolFacts{
		AvailableBytes: available.Available, AvailableFrom: available.Source,
		WeightBytes: weightBytes, WorkspaceBytes: workspace(c, p),
		Layers: p.KV.Layers, KVHeads: p.KV.Heads, HeadDim: p.KV.HeadDim, ElemBytes: dtype.Size(), Context: p.Context,
	})
	return plan, dtype, err
}

func maxRunning(c *configs.Config) int {
	if c.MaxRunning == 0 {
		return memory.DefaultMaxRunning
	}
	return c.MaxRunning
}

// stepTokens is how many tokens the biggest step computes.
func stepTokens(c *configs.Config, p *gpu.Program) int {
	n := c.MaxPrefillTokens
	if c.ChunkedPrefillSize > 0 {
		n = min(n, c.ChunkedPrefillSize)
	} else {
		n = max(n, p.Context)
	}
	return max(n, maxRunning(c))
}

// workspace is the bytes of the activation buffers of the biggest step.
func workspace(c *configs.Config, p *gpu.Program) int64 {
	var bytes int64
	for _, b := range p.Buffers {
		rows := stepTokens(c, p)
		if b.PerOutput {
			rows = maxRunning(c)
		}
		bytes += int64(rows) * int64(b.Width) * 4
	}
	return bytes
}
