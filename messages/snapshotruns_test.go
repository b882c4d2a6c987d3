package messages

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRunsAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := PageRuns(rapid.SliceOf(rapid.Custom(func(t *rapid.T) PageRun {
			return PageRun{Page(rapid.Int32Range(0, 1<<30).Draw(t, "first")), Page(rapid.Int32Range(0, 1<<30).Draw(t, "n"))}
		})).Draw(t, "runs"))
		text, err := json.Marshal(runs)
		var back PageRuns
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || !slices.Equal(back, runs) {
			t.Fatalf("%v became %s and then %v (%v)", runs, text, back, err)
		}
	})
	for want, runs := range map[string]PageRuns{"[]": nil, "[[3,1],[7,20]]": {{3, 1}, {7, 20}}} {
		if text, err := json.Marshal(runs); string(text) != want || err != nil {
			t.Errorf("got %s (%v), want %s", text, err, want)
		}
	}
}

func FuzzPageRuns(f *testing.F) {
	for _, text := range []string{"[]", "null", "[[3,1],[7,20]]", "[[3,1]", "[3,1]", "[[3,1],]", "[[3]]", "[[3,1,4]]", "[[-3,1]]", "[[99999999999,1]]", "[[2147483647,1]]", "[[3,1]7]", "{}", "[ [3,1]]", "[[,1]]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var runs, back PageRuns
		if json.Unmarshal([]byte(text), &runs) != nil || runs == nil {
			return
		}
		again, _ := json.Marshal(runs)
		if err := json.Unmarshal(again, &back); err != nil || !slices.Equal(back, runs) {
			t.Fatalf("%q became %q: %v", text, again, err)
		}
	})
}

func TestListsOfOtherThingsAreNoRuns(t *testing.T) {
	for _, text := range []string{"5", "{}", `""`, "[3,1]", "[[3]]", "[[3,1,4]]", "[[3,1],4]", "[[-3,1]]", "[[3,1e3]]", "[[99999999999,1]]", "[[3,1], [4,1]]", "[[[3,1]]]"} {
		var runs PageRuns
		if err := json.Unmarshal([]byte(text), &runs); err == nil {
			t.Errorf("%s became %v", text, runs)
		}
	}
}
