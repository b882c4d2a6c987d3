package work

import (
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/lab/trace"
)

// take returns the first n sessions of a source, 0: all.
func take(t interface{ Fatal(...any) }, s *Source, n int) (all []*Session) {
	for n == 0 || len(all) < n {
		one, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if one.Index != len(all) {
			t.Fatal("session", len(all), "calls itself", one.Index)
		}
		all = append(all, one)
	}
	return all
}

var ids, text = &Writer{Vocab: 1280}, &Writer{TokensPerWord: 1.5}

func TestEqualSeedsGiveEqualWork(t *testing.T) {
	makers := map[string]func(seed uint64, w *Writer) *Source{
		"random": func(seed uint64, w *Writer) *Source {
			return Random{Seed: seed, Writer: w, Input: 50, Output: 20, Ratio: 0.3, Turns: 2}.Source()
		},
		"shared": func(seed uint64, w *Writer) *Source {
			return Shared{Seed: seed, Writer: w, Groups: 3, PerGroup: 4, System: 30, Question: 5, Output: 6, Turns: 1}.Source()
		},
	}
	for name, maker := range makers {
		for _, w := range []*Writer{ids, text} {
			one, again, other := take(t, maker(1, w), 10), take(t, maker(1, w), 10), take(t, maker(2, w), 10)
			if !reflect.DeepEqual(one, again) || reflect.DeepEqual(one, other) || len(one) != 10 {
				t.Errorf("%s: equal seeds equal %v, other seeds equal %v", name, reflect.DeepEqual(one, again), reflect.DeepEqual(one, other))
			}
		}
	}
}

func TestRandomLengths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Random{Seed: rapid.Uint64().Draw(t, "seed"), Writer: &Writer{Vocab: rapid.IntRange(16, 200000).Draw(t, "vocab")},
			Input: rapid.IntRange(1, 300).Draw(t, "input"), Output: rapid.IntRange(1, 300).Draw(t, "output"), Ratio: rapid.Float64Range(0, 1).Draw(t, "ratio"), Turns: rapid.IntRange(1, 3).Draw(t, "turns")}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		low, high := s.Writer.Range()
		for _, one := range take(t, s.Source(), 5) {
			if len(one.Turns) != s.Turns {
				t.Fatalf("%d turns", len(one.Turns))
			}
			for _, turn := range one.Turns {
				if len(turn.IDs) != turn.Input || turn.Input > s.Input || turn.Input < max(int(float64(s.Input)*s.Ratio), 1) || turn.MaxTokens > s.Output || turn.MaxTokens < 1 || turn.Text != "" {
					t.Fatalf("%+v of %+v", turn, s)
				}
				if slices.Min(turn.IDs) < low || slices.Max(turn.IDs) >= high || high > int32(s.Writer.Vocab) {
					t.Fatalf("ids %v outside [%d, %d)", turn.IDs, low, high)
				}
			}
		}
	})
	seen := map[int]bool{}
	for _, one := range take(t, Random{Writer: ids, Input: 4, Output: 1, Ratio: 0.5}.Source(), 200) {
		seen[one.Turns[0].Input] = true
	}
	if want := map[int]bool{2: true, 3: true, 4: true}; !reflect.DeepEqual(seen, want) {
		t.Errorf("lengths %v, want 2, 3 and 4", seen)
	}
}

func TestWordsAreAsManyAsTheirTokens(t *testing.T) {
	one := take(t, Random{Seed: 1, Writer: text, Input: 300, Output: 1, Ratio: 1}.Source(), 1)[0].Turns[0]
	if n := len(strings.Fields(one.Text)); n != 200 || one.IDs != nil || one.Input != 300 {
		t.Errorf("%d words of 1.5 tokens for 300 tokens: %+v", n, one)
	}
	if len(words) < 100 || len(slices.Compact(slices.Sorted(slices.Values(words)))) != len(words) {
		t.Errorf("%d words, some of them twice", len(words))
	}
}

func TestGroupsShareTheirPrefix(t *testing.T) {
	for _, chat := range []bool{false, true} {
		w := ids
		if chat {
			w = &Writer{}
		}
		s := Shared{Seed: 5, Writer: w, Groups: 4, PerGroup: 3, System: 20, Question: 7, Output: 9, Turns: 2, Chat: chat}.Source()
		all := take(t, s, 0)
		prefixes, prompts, order := map[string]int{}, map[string]bool{}, ""
		for _, one := range all {
			first := one.Turns[0]
			prefix := one.System
			if !chat {
				prefix = string(runes(first.IDs[:20]))
			}
			prefixes[prefix]++
			order += prefix[:1]
			prompts[string(runes(first.IDs))+first.Text] = true
			if first.Input != 27 || one.Turns[1].Input != 7 || len(one.Turns) != 2 || first.MaxTokens != 9 {
				t.Fatalf("%+v", one)
			}
		}
		if len(all) != 12 || s.Size != 12 || len(prefixes) != 4 || len(prompts) != 12 {
			t.Errorf("chat %v: %d sessions, %d prefixes, %d prompts", chat, len(all), len(prefixes), len(prompts))
		}
		for _, n := range prefixes {
			if n != 3 {
				t.Errorf("a prefix is shared by %d prompts, want 3", n)
			}
		}
		if order == order[:1]+order[:1]+order[:1]+order[3:] {
			t.Error("groups come one after the other")
		}
	}
}

