package grammar_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/testkit/conformance"
	"golang.org/x/sys/unix"
)

// durations answers questions about measured times.
type durations []time.Duration

func (d durations) at(q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	return d[int(q*float64(len(d)-1))]
}

func (d durations) log(t *testing.T, what string) {
	slices.Sort(d)
	sum := time.Duration(0)
	for _, x := range d {
		sum += x
	}
	if len(d) > 0 {
		t.Logf("%s: %d, mean %v, p50 %v, p90 %v, p99 %v, p99.9 %v, slowest %v", what, len(d), sum/time.Duration(len(d)),
			d.at(0.5), d.at(0.9), d.at(0.99), d.at(0.999), d.at(1))
	}
}

// cpu is the processor time of this thread: other processes do not count.
func cpu() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		panic("no clock for threads")
	}
	return time.Duration(ts.Nano())
}

// TestConformanceMaskTimes makes every mask of the valid instances of MaskBench
// with Llama 3's vocabulary, one thread, in processor time. A schema is compiled anew for its
// instances, so tables and masks are empty at first.
func TestConformanceMaskTimes(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	v, tok := llama3Vocabulary(t)
	stride := 1
	if testing.Short() {
		stride = 20
	}
	var compile, first, masks durations
	var sizes []int
	words := make([]uint32, v.Words())
	for i, c := range conformance.Schemas(t) {
		if i%stride != 0 {
			continue
		}
		start := cpu()
		g, err := grammar.Compile(grammar.Source{Kind: grammar.JSONSchema, Text: string(c.Schema)}, v, grammar.Limits{})
		if err != nil {
			continue
		}
		compile = append(compile, cpu()-start)
		begun := false
		for _, test := range c.Tests {
			var text bytes.Buffer
			if !test.Valid || json.Compact(&text, test.Data) != nil {
				continue
			}
			m := g.Matcher()
			for _, id := range tok.Encode(text.String(), tokenizer.EncodeOptions{}) {
				at := cpu()
				if err := m.Mask(words); err != nil {
					var e *grammar.Error
					if !errors.As(err, &e) || e.Kind != grammar.TooLarge {
						t.Errorf("%s: %v", c.Name, err)
					}
					t.Logf("%s ends its request: %v", c.Name, err)
					break
				}
				took := cpu() - at
				masks = append(masks, took)
				if !begun {
					begun = true
					first = append(first, cpu()-start)
				}
				if took > 20*time.Millisecond {
					t.Logf("%s: %v for a mask", c.Name, took)
				}
				err := m.Accept(id)
				if (err == nil) != vocab.Allowed(words, id) {
					t.Fatalf("%s: the mask says %v for %q, accepting it %v", c.Name, vocab.Allowed(words, id), v.Bytes(id), err)
				}
				if err != nil {
					break
				}
			}
		}
		sizes = append(sizes, g.Bytes())
	}
	compile.log(t, "compile")
	first.log(t, "compile and first mask")
	masks.log(t, "masks")
	slices.Sort(sizes)
	t.Logf("bytes per grammar: p50 %d, p99 %d, largest %d", sizes[len(sizes)/2], sizes[len(sizes)*99/100], sizes[len(sizes)-1])
}
