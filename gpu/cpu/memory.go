//go:build linux || windows

package cpu

import "github.com/troupe-engine/troupe/gpu"

// lesser takes over a bound where it leaves less than m knows of.
func lesser(m gpu.Memory, total, available int64, source string) gpu.Memory {
	m.Total = min(m.Total, total)
	if available = max(0, available); available < m.Available {
		m.Available, m.Source = available, source
	}
	return m
}
