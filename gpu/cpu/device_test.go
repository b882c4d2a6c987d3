package cpu_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// open makes a device or ends the test.
func open(t testing.TB, o cpu.Options) gpu.Device {
	t.Helper()
	d, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Every level of this processor. Another test compares the bits of different numbers of
// threads.
func TestDevice(t *testing.T) {
	for i, level := range simd.Levels() {
		o := cpu.Options{Threads: 1 + i, InstructionSet: level.String()}
		t.Run(level.String(), func(t *testing.T) { gputest.RunDevice(t, open(t, o)) })
		// Without int8 only quantised weights differ: types
		// with kernels, one that another form holds exactly, one that is widened.
		o.Activations = "f32"
		t.Run(level.String()+"/f32", func(t *testing.T) {
			for _, w := range []string{"q8_0", "q4_0", "iq4_nl", "q6_k"} {
				if failure := gputest.Failure(open(t, o), "weights/"+w); failure != "" {
					t.Error(failure)
				}
			}
		})
	}
}
