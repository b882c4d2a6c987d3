package sampletest

import (
	"os"
	"testing"

	"github.com/troupe-engine/troupe/testkit/cudaemu"
)

// sample and score give what their twin gives, to the bit, whatever the number of threads,
// the grid, the schedule, and the other entries of the step. No access is out of bounds,
// and barriers order all of them.
func TestTwin(t *testing.T) {
	for _, v := range []struct {
		name         string
		sanitizer    cudaemu.Sanitizer
		small, large string // numbers of cases
	}{
		{"plain", cudaemu.Plain, "2500", "150"},
		{"races", cudaemu.Races, "250", "5"},
		{"addresses", cudaemu.Address, "250", "5"},
	} {
		t.Run(v.name, func(t *testing.T) {
			p := program(t, mainSources, home, v.sanitizer)
			if os.Getenv("TROUPE_SOAK") != "" {
				v.small += "0"
			}
			output(t, p, "weights", "1000000")
			output(t, p, "twin", "1", v.small, "4097")
			output(t, p, "twin", "1000000", v.large, "32000")
		})
	}
}

// exp and log are within the errors that exp64.cuh states.
func TestExpAndLog(t *testing.T) {
	output(t, program(t, []string{"exp64.cc"}, home, cudaemu.Plain), "1000000", "0.83", "0.87")
}
