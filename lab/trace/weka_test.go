package trace

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ulikunitz/xz"

	"github.com/troupe-engine/troupe/testkit/conformance"
)

const conversationA = `{"id":"a","block_size":4,"hash_id_scope":"local","totals":{"x":[1]},"requests":[
{"t":0.0,"type":"n","in":9,"out":1,"hash_ids":[1,2]},
{"t":1.5,"type":"subagent","requests":[{"t":0.0,"type":"n","in":4,"out":0,"hash_ids":[9]},{"t":4,"type":"s","in":8,"out":0,"hash_ids":[9,3]}]},
{"t":2.5,"type":"n","in":13,"out":2,"hash_ids":[1,2,3]}]}`

const conversationB = `{"requests":[{"t":0.5,"type":"n","in":3,"out":1,"hash_ids":[]},{"t":60,"type":"n","in":8,"out":1,"hash_ids":[0,1]}],"block_size":4,"id":"b"}`

func shape(all []*Request) []string {
	var out []string
	for _, r := range all {
		out = append(out, fmt.Sprintf("%d %v %s %d/%d %v", r.Line, r.Arrival, r.Conversation, r.Input, r.Output, r.Blocks))
	}
	return out
}

func TestWekaFile(t *testing.T) {
	all, err := readAll(t, write(t, "a.json", conversationA), "weka")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 0s a 9/1 [1 2]",
		"2 1.5s a/1 4/0 [9]",
		"3 2.5s a 13/2 [1 2 3]",
		"4 5.5s a/1 8/0 [9 3]",
	}
	if got := shape(all); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !all[1].Subagent || all[0].Subagent || all[0].BlockSize != 4 {
		t.Errorf("%+v, %+v", all[0], all[1])
	}
}

