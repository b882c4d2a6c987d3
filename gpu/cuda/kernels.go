//go:build cuda

package cuda

import (
	"errors"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/gpu/cuda/kernels"
)

// kernelSet are the kernels, loaded for a device.
type kernelSet struct {
	module    *driver.Module
	functions map[string]*driver.Function
}

// loadKernels loads the image for the device. The caller closes the set.
func loadKernels(d *driver.Device) (_ *kernelSet, err error) {
	capability := d.Description().Capability
	image, err := kernels.Image(capability/10, capability%10)
	if err != nil {
		return nil, err
	}
	s := &kernelSet{functions: map[string]*driver.Function{}}
	if s.module, err = d.LoadModule(image); err != nil {
		return nil, err
	}
	target := kernels.Target(capability/10, capability%10)
	for _, k := range kernels.Contents().Kernels {
		if _, built := k.Builds[target]; !built { // it is for another architecture
			continue
		}
		f, err := s.module.Function(k.Name)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.functions[k.Name] = f
	}
	return s, nil
}

func (s *kernelSet) close() error {
	if s == nil {
		return nil
	}
	return s.module.Close()
}
