package tokenizer

import (
	"slices"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestSplitSpansAgainstTwin compares with all spans in a list.
func TestSplitSpansAgainstTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("a-é"))).Draw(rt, "s")
		b := behavior(rapid.IntRange(0, 4).Draw(rt, "behavior"))
		invert := rapid.Bool().Draw(rt, "invert")
		stop := rapid.IntRange(1, 20).Draw(rt, "stop")
		var spans []span
		for i, r := range s {
			end := i + utf8.RuneLen(r)
			if match := (r == '-') != invert; match == (r == '-') || r == '-' || len(spans) == 0 || spans[len(spans)-1].end != i ||
				s[i-1] == '-' {
				spans = append(spans, span{i, end, match})
			} else {
				spans[len(spans)-1].end = end
			}
		}
		// Text between matches is one span.
		var joined []span
		for _, sp := range spans {
			gap := s[sp.start] != '-'
			if n := len(joined); gap && n > 0 && s[joined[n-1].start] != '-' {
				joined[n-1].end = sp.end
				continue
			}
			joined = append(joined, sp)
		}
		var want []string
		for i := 0; i < len(joined); i++ {
			cur := joined[i]
			next := func() bool { return i+1 < len(joined) }
			switch {
			case b == removed && cur.match:
				continue
			case b == mergedWithPrevious && !cur.match && next() && joined[i+1].match,
				b == mergedWithNext && cur.match && next() && !joined[i+1].match:
				i++
				cur.end = joined[i].end
			case b == contiguous:
				for next() && joined[i+1].match == cur.match {
					i++
					cur.end = joined[i].end
				}
			}
			want = append(want, s[cur.start:cur.end])
		}
		var got []string
		on := splitSpans(s, literalMatches(s, "-"), b, invert, func(start, end int) bool {
			got = append(got, s[start:end])
			return len(got) < stop
		})
		if want = want[:min(len(want), stop)]; !slices.Equal(got, want) || on != (len(got) < stop) {
			rt.Fatalf("behavior %d of %q, inverted %v: %q %v, want %q", b, s, invert, got, on, want)
		}
	})
}
