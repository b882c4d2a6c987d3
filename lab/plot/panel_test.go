package plot

import (
	"slices"
	"testing"
)

func TestTicksStandAtRoundNumbers(t *testing.T) {
	for _, tc := range []struct {
		min, max float64
		whole    bool
		want     []string
	}{
		{0, 75, true, []string{"0", "10", "20", "30", "40", "50", "60", "70"}},
		{0.2, 8, false, []string{"1", "2", "3", "4", "5", "6", "7", "8"}},
		{0, 28676, true, []string{"0", "5000", "10000", "15000", "20000", "25000"}},
		{0, 1100, false, []string{"0", "200", "400", "600", "800", "1000"}},
		{0, 293, true, []string{"0", "50", "100", "150", "200", "250"}},
		{0, 1, false, []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		{0, 1, true, []string{"0", "1"}},
		{0, 2, true, []string{"0", "1", "2"}},
		{0, 0.35, false, []string{"0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35"}},
		{-3, 3, true, []string{"-3", "-2", "-1", "0", "1", "2", "3"}},
		{4, 4, false, nil},
	} {
		var labels []string
		for _, tick := range (ticks{whole: tc.whole}).Ticks(tc.min, tc.max) {
			if tick.Value < tc.min-1e-9 || tick.Value > tc.max+1e-9 {
				t.Errorf("%v to %v: a tick at %v", tc.min, tc.max, tick.Value)
			}
			if tc.whole && tick.Value != float64(int(tick.Value)) {
				t.Errorf("%v to %v: a tick at %v, which is not whole", tc.min, tc.max, tick.Value)
			}
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if !slices.Equal(labels, tc.want) {
			t.Errorf("%v to %v: %q, want %q", tc.min, tc.max, labels, tc.want)
		}
	}
}
