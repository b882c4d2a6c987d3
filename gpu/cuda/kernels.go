//go:build cuda

package cuda

import (
	"errors"
	"strings"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/gpu/cuda/kernels"
)

// kernelSet are the kernels, loaded for a device.
type kernelSet struct {
	module    *driver.Module
	functions map[string]*driver.Function
	perBlock  int64 // bytes of shared memory that a block can have
}

// loadKernels loads the image for the device. The caller closes the set.
func loadKernels(d *driver.Device) (_ *kernelSet, err error) {
	capability := d.Description().Capability
	image, err := kernels.Image(capability/10, capability%10)
	if err != nil {
		return nil, err
	}
	s := &kernelSet{functions: map[string]*driver.Function{}, perBlock: d.Description().SharedPerBlock}
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
		if target == "sm_90a" && d.Description().Driver >= earlyInGraphs { // the image in which wait_for_previous waits
			f.StartEarly()
		}
		if n := dynamicShared(k.Name); n+f.Attributes().Shared > plainShared && s.fits(k.Name) {
			if err := f.SetDynamicShared(n); err != nil {
				return nil, errors.Join(err, s.close())
			}
		}
	}
	return s, nil
}

// earlyInGraphs is the first driver, CUDA 12.3, whose graphs keep that a kernel starts before
// the end of the one before it.
const earlyInGraphs = 12030

// plainShared is how much shared memory a block may have without asking for it.
const plainShared = 48 << 10

// sharedBytes is the dynamic shared memory of a block, by how a kernel's name begins and
// ends: see the heads of kernels/tensor_*.cu.
var sharedBytes = []struct {
	begin, end string
	bytes      int
}{
	{"gemm_few8_", "", 122880}, {"gemm_few16_", "", 147456}, {"gemm64_", "", 98304}, {"gemm128_", "", 131072},
	{"gemm_wgmma64_", "", 214016}, {"gemm_wgmma64w_", "", 99328}, {"gemm_wgmma128_", "", 222208}, {"gemm_wgmma128w_", "", 99328}, {"gemm_wgmma256_", "", 214016},
	{"attention_decode_i8_", "_64", 24576}, {"attention_decode_i8_", "_128", 49152}, {"attention_decode_i8_", "_256", 98304},
	{"attention_decode_", "_64", 49152}, {"attention_decode_", "_128", 98304}, {"attention_decode_", "_256", 131072},
	{"attention_prompt_", "_64", 90112}, {"attention_prompt_", "_128", 147456}, {"attention_prompt_", "_256", 163840},
}

func dynamicShared(kernel string) int {
	for _, s := range sharedBytes {
		if strings.HasPrefix(kernel, s.begin) && strings.HasSuffix(kernel, s.end) {
			return s.bytes
		}
	}
	return 0
}

// fits reports whether the device has a kernel and enough shared memory for it.
func (s *kernelSet) fits(kernel string) bool {
	f := s.functions[kernel]
	return f != nil && int64(dynamicShared(kernel)+f.Attributes().Shared) <= s.perBlock
}

func (s *kernelSet) close() error {
	if s == nil {
		return nil
	}
	return s.module.Close()
}
