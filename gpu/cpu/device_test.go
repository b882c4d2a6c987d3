package cpu_test

import (
	"fmt"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/gputest"
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

func TestDevice(t *testing.T) {
	for _, threads := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("threads-%d", threads), func(t *testing.T) {
			gputest.RunDevice(t, open(t, cpu.Options{Threads: threads}))
		})
	}
	t.Run("narrow weights", func(t *testing.T) {
		gputest.RunDevice(t, open(t, cpu.Options{Threads: 2, WidenBelow: -1}))
	})
}
