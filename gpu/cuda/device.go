//go:build cuda

package cuda

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// kernelVersion changes whenever a change of kernels may change a bit of a result.
const kernelVersion = 2

// widestHead is the largest head_dim of the attention kernels.
const widestHead = 256

type device struct {
	info            gpu.Info
	worker          *worker
	options         Options
	multiprocessors int
}

// New opens a device: it loads the driver and makes the device's context, which takes up to
// seconds. errors.Is tells why a device cannot be used: driver.ErrNoDriver and the like.
func New(o Options) (Device, error) {
	if err := driver.Open(driver.Options{Library: o.Library}); err != nil {
		return nil, err
	}
	d, err := driver.Describe(o.Ordinal)
	if err != nil {
		return nil, err
	}
	w, err := startWorker(o.Ordinal)
	if err != nil {
		return nil, err
	}
	info := gpu.Info{
		Kind:        "cuda",
		Name:        fmt.Sprintf("%s (cuda:%d)", d.Name, o.Ordinal),
		Fingerprint: fmt.Sprintf("cuda/sm_%d-%d", d.Capability, kernelVersion),
		Numerics:    gpu.Numerics{Weights: gpu.WeightDTypes(), KV: gpu.KVDTypes()},
	}
	if o.Plain {
		info.Fingerprint += "-plain"
	} else {
		info.Inputs = map[gpu.DType]gpu.DType{gpu.F16: gpu.F16, gpu.BF16: gpu.BF16}
		info.Attention = map[gpu.DType]gpu.DType{gpu.F16: gpu.F16, gpu.BF16: gpu.BF16, gpu.I8: gpu.BF16}
	}
	return &device{worker: w, info: info, options: o, multiprocessors: d.Multiprocessors}, nil
}

// List describes all devices that the driver has, also those that cannot be used.
func List(o Options) ([]Found, error) {
	if err := driver.Open(driver.Options{Library: o.Library}); err != nil {
		return nil, err
	}
	n, err := driver.Count()
	if err != nil {
		return nil, err
	}
	list := make([]Found, 0, n)
	for i := range n {
		d, err := driver.Describe(i)
		if err != nil {
			list = append(list, Found{Ordinal: i, Fault: err})
			continue
		}
		list = append(list, Found{Ordinal: i, Name: d.Name, UUID: d.UUID, Compute: fmt.Sprintf("%d.%d", d.Capability/10, d.Capability%10),
			Memory: d.Memory, Driver: fmt.Sprintf("%d.%d", d.Driver/1000, d.Driver%1000/10), Fault: d.Supported()})
	}
	return list, nil
}

func (d *device) Info() gpu.Info { return d.info }

// Memory is what the driver reports; other processes on the device count as used.
func (d *device) Memory() (m gpu.Memory, err error) {
	m.Source, m.Own = "free memory of the device", true
	err = d.worker.do(func() error {
		m.Available, m.Total, err = d.worker.device.Memory()
		return err
	})
	return m, err
}

func (d *device) Supports(p *gpu.Program) error {
	if err := p.Supported("cuda", knows); err != nil {
		return err
	}
	if p.KV.HeadDim > widestHead {
		return fmt.Errorf("cuda device: program %s: heads of %d elements are too wide; at most %d are supported; use --device cpu", p.Name, p.KV.HeadDim, widestHead)
	}
	return nil
}

// knows reports whether compile has kernels for an op.
func knows(op gpu.Op) bool {
	switch op.(type) {
	case gpu.Embed, gpu.RMSNorm, gpu.Linear, gpu.Rope, gpu.StoreKV, gpu.Attention, gpu.SiluMul, gpu.Gather, gpu.Sample:
		return true
	}
	return false
}

// Close releases the device's context.
func (d *device) Close() error {
	if d.worker == nil {
		return errors.New("the device is closed")
	}
	err := d.worker.stop()
	if err == nil {
		d.worker = nil
	}
	return err
}