func runes(ids []int32) []rune { return ids }

func TestSettingsAreChecked(t *testing.T) {
	for want, err := range map[string]error{
		"is 0; it must be between 1 and 16777216":        Random{Input: 0, Output: 1}.Check(),
		"is 16777217; it must be between 1 and 16777216": Random{Input: 1, Output: maxLength + 1}.Check(),
		"--random-range-ratio is":                        Random{Input: 1, Output: 1, Ratio: 1.1}.Check(),
		"must be between 0":                              Random{Input: 1, Output: 1, Ratio: math.NaN()}.Check(),
		"groups":                                         Shared{Groups: 0, PerGroup: 1}.Check(),
		"more than 16777216":                             Shared{Groups: 1 << 20, PerGroup: 1 << 20, System: 1, Question: 1, Output: 1}.Check(),
		"question":                                       Shared{Groups: 1, PerGroup: 1, System: 1, Output: 1}.Check(),
		"speed":                                          Trace{Speed: 0}.Check(),
		"--rate is":                                      (&Arrivals{Rate: 0, Burstiness: 1}).Check(),
		"--burstiness is":                                (&Arrivals{Rate: 1, Burstiness: math.NaN()}).Check(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestArrivals(t *testing.T) {
	const n, rate = 40000, 20.0
	for _, shape := range []float64{0.25, 1, 4, math.Inf(1)} {
		a, again := &Arrivals{Rate: rate, Burstiness: shape, Seed: 9}, &Arrivals{Rate: rate, Burstiness: shape, Seed: 9}
		before, sum, squares := time.Duration(0), 0.0, 0.0
		for i := range n {
			at := a.Next()
			if at != again.Next() || at < before || i == 0 && at != 0 {
				t.Fatalf("shape %v: request %d at %v after %v", shape, i, at, before)
			}
			gap := (at - before).Seconds() * rate
			sum, squares, before = sum+gap, squares+gap*gap, at
		}
		mean := sum / (n - 1)
		variance := squares/(n-1) - mean*mean
		// A gamma distribution of mean 1 has the variance 1/shape.
		if math.Abs(mean-1) > 0.05 || math.Abs(variance-1/shape) > 0.1/min(shape, 1) {
			t.Errorf("shape %v: gaps of mean %v and variance %v", shape, mean, variance)
		}
	}
	if at := (&Arrivals{Rate: math.Inf(1), Burstiness: 1}).Next(); at != 0 {
		t.Errorf("a rate without end gives %v", at)
	}
}

// requests is a trace in memory.
type requests []*trace.Request

func (r *requests) Next() (*trace.Request, error) {
	if len(*r) == 0 {
		return nil, io.EOF
	}
	one := (*r)[0]
	*r = (*r)[1:]
	return one, nil
}
func (r *requests) Progress() (read, size int64) { return 0, 0 }
func (r *requests) Close() error                 { return nil }

func TestTracesKeepTimesLengthsAndPrefixes(t *testing.T) {
	recorded := func() *requests {
		return &requests{
			{Line: 1, Arrival: 0, Input: 10, Output: 5, Blocks: []uint64{1, 2}, BlockSize: 4},
			{Line: 2, Arrival: time.Second, Input: 12, Output: 0, Blocks: []uint64{1, 3}, BlockSize: 4},
		}
	}
	all := take(t, Trace{From: recorded(), Writer: ids, Speed: 4}.Source(), 0)
	a, b := all[0].Turns[0], all[1].Turns[0]
	if len(all) != 2 || all[1].Due != 250*time.Millisecond || !all[0].Timed || len(a.IDs) != 10 || len(b.IDs) != 12 || a.MaxTokens != 5 || b.MaxTokens != 1 {
		t.Fatalf("%+v, %+v", all[0], all[1])
	}
	if !slices.Equal(a.IDs[:4], b.IDs[:4]) || slices.Equal(a.IDs[4:8], b.IDs[4:8]) || slices.Equal(a.IDs[8:10], b.IDs[8:10]) {
		t.Errorf("prefixes %v and %v", a.IDs, b.IDs)
	}
	spoken := take(t, Trace{From: recorded(), Writer: &Writer{}, Speed: 1}.Source(), 0)
	x, y := strings.Fields(spoken[0].Turns[0].Text), strings.Fields(spoken[1].Turns[0].Text)
	if len(x) != 10 || len(y) != 12 || !slices.Equal(x[:4], y[:4]) || slices.Equal(x, y[:10]) {
		t.Errorf("words %v and %v", x, y)
	}
	late := Trace{From: &requests{{Line: 7, Arrival: trace.MaxTime, Input: 1}}, Writer: ids, Speed: 0.5}.Source()
	if _, err := late.Next(); err == nil || !strings.Contains(err.Error(), "line 7") {
		t.Errorf("a request in 40 years gives %v", err)
	}
}
