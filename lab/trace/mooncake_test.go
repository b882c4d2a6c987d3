package trace

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/testkit/conformance"
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// readAll reads a trace to its end or first error.
func readAll(t testing.TB, path, format string) ([]*Request, error) {
	t.Helper()
	r, err := Open(path, format, Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []*Request
	for {
		req, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, req)
	}
}

const twoMooncake = `{"timestamp": 0, "input_length": 513, "output_length": 5, "hash_ids": [0, 1]}

{"timestamp": 1500, "input_length": 512, "output_length": 0, "hash_ids": [18446744073709551615]}
`

func TestMooncake(t *testing.T) {
	all, err := readAll(t, write(t, "t.jsonl", twoMooncake), "mooncake")
	if err != nil || len(all) != 2 {
		t.Fatalf("%d requests, %v", len(all), err)
	}
	a, b := all[0], all[1]
	if a.Line != 1 || a.Arrival != 0 || a.Input != 513 || a.Output != 5 || len(a.Blocks) != 2 || a.Blocks[1] != 1 || a.BlockSize != 512 {
		t.Errorf("first request: %+v", a)
	}
	if b.Line != 3 || b.Arrival != 1500*time.Millisecond || b.Blocks[0] != 1<<64-1 {
		t.Errorf("second request: %+v", b)
	}
}

func TestGzip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl") // not by the name
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	z.Write([]byte(twoMooncake))
	z.Close()
	f.Close()
	r, err := Open(path, "mooncake", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if read, size := r.Progress(); read == 0 || read != size {
		t.Errorf("progress %d of %d", read, size)
	}
}

