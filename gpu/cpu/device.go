package cpu

import (
	"fmt"
	"runtime"

	xcpu "golang.org/x/sys/cpu"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// kernelVersion changes whenever a change of code may change a bit of a result.
const kernelVersion = 4

type device struct {
	options Options
}

// New makes the CPU device. It starts nothing; each loaded model has its own
// workers. Fails when an option is out of range.
func New(options Options) (gpu.Device, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	return &device{options}, nil
}

// Info implements gpu.Device. Sampling uses math.Exp, whose bits depend on fused
// multiply-add, so the fingerprint names that. AMX has the same bits as AVX-512.
func (d *device) Info() gpu.Info {
	tier, threads := runtime.GOARCH, "threads"
	if d.options.Threads == 1 {
		threads = "thread"
	}
	if xcpu.X86.HasFMA && xcpu.X86.HasAVX {
		tier += "+fma"
	}
	return gpu.Info{
		Kind:        "cpu",
		Name:        fmt.Sprintf("%s on %s, %d %s", d.options.level, runtime.GOARCH, d.options.Threads, threads),
		Fingerprint: fmt.Sprintf("cpu/%s-%d/%s/%s", min(d.options.level, simd.AVX512), kernelVersion, tier, d.options.numbers()),
		Threads:     d.options.Threads,
		Numerics:    d.options.numerics(),
	}
}

func (d *device) Memory() (gpu.Memory, error) { return systemMemory() }

func (d *device) Supports(p *gpu.Program) error { return p.Supported("cpu", knows) }

func (d *device) PlanWeights(p *gpu.Program, w gpu.Weights) (gpu.WeightPlan, error) {
	if err := d.Supports(p); err != nil {
		return gpu.WeightPlan{}, err
	}
	l, err := newLoading(p, w, &d.options)
	if err != nil {
		return gpu.WeightPlan{}, fmt.Errorf("cpu device: cannot plan the memory of the weights of %s: %w", p.Name, err)
	}
	return l.plan, nil
}

func (d *device) Load(p *gpu.Program, w gpu.Weights, progress func(done, total int64)) (gpu.Model, error) {
	if err := d.Supports(p); err != nil {
		return nil, err
	}
	weights, err := loadWeights(p, w, d.options, progress)
	if err != nil {
		return nil, fmt.Errorf("cpu device: cannot load %s: %w", p.Name, err)
	}
	return newModel(p, weights, d.options), nil
}
