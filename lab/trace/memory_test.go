package trace

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// longTrace packs a Mooncake trace of lines of 12 KB, equal except for the time, so
// that the file is small.
func longTrace(t *testing.T, lines int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "long.jsonl.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	ids := strings.Repeat("12345678901, ", 999) + "1"
	for i := range lines {
		if _, err := fmt.Fprintf(z, `{"timestamp": %d, "input_length": 511999, "output_length": 1, "hash_ids": [%s]}`+"\n", i, ids); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// A long trace is read in the memory of a short one: 33 MB of text here, 3.3 GB
// in the soak.
func TestBoundedMemory(t *testing.T) {
	lines := 2500
	if os.Getenv("TROUPE_SOAK") == "1" {
		lines *= 100
	}
	r, err := Open(longTrace(t, lines), "mooncake", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var first, most uint64
	for n := 1; ; n++ {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			if n != lines+1 {
				t.Errorf("%d lines of %d", n-1, lines)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n%(lines/5) == 0 {
			heap := live()
			if first == 0 {
				first = heap
			}
			most = max(most, heap)
		}
	}
	if most > first+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", first, most)
	}
}

// A conversation of a weka trace is held while it goes on, and as what each
// request adds to the one before it: 4 bytes per new block.
func TestWekaHoldsWhatIsNew(t *testing.T) {
	const turns, blocks = 400, 2000
	var text strings.Builder
	text.WriteString(`{"id":"x","block_size":4,"requests":[`)
	ids := ""
	for i := range blocks {
		ids += fmt.Sprint(i+1, ",")
	}
	for i := range turns {
		if i > 0 {
			text.WriteByte(',')
		}
		ids += fmt.Sprint(blocks+i+1, ",")
		fmt.Fprintf(&text, `{"t":%d,"in":%d,"out":1,"hash_ids":[%s]}`, i, (blocks+i+1)*4, strings.TrimSuffix(ids, ","))
	}
	text.WriteString(`]}`)
	threads, span, err := parseConversation("x", strings.NewReader(text.String()))
	if err != nil || len(threads) != 1 || span != blocks+turns+1 {
		t.Fatalf("%d threads, %d ids, %v", len(threads), span, err)
	}
	if kept := len(threads[0].added); kept != blocks+turns {
		t.Errorf("%d ids are kept, want %d", kept, blocks+turns)
	}
	for i := range turns {
		if r := threads[0].pop(); len(r.Blocks) != blocks+i+1 || r.Blocks[blocks+i] != uint64(blocks+i+1) {
			t.Fatalf("request %d has %d blocks", i, len(r.Blocks))
		}
	}
}
