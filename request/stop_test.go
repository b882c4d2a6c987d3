package request

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// firstStop is the slow twin: where the first stop string in a text completes
// after byte armed, and which; the longest of those that end there.
func firstStop(text string, stops []string, armed int) (end, which int) {
	for end := armed + 1; end <= len(text); end++ {
		which := -1
		for i, s := range stops {
			if strings.HasSuffix(text[:end], s) && (which < 0 || len(s) > len(stops[which])) {
				which = i
			}
		}
		if which >= 0 {
			return end, which
		}
	}
	return -1, -1
}

// holdBack is the slow twin of what may still become a stop string.
func holdBack(text string, stops []string) int {
	for n := len(text); n > 0; n-- {
		for _, s := range stops {
			if n < len(s) && strings.HasPrefix(s, text[len(text)-n:]) {
				return n
			}
		}
	}
	return 0
}

// feed runs pieces through a matcher and compares each step with the twins.
func feed(t interface{ Fatalf(string, ...any) }, stops, pieces []string, armed int, keep bool) {
	m := newMatcher(stops)
	var state int32
	held, final, all, quiet := "", "", "", 0
	for i, p := range pieces {
		st := m.advance(state, held, p, i >= armed, keep)
		all += p
		if i < armed {
			quiet = len(all)
		}
		final += st.final
		end, which := firstStop(all, stops, quiet)
		if st.matched != which {
			t.Fatalf("stops %q text %q pieces %q: matched %d, want %d", stops, all, pieces[:i+1], st.matched, which)
		}
		if which >= 0 {
			want := all[:end-len(stops[which])]
			if keep {
				want = all[:end]
			}
			if final != want {
				t.Fatalf("stops %q pieces %q: shown %q, want %q", stops, pieces[:i+1], final, want)
			}
			return
		}
		if hold := holdBack(all, stops); len(stops) > 0 && len(st.held) != hold || final+st.held != all {
			t.Fatalf("stops %q pieces %q: held %q, want %d bytes", stops, pieces[:i+1], st.held, hold)
		}
		state, held = st.state, st.held
	}
}

func TestStopMatchingEqualsTwin(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("aabé\n")), 1, 6, -1)
	rapid.Check(t, func(rt *rapid.T) {
		feed(rt, rapid.SliceOfN(word, 0, 4).Draw(rt, "stops"),
			rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("aabé\n")), 0, 5, -1), 0, 12).Draw(rt, "pieces"),
			rapid.IntRange(0, 5).Draw(rt, "armed"), rapid.Bool().Draw(rt, "keep"))
	})
}

func FuzzStopMatcher(f *testing.F) {
	f.Add("ab|abc|b", "xaabcab|c", uint8(0))
	f.Add("aa|aaa", "a|a|a|a", uint8(2))
	f.Add("\n\nUser:", "hi\n|\nUs|er|:", uint8(0))
	f.Fuzz(func(t *testing.T, stops, text string, armed uint8) {
		if len(stops)+len(text) > 300 {
			return
		}
		var list []string
		for _, s := range strings.Split(stops, "|") {
			if s != "" {
				list = append(list, s)
			}
		}
		feed(t, list, strings.Split(text, "|"), int(armed), false)
	})
}

func TestStopTable(t *testing.T) {
	for _, c := range []struct {
		stops, pieces []string
		final         string
		matched       int
	}{
		{[]string{"ab"}, []string{"xa", "b", "y"}, "x", 0},
		{[]string{"ab", "xab"}, []string{"zxa", "b"}, "z", 1},   // same end: the longest
		{[]string{"abcd", "bc"}, []string{"abcd"}, "a", 1},      // the first to complete
		{[]string{"aab"}, []string{"a", "a", "a", "b"}, "a", 0}, // falls back inside itself
		{[]string{"ab"}, []string{"a", "a", "c"}, "aac", -1},
		{nil, []string{"a"}, "a", -1},
	} {
		m := newMatcher(c.stops)
		var st stopStep
		st.matched = -1
		final := ""
		for _, p := range c.pieces {
			if st = m.advance(st.state, st.held, p, true, false); st.matched >= 0 {
				final += st.final
				break
			}
			final += st.final
		}
		if final != c.final || st.matched != c.matched {
			t.Errorf("%q in %q: %q and %d, want %q and %d", c.stops, c.pieces, final, st.matched, c.final, c.matched)
		}
	}
}

func TestTextBuffer(t *testing.T) {
	var b textBuffer
	want := ""
	for _, s := range []string{"", "one", "", "two", "three"} {
		b.add(s)
		want += s
		if b.text() != want || b.empty() != (want == "") {
			t.Fatalf("got %q, want %q", b.text(), want)
		}
	}
}

func BenchmarkStopMatcher(b *testing.B) {
	m := newMatcher([]string{"\n\nUser:", "</s>", "###", "Observation:"})
	var st stopStep
	b.ReportAllocs()
	for b.Loop() {
		st = m.advance(st.state, st.held, " token", true, false)
	}
}
