//go:build cuda

package cuda

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/testkit/cudaemu"
)

// TestTiles times every kernel for products on the shapes of Llama 3.1 8B, with the sums
// spread over 1, 2, 4 and more blocks: the table from which gemms and splits.product were
// chosen. It needs a GPU, and TROUPE_CUDA_TILES=1.
func TestTiles(t *testing.T) {
	if !cudaemu.RealDevice() || os.Getenv("TROUPE_CUDA_TILES") == "" {
		t.Skipf("it measures a GPU; set %s and TROUPE_CUDA_TILES=1", cudaemu.DeviceVariable)
	}
	m := &meter{bed: newBed(t), scale: 1, least: 2 * time.Millisecond}
	m.splits = splits{multiprocessors: m.device.Description().Multiprocessors}
	t.Log("| rows | product | kernel | splits: µs |")
	t.Log("|---|---|---|---|")
	for _, s := range []struct {
		what string
		k, n int
	}{{"o", 4096, 4096}, {"q, k, v", 4096, 6144}, {"gate, up", 4096, 28672}, {"down", 14336, 4096}} {
		for _, rows := range []int{16, 32, 64, 128, 256, 512} {
			known := map[string]bool{}
			for _, g := range gemms {
				if known[g.name] || !m.kernels.fits(g.name+"_bf16") || g.tile > max(64, 2*rows) || g.tile <= 16 && rows > g.tile {
					continue
				}
				known[g.name] = true
				line, tiles := "", g.of(s.n)
				for parts := 1; parts <= ceilDiv(s.k, productSegment); parts *= 2 {
					if parts > 1 && (!g.splits || parts*tiles*ceilDiv(rows, g.tile) > 4*m.splits.multiprocessors*g.perSM) {
						break
					}
					m.splits.parts = parts
					took := m.each(m.product(g, rows, s.k, m.rotating(2*int64(s.n)*int64(s.k)), s.n))
					line += fmt.Sprintf(" %d: %.1f", parts, float64(took.Nanoseconds())/1e3)
					m.release()
				}
				t.Logf("| %d | %s | %s |%s |", rows, s.what, g.name, line)
			}
		}
	}
}
