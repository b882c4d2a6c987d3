//go:build unix

package hub_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// A pull is killed at 20 points, by the bytes that the hub has sent. Of each killed process,
// at most 8 MiB come again, and the file is right in the end.
func TestResumeAfterKill(t *testing.T) {
	const size, kills, most = 96 << 20, 20, 8 << 20
	repo := &hubtest.Repo{Name: "org/big", Files: map[string][]byte{"a.gguf": data("big", size)}}
	h := hubtest.Start(t, repo)
	cache := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	var count atomic.Int64
	begun := make([]int64, 0, kills+2) // requests before each process
	for i := range kills + 1 {
		begun = append(begun, count.Load())
		child := pullInAChild(t, h.URL, cache)
		var out bytes.Buffer
		child.Stdout, child.Stderr = &out, &out
		pieces := make(chan struct{}, 1<<16)
		h.SetFault(func(c *hubtest.Call) bool {
			if count.Add(1); c.CDN {
				pieces <- struct{}{}
			}
			return false
		})
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if i < kills {
			for range 1 + random.IntN(size/(1<<20)/kills) {
				<-pieces
			}
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		err := child.Wait()
		if i == kills && err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, out.Bytes())
		}
	}
	// A byte that comes again was lost with the process that got it last.
	requests := h.Requests()
	begun = append(begun, int64(len(requests)))
	last, lost := make([]uint8, size), [kills + 2]int{} // processes count from 1
	for i := range kills + 1 {
		for _, r := range requests[begun[i]:begun[i+1]] {
			from := 0
			if r.Host != "cdn" {
				continue
			}
			if _, err := fmt.Sscanf(r.Range, "bytes=%d-", &from); err != nil {
				t.Fatalf("the range %q: %v", r.Range, err)
			}
			for at := from; at < from+int(r.Sent); at++ {
				lost[last[at]]++
				last[at] = uint8(i + 1)
			}
		}
	}
	for process, n := range lost[1:] {
		if n > most {
			t.Errorf("seed %d: %d bytes of process %d came twice", seed, n, process)
		}
	}
	t.Logf("at most %.2f MiB of a process came twice", float64(slices.Max(lost[1:]))/(1<<20))
	opt := options(t, h)
	opt.Cache = cache
	got, err := hub.New(opt).Cached(name(t, "org/big"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(got.Path); err != nil || !bytes.Equal(text, repo.Files["a.gguf"]) {
		t.Errorf("seed %d: %d bytes, %v", seed, len(text), err)
	}
}
