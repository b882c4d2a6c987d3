//go:build cuda

package cuda

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu/cuda/kernels"
)

// Every kernel of the manifest loads, from the image for this device and from PTX, and is
// what the manifest says: no spills, its registers and shared memory, and a block that fits.
func TestModulesLoad(t *testing.T) {
	b := newBed(t)
	d := b.device.Description()
	t.Logf("%s, compute capability %d.%d, CUDA %d.%d, %d multiprocessors, %d bytes of shared memory for a block",
		d.Name, d.Capability/10, d.Capability%10, d.Driver/1000, d.Driver%1000/10, d.Multiprocessors, d.SharedPerBlock)
	checkModule(t, b, "the image for this device", d.Capability/10, d.Capability%10)
	checkModule(t, b, "PTX", d.Capability/10+20, 0)
}

// checkModule loads the image that a capability has. What a driver's compiler makes of PTX is
// only printed. The emulation has no registers.
func checkModule(t *testing.T, b *bed, what string, major, minor int) {
	image, err := kernels.Image(major, minor)
	b.must(err)
	module, err := b.device.LoadModule(image)
	b.must(err)
	defer func() { b.must(module.Close()) }()
	target, loaded, most := kernels.Target(major, minor), 0, 0
	assembled := major < 10
	for _, k := range kernels.Contents().Kernels {
		want, built := k.Builds[target]
		if !built {
			continue
		}
		f, err := module.Function(k.Name)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		a := f.Attributes()
		loaded, most = loaded+1, max(most, a.Registers)
		t.Logf("%s: %s: %d registers, %d bytes of local memory, %d of shared memory, at most %d threads, sm_%d",
			what, k.Name, a.Registers, a.Local, a.Shared, a.MaxThreads, a.Architecture)
		reserved := a.Shared - want.Shared // a driver may count what it needs itself
		if assembled && (a.Registers != want.Registers && a.Registers > 0 || reserved != 0 && reserved != 1024) {
			t.Errorf("%s: %s has %d registers and %d bytes of shared memory; the manifest says %d and %d", what, k.Name, a.Registers, a.Shared, want.Registers, want.Shared)
		}
		if assembled && a.Local != 0 {
			t.Errorf("%s: %s has %d bytes of local memory, so it spills registers", what, k.Name, a.Local)
		}
		if a.MaxThreads < k.Threads {
			t.Errorf("%s: %s can have %d threads, and is started with %d", what, k.Name, a.MaxThreads, k.Threads)
		}
		if a.Parameters >= 0 && a.Parameters != len(k.Parameters) {
			t.Errorf("%s: %s has %d parameters; the manifest says %d", what, k.Name, a.Parameters, len(k.Parameters))
		}
		if n := dynamicShared(k.Name); n > plainShared && int64(n+a.Shared) <= b.device.Description().SharedPerBlock {
			if err := f.SetDynamicShared(n); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	t.Logf("%s: %d kernels of %s, at most %d registers", what, loaded, target, most)
}
