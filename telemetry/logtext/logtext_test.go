package logtext

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/testkit/locked"
)

// steering are the characters that must not reach a terminal, written out.
func steering() (all []rune) {
	for r := rune(0); r < 0x20; r++ {
		all = append(all, r)
	}
	for r := rune(0x7f); r <= 0x9f; r++ {
		all = append(all, r)
	}
	return append(all, 0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069)
}

func write(t testing.TB, colours bool, lines ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, colours)
	for _, line := range lines {
		if n, err := w.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("%q: %d bytes of %d, %v", line, n, len(line), err)
		}
	}
	return out.String()
}

func TestWriter(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "\n": "\n", "plain ~ text\n": "plain ~ text\n", "no line end": "no line end",
		"modèle 模型 🎭\n":         "modèle 模型 🎭\n",
		"a\u0085b\u009b31mc\n":  `a\u0085b\u009b31mc` + "\n",
		"ab\u202ecd\u2066e\n":   `ab\u202ecd\u2066e` + "\n",
		"\u2028\u2029\u061c\n":  `\u2028\u2029\u061c` + "\n",
		"a\x1b[31mred\x1b[0m\n": `a\u001b[31mred\u001b[0m` + "\n",
		"two\nlines\n":          `two\u000alines` + "\n",
		"a\rb\tc\x7f\x00\n":     `a\u000db\u0009c\u007f\u0000` + "\n",
		"\n\n":                  `\u000a` + "\n",
		"cut \xe2\x80":          "cut \ufffd\ufffd",
		"\xc2\n":                "\ufffd\n",
		"\x9b31m\n":             "\ufffd31m\n",
		"real \ufffd":           "real \ufffd",
		"a\u200bb\u2027c\u202fd\u2065e\u206af\u00a0": "a\u200bb\u2027c\u202fd\u2065e\u206af\u00a0", // their neighbours stay
	} {
		if got := write(t, false, in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"\x1b[90m15:04\x1b[0m é\n": "\x1b[90m15:04\x1b[0m é\n",
		"\x1b[2J\x1b[1;31m\n":      `\u001b[2J\u001b[1;31m` + "\n",
		"\x1b]0;title\x07\n":       `\u001b]0;title\u0007` + "\n",
		"\x1b[99999m\x1b[\x1b\n":   `\u001b[99999m\u001b[\u001b` + "\n",
	} {
		if got := write(t, true, in); got != want {
			t.Errorf("with colours %q becomes %q, want %q", in, got, want)
		}
	}
}

// The halves of a character in two writes must not meet.
func TestWriterAtWriteBoundaries(t *testing.T) {
	for _, r := range append(steering(), 'é', '模') {
		whole := "x" + string(r) + "y"
		for cut := range len(whole) + 1 {
			check(t, write(t, false, whole[:cut], whole[cut:]), whole[:cut], whole[cut:])
		}
	}
}

// check searches the output of writes for what it must not have.
func check(t testing.TB, out string, writes ...string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Fatalf("%q is no UTF-8", out)
	}
	ends := 0
	for _, w := range writes {
		if strings.HasSuffix(w, "\n") {
			ends++
		}
	}
	if n := strings.Count(out, "\n"); n != ends {
		t.Fatalf("%q has %d line ends, want %d", out, n, ends)
	}
	for _, r := range steering() {
		if r != '\n' && strings.ContainsRune(out, r) {
			t.Fatalf("%q has %U", out, r)
		}
	}
}

func TestEscape(t *testing.T) {
	if got := Escape("a\nb\x1b[2J\u202e"); got != `a\u000ab\u001b[2J\u202e` {
		t.Errorf("got %q", got)
	}
	if got := Escape("line\n"); got != `line\u000a` {
		t.Errorf("got %q", got)
	}
	if got := Lines("a\n\tb\r\x1b[2J\u0085\n"); got != "a\n\tb"+`\u000d\u001b[2J\u0085`+"\n" {
		t.Errorf("got %q", got)
	}
	if got := Prose("a\n\u200fשלום\u202e\x1b[2J\u009b"); got != "a\n\u200fשלום\u202e"+`\u001b[2J\u009b` {
		t.Errorf("got %q", got)
	}
	var table bytes.Buffer
	if n, err := io.WriteString(NewTerminal(&table), "a\tb\n\x1b[2J\u202e\n"); n != 12 || err != nil || table.String() != "a\tb\n"+`\u001b[2J\u202e`+"\n" {
		t.Errorf("%d bytes, %v: %q", n, err, table.String())
	}
	for _, same := range []string{"", "plain", "é"} {
		if Escape(same) != same || Lines(same) != same {
			t.Errorf("%q is changed", same)
		}
	}
}

// A line of JSON keeps its meaning with any strings in it.
func TestJSONReadsAsBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom(steering()))).Draw(t, "text")
		line, err := json.Marshal(map[string]string{"k": text})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := NewWriter(&out, false).Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
		var before, after map[string]string
		if err := json.Unmarshal(line, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), &after); err != nil || after["k"] != before["k"] {
			t.Fatalf("%q becomes %q: %v", line, out.Bytes(), err)
		}
		if again := Escape(Escape(text)); again != Escape(text) {
			t.Fatalf("escaping twice returns %q after %q", again, Escape(text))
		}
	})
}

func FuzzWriter(f *testing.F) {
	for _, seed := range []string{"plain\n", "\x1b[31m\n", "\xe2\x80\xae", "\xe2", "\u0085é\n\n"} {
		f.Add([]byte(seed), uint8(2))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint8) {
		at := min(int(cut), len(text))
		first, second := string(text[:at]), string(text[at:])
		check(t, write(t, false, first, second), first, second)
		check(t, Escape(string(text)))
	})
}

// Every write is one write of the underlying writer, so lines of several goroutines
// stay whole.
func TestConcurrentWriters(t *testing.T) {
	var out locked.Buffer
	w := NewWriter(&out, false)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				io.WriteString(w, "a \u202e line\n")
			}
		})
	}
	all.Wait()
	if out.String() != strings.Repeat(`a \u202e line`+"\n", 1600) {
		t.Error("lines are mixed or missing")
	}
}

type broken struct{ n int }

func (b broken) Write([]byte) (int, error) { return b.n, errors.New("full") }

type short struct{}

func (short) Write([]byte) (int, error) { return 1, nil }

func TestWriterTellsOfErrors(t *testing.T) {
	for _, text := range []string{"plain\n", "\u202e\n"} {
		if n, err := NewWriter(broken{1}, false).Write([]byte(text)); n != 1 || err == nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	if _, err := NewWriter(short{}, false).Write([]byte("\u202e\n")); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a short write returns %v", err)
	}
}

func TestPlainLinesCostNothing(t *testing.T) {
	w, line := NewWriter(io.Discard, false), []byte(`{"level":"info","message":"request"}`+"\n")
	if n := testing.AllocsPerRun(100, func() { w.Write(line) }); n != 0 {
		t.Errorf("%v allocations for a line of ASCII", n)
	}
}
