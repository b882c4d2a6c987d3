//go:build !race

// Without the race detector only: it looks for defects of arithmetic, and the
// detector makes arithmetic ten times slower.

package gputest_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/ref"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// The suite is worth what it finds: it passes a device and fails each mutant.
func TestMutantsAreFound(t *testing.T) {
	d, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	if failed := gputest.Failure(d, ""); failed != "" {
		t.Fatalf("without a defect: %s", failed)
	}
	for _, m := range gputest.Mutants(d) {
		t.Run(m.Name, func(t *testing.T) {
			failed := gputest.Failure(m, m.Checks)
			if failed == "" {
				t.Fatal("no check fails")
			}
			t.Log(failed)
		})
	}
}

// A row is found whatever its step depends on: gpu/ref passes the suite, which
// is what it is compared with, and fails it with each defect.
func TestMutantsOfRowsAreFound(t *testing.T) {
	if failed := gputest.Failure(ref.New(), "steps in flight"); failed != "" {
		t.Fatalf("without a defect: %s", failed)
	}
	for _, m := range gputest.RowMutants() {
		t.Run(m.Name, func(t *testing.T) {
			failed := gputest.Failure(m, m.Checks)
			if failed == "" {
				t.Fatal("no check fails")
			}
			t.Log(failed)
		})
	}
}

// The reference takes every type, so that every defect of reading one is tried;
// for the other device, of those that it takes.
func TestMutantsOfTypesAreFound(t *testing.T) {
	d, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []gpu.Device{ref.New(), d} {
		mutants := gputest.TypeMutants(d)
		if len(mutants) < len(d.Info().KV)-1 {
			t.Errorf("%s: %d mutants", d.Info().Kind, len(mutants))
		}
		for _, m := range mutants {
			t.Run(d.Info().Kind+"/"+m.Name, func(t *testing.T) {
				failed := gputest.Failure(m, m.Checks)
				if failed == "" {
					t.Fatalf("no check of %s fails", m.Checks)
				}
				t.Log(failed)
			})
		}
	}
}
