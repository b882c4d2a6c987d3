package costmodel

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

type GPU struct {
	Name      string  // as --gpu takes it
	Title     string  // for display
	Peak      Peaks   // of matrix products without sparsity
	Bandwidth float64 // of the device memory in bytes/s
	Memory    int64   // bytes, as the driver reports it
	// StepOverhead of a step: launch of a captured graph, sampling, copy of results.
	StepOverhead  time.Duration
	LayerOverhead time.Duration // of a layer: the ramps at the ends of its kernels
	Efficiency    Efficiency
}

// Peaks are rates by the type of the weights, in FLOP/s. Without FP8 (0) BF16's is used.
type Peaks struct{ FP32, BF16, FP8 float64 }

// Efficiency is the share of a peak that kernels reach, in (0, 1].
type Efficiency struct {
	Linear    float64 // of the peak rate, in matrix products with weights and what lies between them
	Attention float64 // of the BF16 peak rate, in attention over prompts
	Memory    float64 // of the bandwidth
}

// Fitted to the steps of two models on an H200 (docs/benchmarks/cuda.md), and used for
// every device: the others are not measured.
const (
	stepOverhead  = 100 * time.Microsecond
	layerOverhead = 25 * time.Microsecond
)

var efficiency = Efficiency{Linear: 0.6, Attention: 0.2, Memory: 0.82}

const (
	tera = 1e12
	giga = 1e9
	mib  = 1 << 20
)

// gpus lists the known devices. Rates are those of NVIDIA's datasheet of each device
// without sparsity, that is half of what it prints under an asterisk. The A10G is the
// A10 of AWS G5, with other tensor rates.
var gpus = []GPU{
	{Name: "h200", Title: "NVIDIA H200 SXM", Peak: Peaks{67 * tera, 989 * tera, 1979 * tera}, Bandwidth: 4800 * giga, Memory: 143771 * mib},
	{Name: "h100", Title: "NVIDIA H100 SXM", Peak: Peaks{67 * tera, 989 * tera, 1979 * tera}, Bandwidth: 3350 * giga, Memory: 81559 * mib},
	{Name: "a100", Title: "NVIDIA A100 SXM 80 GB", Peak: Peaks{19.5 * tera, 312 * tera, 0}, Bandwidth: 2039 * giga, Memory: 81920 * mib},
	{Name: "a100-40g", Title: "NVIDIA A100 SXM 40 GB", Peak: Peaks{19.5 * tera, 312 * tera, 0}, Bandwidth: 1555 * giga, Memory: 40960 * mib},
	{Name: "l40s", Title: "NVIDIA L40S", Peak: Peaks{91.6 * tera, 362 * tera, 733 * tera}, Bandwidth: 864 * giga, Memory: 46068 * mib},
	{Name: "l4", Title: "NVIDIA L4", Peak: Peaks{30.3 * tera, 121 * tera, 242.5 * tera}, Bandwidth: 300 * giga, Memory: 23034 * mib},
	{Name: "a10g", Title: "NVIDIA A10G", Peak: Peaks{35 * tera, 70 * tera, 0}, Bandwidth: 600 * giga, Memory: 23028 * mib},
}

// Names lists the known devices, the default first.
func Names() []string { return names(gpus, func(g GPU) string { return g.Name }) }

// Lookup finds a device by name, ignoring case. The error lists the known ones.
func Lookup(name string) (GPU, error) {
	g, err := find("gpu", gpus, Names(), name)
	g.StepOverhead, g.LayerOverhead, g.Efficiency = stepOverhead, layerOverhead, efficiency
	return g, err
}

func names[T any](list []T, name func(T) string) []string {
	all := make([]string, len(list))
	for i := range list {
		all[i] = name(list[i])
	}
	return all
}

// find returns the element of a list with a name, in upper or lower case.
func find[T any](what string, list []T, names []string, name string) (found T, err error) {
	i := slices.IndexFunc(names, func(known string) bool { return strings.EqualFold(known, name) })
	if i < 0 {
		return found, fmt.Errorf("%s %q is not known; use one of %s", what, name, strings.Join(names, ", "))
	}
	return list[i], nil
}

// peak is the rate of matrix products by the size of a weight.
func (g *GPU) peak(weightBytes int) float64 {
	switch {
	case weightBytes >= 4:
		return g.Peak.FP32
	case weightBytes == 1 && g.Peak.FP8 > 0:
		return g.Peak.FP8
	}
	return g.Peak.BF16
}
