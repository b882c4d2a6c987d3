//go:build linux || windows

package cpu

import "github.com/troupe-engine/troupe/gpu"

// lesser applies a limit if it leaves less than m has.
func lesser(m gpu.Memory, total, available int64, source string) gpu.Memory {
	m.Total = min(m.Total, total)
	if available = max(0, available); available < m.Available {
		m.Available, m.Source = available, source
	}
	return m
}
