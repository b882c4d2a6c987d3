package messages

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Runs of all lengths, around those that are read and written in blocks, are
// found, joined and written out again.
func TestPageRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pages []Page
		for range rapid.IntRange(1, 10).Draw(t, "runs") {
			run := PageRun{Page(rapid.IntRange(1, 1000).Draw(t, "first")), Page(rapid.IntRange(1, 70).Draw(t, "n"))}
			pages = run.AppendTo(pages)
			for i := range run.N {
				if got := pages[len(pages)-int(run.N-i)]; got != run.First+i {
					t.Fatalf("page %d of %v is %d", i, run, got)
				}
			}
		}
		var runs []PageRun
		for rest := pages; len(rest) > 0; {
			run := FirstRun(rest)
			rest = rest[run.N:]
			if len(rest) > 0 && rest[0] == run.First+run.N {
				t.Fatalf("%v is followed by page %d", run, rest[0])
			}
			one := PageRun{run.First, 1} // in two parts, which are joined
			runs = one.AppendRun(runs)
			if run.N > 1 {
				runs = PageRun{run.First + 1, run.N - 1}.AppendRun(runs)
			}
		}
		var again []Page
		for i, run := range runs {
			if i > 0 && runs[i-1].First+runs[i-1].N == run.First {
				t.Fatalf("%v is not joined to %v", run, runs[i-1])
			}
			again = run.AppendTo(again)
		}
		if !slices.Equal(again, pages) {
			t.Fatalf("%v became %v", pages, again)
		}
	})
}
