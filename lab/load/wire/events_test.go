package wire

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// slowEvents reads a whole stream as the standard says.
func slowEvents(stream string) (events []string) {
	lines := regexp.MustCompile("\r\n|\r|\n").Split(strings.TrimPrefix(stream, "\xef\xbb\xbf"), -1)
	name, data := "", []string(nil)
	for _, line := range append(lines, "") { // what the stream ends with counts
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				events = append(events, name+"|"+strings.Join(data, "\n"))
			}
			name, data = "", nil
		case field == "data":
			data = append(data, value)
		case field == "event":
			name = value
		}
	}
	return events
}

// fastEvents feeds a stream in pieces that end at cuts.
func fastEvents(t interface{ Fatal(...any) }, e *Events, stream string, cuts []int) (events []string) {
	each := func(name, data []byte) error {
		events = append(events, fmt.Sprintf("%s|%s", name, data))
		return nil
	}
	from := 0
	for _, cut := range append(cuts, len(stream)) {
		if err := e.Feed([]byte(stream[from:cut]), each); err != nil {
			t.Fatal(err)
		}
		from = cut
	}
	if err := e.End(each); err != nil {
		t.Fatal(err)
	}
	return events
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		want         []string
	}{
		{"nothing", "", nil},
		{"two", "data: a\n\ndata: b\n\n", []string{"|a", "|b"}},
		{"no space", "data:a\n\ndata:  b\n\n", []string{"|a", "| b"}},
		{"several lines", "data: {\ndata:  1\ndata: }\n\n", []string{"|{\n 1\n}"}},
		{"empty data", "data\n\ndata:\n\n", []string{"|", "|"}},
		{"comments", ": ping\n\n:\ndata: a\n: more\ndata: b\n\n", []string{"|a\nb"}},
		{"named", "event: error\ndata: a\n\ndata: b\n\n", []string{"error|a", "|b"}},
		{"other fields", "id: 7\nretry: 10\nnonsense\ndatax: 1\n\ndata: a\nid\n\n", []string{"|a"}},
		{"carriage returns", "data: a\r\n\r\ndata: b\r\rdata: c\n\r\n", []string{"|a", "|b", "|c"}},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", []string{"|a"}},
		{"incomplete", "data: a\n\ndata: [DONE]", []string{"|a", "|[DONE]"}},
		{"a line and no empty one", "data: a\n", []string{"|a"}},
	} {
		every := make([]int, len(c.stream))
		for i := range every {
			every[i] = i
		}
		for _, cuts := range [][]int{nil, every} {
			if got := fastEvents(t, &Events{}, c.stream, cuts); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
		}
		if got := slowEvents(c.stream); !slices.Equal(got, c.want) {
			t.Errorf("%s: the twin gives %q, want %q", c.name, got, c.want)
		}
	}
}

func TestEventsAreThoseOfTheTwin(t *testing.T) {
	piece := rapid.SampledFrom([]string{"data", ":", " ", "\n", "\r", "\r\n", "\n\n", "event", "x", "data: a\n\n", "data: b\r\n\r\n", ": c\n", "\xef\xbb\xbf", "[DONE]"})
	e := &Events{} // used again: nothing of the stream before must remain
	rapid.Check(t, func(t *rapid.T) {
		stream := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), "")
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(stream)), 0, 12).Draw(t, "cuts")
		slices.Sort(cuts)
		e.Reset()
		if got, want := fastEvents(t, e, stream, cuts), slowEvents(stream); !slices.Equal(got, want) {
			t.Fatalf("%q cut at %v: got %q, want %q", stream, cuts, got, want)
		}
	})
}

func TestEventsRefuseEndlessOnes(t *testing.T) {
	each := func(_, _ []byte) error { return nil }
	for name, piece := range map[string]string{"line": strings.Repeat("x", 1<<20), "event": "data: " + strings.Repeat("x", 1<<20) + "\n"} {
		e, err := &Events{}, error(nil)
		for range MaxEvent>>20 + 1 {
			err = errors.Join(err, e.Feed([]byte(piece), each))
		}
		if !errors.Is(err, ErrLongEvent) {
			t.Errorf("an endless %s gives %v", name, err)
		}
	}
}

func TestEventsEndWithTheReadersError(t *testing.T) {
	enough, calls := errors.New("enough"), 0
	err := (&Events{}).Feed([]byte("data: a\n\ndata: b\n\n"), func(_, _ []byte) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 {
		t.Errorf("%v after %d events", err, calls)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\n: c\r\ndata\rdata:b\n\n", uint8(3))
	f.Add("\xef\xbb\xbfevent: error\ndata: {}\n\ndata: [DONE]", uint8(1))
	f.Fuzz(func(t *testing.T, stream string, step uint8) {
		var cuts []int
		for at := int(step); step > 0 && at < len(stream); at += int(step) {
			cuts = append(cuts, at)
		}
		if got, want := fastEvents(t, &Events{}, stream, cuts), slowEvents(stream); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestReadingAStreamAllocatesNothing(t *testing.T) {
	stream := tokens(256)
	e, k, seen := &Events{}, &Chunk{}, 0
	each := func(_, data []byte) error {
		seen++
		return k.Read(data)
	}
	read := func() {
		for piece := range slices.Chunk(stream, 1000) {
			if err := e.Feed(piece, each); err != nil {
				t.Fatal(err)
			}
		}
	}
	read()
	if got := testing.AllocsPerRun(20, read); got != 0 || seen < 256 || string(k.Text) != " word" {
		t.Errorf("%v allocations for %d events, the last %q", got, seen, k.Text)
	}
}

// tokens is a stream of n chunks of a chat.
func tokens(n int) []byte {
	return bytes.Repeat([]byte(`data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1760000000,"model":"model","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`+"\n\n"), n)
}

// What one token costs the client after the bytes have come.
func BenchmarkToken(b *testing.B) {
	stream := tokens(1)
	e, k := &Events{}, &Chunk{}
	each := func(_, data []byte) error { return k.Read(data) }
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Feed(stream, each); err != nil {
			b.Fatal(err)
		}
	}
}
