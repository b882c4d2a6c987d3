package remote

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/troupe-engine/troupe/internal/units"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// WriteMemory writes the memory of one reading as a table.
func (s *Status) WriteMemory(out io.Writer) error {
	m, w := s.Memory.Stats, tabwriter.NewWriter(logtext.NewTerminal(out), 0, 0, 2, ' ', 0)
	perToken := max(1, m.BytesPerToken)
	fmt.Fprintf(w, "%s on %s, up %s, %d pages of %d tokens, %s per token\n", s.Model.ID, s.Device.Name, age(s.Uptime), s.Memory.Pages, s.Memory.PageSize, units.Bytes(m.BytesPerToken))
	for _, r := range []struct {
		name  string
		bytes int64
		what  string
	}{
		{"total KV cache", m.Total, ""},
		{"used", m.Used, "in use by running requests: locked + leased"},
		{"  locked", m.Locked, "cached and in use"},
		{"  leased", m.Leased, "private to one request"},
		{"evictable", m.Evictable, "cached and not in use: evicted when room is needed"},
		{"free", m.Free, ""},
	} {
		fmt.Fprintf(w, "%s\t%s\t%d tokens\t%.1f %%\t%s\n", r.name, units.Bytes(r.bytes), r.bytes/perToken, share(r.bytes, m.Total), r.what)
	}
	fmt.Fprintf(w, "cache hit ratio\t%s\t%d of %d tokens\t\t%s\n", percent(m.HitRate), m.HitTokens, m.QueryTokens, m.HitRateOver)
	fmt.Fprintf(w, "radix tree nodes\t%d\t\t\t\n", m.RadixNodes)
	fmt.Fprintf(w, "device memory allocated\t%s\t\t\tmeasured; the sum of:\n", units.Bytes(m.Allocated))
	for _, purpose := range slices.Sorted(maps.Keys(m.ByPurpose)) {
		fmt.Fprintf(w, "  %s\t%s\t\t\t\n", purpose, units.Bytes(m.ByPurpose[purpose]))
	}
	fmt.Fprintf(w, "device memory reserved\t%s\t\t\tmaximum, including the workspace of the largest step\n", units.Bytes(m.Reserved))
	return w.Flush()
}