// Every refusal names file, line and what.
func TestMooncakeRefuses(t *testing.T) {
	ok := `{"timestamp": 5, "input_length": 10, "output_length": 1, "hash_ids": [7]}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "t.jsonl: the file is empty"},
		{"blank", "\n \n", "t.jsonl: the file has no requests"},
		{"broken", ok + `{"timestamp": 6,`, "line 2: not valid JSON at byte 16"},
		{"no object", ok + `[]`, "line 2: expected a JSON object, got array"},
		{"no time", `{"input_length": 10, "output_length": 1, "hash_ids": [7]}`, "line 1: timestamp is missing"},
		{"no ids", `{"timestamp": 5, "input_length": 10, "output_length": 1}`, "line 1: hash_ids is missing"},
		{"null ids", `{"timestamp": 5, "input_length": 10, "output_length": 1, "hash_ids": null}`, "line 1: "},
		{"null id", `{"timestamp": 5, "input_length": 10, "output_length": 1, "hash_ids": [null]}`, "line 1: block id null is not a whole number"},
		{"fraction", `{"timestamp": 5, "input_length": 10, "output_length": 1, "hash_ids": [1.0]}`, "line 1: block id 1.0 is not a whole number"},
		{"negative id", `{"timestamp": 5, "input_length": 10, "output_length": 1, "hash_ids": [-1]}`, "line 1: block id -1 is not"},
		{"negative", ok + `{"timestamp": 6, "input_length": -10, "output_length": 1, "hash_ids": [7]}`, "line 2: the input has -10 tokens"},
		{"huge", ok + `{"timestamp": 6, "input_length": 134217729, "output_length": 1, "hash_ids": [7]}`, "line 2: the input has 134217729 tokens; it must have between 1 and 134217728"},
		{"bigger", ok + `{"timestamp": 6, "input_length": 1e400, "output_length": 1, "hash_ids": [7]}`, "line 2: input_length is number 1e400; it must be a whole number"},
		{"output", ok + `{"timestamp": 6, "input_length": 1, "output_length": 134217729, "hash_ids": [7]}`, "line 2: the output has 134217729 tokens"},
		{"too many", ok + `{"timestamp": 6, "input_length": 512, "output_length": 1, "hash_ids": [7, 8]}`, "line 2: the request has 2 block ids, but its input of 512 tokens requires 1, each of 512 tokens"},
		{"too few", ok + `{"timestamp": 6, "input_length": 513, "output_length": 1, "hash_ids": [7]}`, "line 2: the request has 1 block ids, but its input of 513 tokens requires 2, each of 512 tokens"},
		{"unsorted", ok + `{"timestamp": 4, "input_length": 10, "output_length": 1, "hash_ids": [7]}`, "line 2: the time goes back from 5ms to 4ms; sort"},
		{"early", `{"timestamp": -4, "input_length": 10, "output_length": 1, "hash_ids": [7]}`, "line 1: the time is -4 ms"},
		{"late", `{"timestamp": 1e18, "input_length": 10, "output_length": 1, "hash_ids": [7]}`, "line 1: the time is 1e+18 ms"},
		{"encoding", ok + "{\"timestamp\": \"\xff\"}", "line 2: the text is not UTF-8"},
		{"long", ok + strings.Repeat(" ", MaxLine+1) + ok, "line 2: the line is longer than 32 MiB"},
		{"gzip", "\x1f\x8bnonsense", "t.jsonl: cannot be unpacked"},
	} {
		_, err := readAll(t, write(t, "t.jsonl", c.text), "mooncake")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "t.jsonl") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if _, is := errors.AsType[*Error](err); !is {
			t.Errorf("%s: %T is no *Error", c.name, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open("x", "csv", Options{}); err == nil || !strings.Contains(err.Error(), `format "csv" is not known; use one of `) || !strings.Contains(err.Error(), "mooncake") {
		t.Error(err)
	}
	if _, err := Open(t.TempDir(), "mooncake", Options{}); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), "mooncake", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestTokens(t *testing.T) {
	a := &Request{Line: 1, Input: 20, Blocks: []uint64{5, 6, 7}, BlockSize: 8}
	b := &Request{Line: 2, Input: 17, Blocks: []uint64{5, 7}, BlockSize: 8}
	x, y := a.Tokens(nil), b.Tokens(nil)
	if len(x) != 20 || len(y) != 17 {
		t.Fatalf("%d and %d tokens", len(x), len(y))
	}
	for i := range 8 {
		if x[i] != y[i] {
			t.Errorf("token %d of block 5 is %d and %d", i, x[i], y[i])
		}
	}
	for i := range 4 {
		if x[16+i] != y[8+i] {
			t.Errorf("token %d of block 7 is %d and %d", i, x[16+i], y[8+i])
		}
	}
	if x[8] == y[8] {
		t.Error("blocks 6 and 7 begin alike")
	}
	first := map[int32]uint64{}
	for id := range uint64(100_000) {
		token := appendBlock(nil, id*21474, 1)[0]
		if other, ok := first[token]; ok || token < 0 {
			t.Fatalf("blocks %d and %d begin with %d", id, other, token)
		}
		first[token] = id
	}
	bare := &Request{Line: 1, Input: 3}
	if p, q := bare.Tokens(nil), (&Request{Line: 2, Input: 3}).Tokens(nil); len(p) != 3 || p[0] == q[0] {
		t.Errorf("requests without blocks: %v and %v", p, q)
	}
}

func FuzzMooncake(f *testing.F) {
	f.Add([]byte(twoMooncake))
	f.Add([]byte(`{"timestamp":0,"input_length":1,"output_length":0,"hash_ids":[1 ,2]}`))
	f.Fuzz(func(t *testing.T, text []byte) { checkFuzzed(t, text, "mooncake") })
}

// checkFuzzed asserts what holds for every request that a reader accepts.
func checkFuzzed(t *testing.T, text []byte, format string) {
	path := filepath.Join(t.TempDir(), "t")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := readAll(t, path, format)
	if err == nil && len(all) == 0 {
		t.Error("neither request nor error")
	}
	var last Request
	for _, r := range all {
		if r.Line <= last.Line || r.Arrival < last.Arrival || r.Arrival > 2*MaxTime || r.Input < 1 || r.Input > MaxTokens || r.Output < 0 || r.Output > MaxTokens {
			t.Errorf("%+v after %+v", r, last)
		}
		if len(r.Blocks) > 0 && (r.BlockSize < 1 || (len(r.Blocks)-1)*r.BlockSize >= r.Input) {
			t.Errorf("%d blocks of %d for %d tokens", len(r.Blocks), r.BlockSize, r.Input)
		}
		last = *r
	}
}

func TestConformanceMooncake(t *testing.T) {
	dir := conformance.Path(t, "traces", "mooncake")
	for name, want := range map[string][2]int{"conversation": {12031, 288500}, "synthetic": {3993, 121877}} {
		all, err := readAll(t, filepath.Join(dir, name+"_trace.jsonl"), "mooncake")
		if err != nil || len(all) != want[0] {
			t.Errorf("%s: %d requests, %v", name, len(all), err)
		}
		blocks := 0
		for _, r := range all {
			blocks += len(r.Blocks)
		}
		if blocks != want[1] {
			t.Errorf("%s: %d blocks, want %d", name, blocks, want[1])
		}
	}
}
