//go:build !race

// Without the race detector only: it looks for defects of arithmetic, and the
// detector makes arithmetic ten times slower.

package gputest_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/gputest"
)

// The suite is worth what it finds: it passes a device and fails each mutant.
func TestMutantsAreFound(t *testing.T) {
	d, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	if failed := gputest.Failure(d); failed != "" {
		t.Fatalf("without a defect: %s", failed)
	}
	for _, m := range gputest.Mutants(d) {
		t.Run(m.Name, func(t *testing.T) {
			failed := gputest.Failure(m)
			if failed == "" {
				t.Fatal("no check fails")
			}
			t.Log(failed)
		})
	}
}