// A directory, an archive and a packed archive read the same: merged by time,
// block ids apart, the same for the same seed.
func TestWekaMerge(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"1.json": conversationA, "2.json": conversationB, "3.json": conversationB, "README.md": "none", "._1.json": "none"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	x, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Write(tarOf(t, files)); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	want, err := readAll(t, dir, "weka")
	if err != nil || len(want) != 8 {
		t.Fatalf("%d requests, %v", len(want), err)
	}
	starts := map[string]time.Duration{}
	for i, r := range want {
		if i > 0 && r.Arrival < want[i-1].Arrival {
			t.Errorf("%v after %v", r.Arrival, want[i-1].Arrival)
		}
		if _, ok := starts[r.Conversation]; !ok {
			starts[r.Conversation] = r.Arrival
		}
	}
	if starts["b"] <= starts["a"] {
		t.Errorf("starts: %v", starts)
	}
	// a uses the ids 0..9, so the first b's begin at 10, the second's at 12.
	if last := want[len(want)-1]; !slices.Equal(last.Blocks, []uint64{12, 13}) {
		t.Errorf("block ids of the last request: %v", last.Blocks)
	}
	for name, bytes := range map[string][]byte{"t.tar": tarOf(t, files), "t.tar.xz": packed.Bytes()} {
		got, err := readAll(t, write(t, name, string(bytes)), "weka")
		if err != nil || !slices.Equal(shape(got), shape(want)) {
			t.Errorf("%s: %v, %v", name, shape(got), err)
		}
	}
	r, err := Open(dir, "weka", Options{Seed: 1, ConversationGap: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := 0; i < 4; i++ {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if next, err := r.Next(); err != nil || next.Conversation != "b" || next.Arrival < time.Minute {
		t.Errorf("with a gap of an hour, the second conversation: %+v, %v", next, err)
	}
}

// tarOf is an archive of files, by name.
func tarOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: "traces/" + name, Mode: 0o600, Size: int64(len(files[name])), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWekaRefuses(t *testing.T) {
	with := func(requests string) string { return `{"block_size":4,"requests":[` + requests + `]}` }
	one := `{"t":5,"in":4,"out":1,"hash_ids":[1]}`
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"broken", with(`{"t":`), "request 1: not valid JSON"},
		{"cut", `{"block_size":4,"requests":[` + one, "the file ends in the middle"},
		{"array", `[]`, `expected "{" at byte`},
		{"twice", with(one) + with(one), "unexpected text after the conversation"},
		{"nobody", with(""), "the conversation has no requests"},
		{"no time", with(`{"in":4}`), `request 1: the key "t" (time) is missing`},
		{"no ids", with(one + `,{"t":5,"in":4,"out":1}`), "request 2: hash_ids is missing"},
		{"unsorted", with(one + `,{"t":4,"in":4,"out":1,"hash_ids":[1]}`), "request 2: the time goes back from 5s to 4s"},
		{"negative", with(`{"t":5,"in":-4,"out":1,"hash_ids":[1]}`), "request 1: the input has -4 tokens"},
		{"huge", with(`{"t":5,"in":4,"out":134217729,"hash_ids":[1]}`), "request 1: the output has 134217729 tokens"},
		{"early", with(`{"t":-5,"in":4,"out":1,"hash_ids":[1]}`), "request 1: the time is -5 s"},
		{"too many", with(`{"t":5,"in":5,"out":1,"hash_ids":[1,2,3]}`), "the request has 3 block ids, but its input of 5 tokens requires 1 or 2, each of 4 tokens"},
		{"subagent", with(`{"t":5,"type":"subagent","requests":[{"t":5}]}`), `request 1: request 1 of the subagent: the key "in" (input tokens) is missing`},
		{"nested subagents", with(strings.Repeat(`{"t":6e8,"type":"subagent","requests":[`, 20) + one + strings.Repeat("]}", 20)), "the subagent starts more than 7300 days after the conversation"},
		{"id", with(`{"t":5,"in":4,"out":1,"hash_ids":[4294967296]}`), "request 1: block id 4294967296 is above"},
		{"block size", `{"requests":[` + one + `]}`, "block_size is 0"},
		{"scope", `{"hash_id_scope":"global","block_size":4,"requests":[` + one + `]}`, `hash_id_scope is "global", which is not supported; supported: local`},
		{"encoding", "{\"id\":\"\xff\"}", "the text is not UTF-8"},
		{"xz", "\xfd7zXZ\x00nonsense", "cannot be unpacked"},
	} {
		_, err := readAll(t, write(t, "w.json", c.text), "weka")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "w.json") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Open(t.TempDir(), "weka", Options{}); err == nil || !strings.Contains(err.Error(), "the directory has no .json file; give the one that holds the conversations") {
		t.Error(err)
	}
	files := map[string]string{"bad.json": `{`}
	if _, err := readAll(t, write(t, "w.tar", string(tarOf(t, files))), "weka"); err == nil || !strings.Contains(err.Error(), "w.tar:traces/bad.json: ") {
		t.Error(err)
	}
	if _, err := readAll(t, write(t, "w.tar", string(tarOf(t, map[string]string{"x": ""}))), "weka"); err == nil || !strings.Contains(err.Error(), "the archive has no .json file") {
		t.Error(err)
	}
}

func FuzzWeka(f *testing.F) {
	f.Add([]byte(conversationA))
	f.Add([]byte(conversationB))
	f.Fuzz(func(t *testing.T, text []byte) { checkFuzzed(t, text, "weka") })
}

func TestConformanceWeka(t *testing.T) {
	r, err := Open(conformance.Path(t, "traces/weka_claude_code/weka_traces_710.tar.xz"), "weka", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, own, conversations := 0, 0, map[string]bool{}
	for {
		req, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all++
		if !req.Subagent {
			own++
			conversations[req.Conversation] = true
		}
	}
	if own != 48658 || len(conversations) != 710 || all <= own {
		t.Errorf("%d requests, %d of %d conversations", all, own, len(conversations))
	}
	if read, size := r.Progress(); read != size {
		t.Errorf("read %d bytes of %d", read, size)
	}
}
