package trace

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/telemetry/recording"
)

// What is written is read back, in order of arrival, with the names hidden.
func TestWriterAndReader(t *testing.T) {
	var out bytes.Buffer
	w := recording.NewWriter(&out)
	a := w.Begin(recording.Arrived{At: 5 * time.Millisecond, Input: 33, PageSize: 16, Pages: []uint64{111, 222}, Conversation: "secret chat", Tenant: "secret key", Priority: -2})
	b := w.Begin(recording.Arrived{At: 4 * time.Millisecond, Input: 20, PageSize: 16, Pages: []uint64{111}, Tenant: "secret key"}) // late by a race
	c := w.Begin(recording.Arrived{At: 6500 * time.Microsecond, Input: 7})
	w.Begin(recording.Arrived{At: 7 * time.Millisecond, Input: 8}) // still runs at the end
	b.End(2)
	if err := w.Flush(); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("the second request is written before the first has ended: %s, %v", &out, err)
	}
	a.End(9)
	c.End(0)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "secret") || regexp.MustCompile(`\b(111|222)\b`).MatchString(out.String()) || strings.Count(out.String(), "unfinished") != 1 {
		t.Errorf("written:\n%s", &out)
	}
	all, err := readAll(t, write(t, "own.jsonl", out.String()), "jsonl")
	if err != nil || len(all) != 4 {
		t.Fatalf("%d requests, %v", len(all), err)
	}
	x, y, z := all[0], all[1], all[2]
	if x.Arrival != 5*time.Millisecond || x.Input != 33 || x.Output != 9 || x.BlockSize != 16 || len(x.Blocks) != 2 || x.Priority != -2 || x.Conversation == "" {
		t.Errorf("first: %+v", x)
	}
	if y.Arrival != 5*time.Millisecond || !slices.Equal(y.Blocks, x.Blocks[:1]) || y.Tenant != x.Tenant || y.Conversation != "" {
		t.Errorf("second: %+v", y)
	}
	if z.Arrival != 6500*time.Microsecond || z.Blocks != nil || z.Output != 0 {
		t.Errorf("third: %+v", z)
	}
}

func TestJSONLRefuses(t *testing.T) {
	ok := `{"troupe_trace":1}` + "\n" + `{"arrival_ms":5,"input":10,"output":1}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"blank", " \n", "the file has no header"},
		{"no request", `{"troupe_trace":1}`, "the file has no requests"},
		{"header", twoMooncake, "line 1: the header is"},
		{"version", `{"troupe_trace":2}`, "line 1: the trace has version 2; this program reads version 1"},
		{"broken header", `{"troupe`, "line 1: not valid JSON"},
		{"broken with a line end", ok + "{\n", "line 3: not valid JSON"},
		{"broken in the middle", ok + "{\n" + `{"arrival_ms":6,"input":10,"output":1}` + "\n", "line 3: not valid JSON"},
		{"nothing but a cut line", `{"troupe_trace":1}` + "\n" + `{"arrival_ms":5,"in`, "line 2: the only request is incomplete (19 bytes)"},
		{"no time", ok + `{"input":10,"output":1}`, "line 3: arrival_ms is missing"},
		{"no input", ok + `{"arrival_ms":5,"output":1}`, "line 3: input is missing"},
		{"no output", ok + `{"arrival_ms":5,"input":10}`, "line 3: output is missing"},
		{"negative", ok + `{"arrival_ms":5,"input":-10,"output":1}`, "line 3: the input has -10 tokens"},
		{"huge", ok + `{"arrival_ms":5,"input":10,"output":134217729}`, "line 3: the output has 134217729 tokens"},
		{"unsorted", ok + `{"arrival_ms":4,"input":10,"output":1}`, "line 3: the time goes back"},
		{"page size", ok + `{"arrival_ms":5,"input":10,"output":1,"page_size":65537,"pages":[]}`, "line 3: page_size is 65537"},
		{"no page size", ok + `{"arrival_ms":5,"input":10,"output":1,"pages":[1]}`, "line 3: page_size is missing"},
		{"too many", ok + `{"arrival_ms":5,"input":31,"output":1,"page_size":16,"pages":[1,2,3]}`, "line 3: the request has 3 block ids, but its input of 31 tokens requires 1 or 2, each of 16 tokens"},
		{"too few", ok + `{"arrival_ms":5,"input":31,"output":1,"page_size":16,"pages":[]}`, "line 3: the request has 0 block ids"},
		{"tenant", ok + `{"arrival_ms":5,"input":31,"output":1,"tenant":"me"}`, "line 3: tenant is string; it must be a whole number"},
		{"priority", ok + `{"arrival_ms":5,"input":31,"output":1,"priority":4294967296}`, "line 3: priority is number 4294967296; it must be a 32-bit integer"},
		{"encoding", ok + "\xff", "line 3: the text is not UTF-8"},
	} {
		_, err := readAll(t, write(t, "own.jsonl", c.text), "jsonl")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "own.jsonl") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// A recording that was cut anywhere has all requests before the cut, and names
// the line that it lost.
func TestJSONLCutAnywhere(t *testing.T) {
	var out bytes.Buffer
	w := recording.NewWriter(&out)
	for i := range 3 {
		w.Begin(recording.Arrived{At: time.Duration(i) * time.Second, Input: 20, PageSize: 16, Pages: []uint64{1}, Tenant: "a", Priority: 1}).End(2)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	lines := strings.SplitAfter(text, "\n")
	for at := len(lines[0] + lines[1]); at <= len(text); at++ {
		lines, rest := strings.Count(text[:at], "\n"), at-strings.LastIndex(text[:at], "\n")-1
		requests, warn := lines-1, ""
		switch {
		case rest > 0 && text[at] == '\n':
			requests++ // only the line end is missing
		case rest > 0:
			warn = fmt.Sprintf("own.jsonl: line %d: the last line is incomplete (%d bytes)", lines+1, rest)
		}
		var notes []string
		r, err := Open(write(t, "own.jsonl", text[:at]), "jsonl", Options{Warn: func(note string) { notes = append(notes, note) }})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for ; err == nil; n++ {
			_, err = r.Next()
		}
		r.Close()
		if err != io.EOF || n-1 != requests {
			t.Errorf("cut at byte %d: %d requests, want %d, %v", at, n-1, requests, err)
		}
		if warn == "" && len(notes) != 0 || warn != "" && (len(notes) != 1 || !strings.Contains(notes[0], warn) || !strings.Contains(notes[0], "its request is left out")) {
			t.Errorf("cut at byte %d: told %q, want %q", at, notes, warn)
		}
	}
}

// Files of the other formats were cut by an incomplete copy.
func TestCutCopiesAreRefused(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	fmt.Fprint(z, `{"troupe_trace":1}`+"\n"+`{"arrival_ms":5,"input":10,"output":1}`+"\n")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ format, text, want string }{
		{"mooncake", twoMooncake[:len(twoMooncake)-9], "line 3: not valid JSON"},
		{"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:5", "line 3"},
		{"jsonl", zipped.String()[:zipped.Len()-9], "unexpected EOF"},
	} {
		if _, err := readAll(t, write(t, "cut", c.text), c.format); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.format, err, c.want)
		}
	}
}

func FuzzJSONL(f *testing.F) {
	f.Add([]byte(`{"troupe_trace":1}` + "\n" + `{"arrival_ms":5,"input":31,"output":1,"page_size":16,"pages":[1,2],"tenant":7,"priority":-1}`))
	f.Add([]byte(`{"troupe_trace":1}` + "\n" + `{"arrival_ms":5,"input":31,"output":1}` + "\n" + `{"arrival_ms":5,"inp`))
	f.Fuzz(func(t *testing.T, text []byte) { checkFuzzed(t, text, "jsonl") })
}

// Everything that the writer writes is read back.
func FuzzWriter(f *testing.F) {
	f.Add(int64(5), 40, 3, 16, "c", "t", 1)
	f.Fuzz(func(t *testing.T, ms int64, input, output, pageSize int, conversation, tenant string, priority int) {
		if ms < 0 || ms > int64(MaxTime/time.Millisecond) || input < 1 || input > 1<<12 || output < 0 || output > MaxTokens || pageSize < 1 || pageSize > recording.MaxPageSize {
			return
		}
		var out bytes.Buffer
		w := recording.NewWriter(&out)
		pages := make([]uint64, input/pageSize)
		for i := range pages {
			pages[i] = uint64(i) * 0x9e3779b97f4a7c15
		}
		w.Begin(recording.Arrived{At: time.Duration(ms) * time.Millisecond, Input: input, PageSize: pageSize, Pages: pages, Conversation: conversation, Tenant: tenant, Priority: int32(priority)}).End(output)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		all, err := readAll(t, write(t, "own", out.String()), "jsonl")
		if err != nil || len(all) != 1 {
			t.Fatalf("%v from %s", err, &out)
		}
		r := *all[0]
		if distinct := slices.Compact(slices.Sorted(slices.Values(r.Blocks))); len(distinct) != len(pages) || len(r.Blocks) != len(pages) {
			t.Errorf("%d pages, %d distinct, of %d", len(r.Blocks), len(distinct), len(pages))
		}
		if (r.Conversation == "") != (conversation == "") || (r.Tenant == "") != (tenant == "") {
			t.Errorf("conversation %q, tenant %q", r.Conversation, r.Tenant)
		}
		r.Blocks, r.BlockSize, r.Conversation, r.Tenant = nil, 0, "", ""
		want := Request{Line: 2, Arrival: time.Duration(ms) * time.Millisecond, Input: input, Output: output, Priority: int32(priority)}
		if !reflect.DeepEqual(r, want) {
			t.Errorf("%+v, want %+v", r, want)
		}
	})
}
