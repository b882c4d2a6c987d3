package work

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/conformance"
)

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const problems = `{"question":"One and one?","answer":"1+1=2\n#### 2"}

{"question":"Ten hundreds?","answer":"#### 1,000"}
{"question":"Five less?","answer":"#### -5"}
`

func TestGSM8K(t *testing.T) {
	s, err := GSM8K{File: file(t, problems), Shots: 1, Output: 64}.Open()
	if err != nil {
		t.Fatal(err)
	}
	all := take(t, s, 0)
	if s.Size != 2 || len(all) != 2 {
		t.Fatalf("%d sessions of %d", len(all), s.Size)
	}
	want := "Question: One and one?\nAnswer: 1+1=2\n#### 2\n\nQuestion: Ten hundreds?\nAnswer:"
	if got := all[0].Turns[0]; got.Text != want || got.MaxTokens != 64 || !slices.Equal(all[0].Stop, []string{"Question:"}) {
		t.Errorf("%+v, want %q", got, want)
	}
	for answer, verdict := range map[string]Verdict{" It is 1000.": Right, " 10 × 100 = 1,000\n\n": Right, " 999": Wrong, " many": NoAnswer, "#### 1000 or 7": Right, "1000 #### none": Right, "#### 7, not 1000": Wrong} {
		if got := all[0].Check(answer); got != verdict {
			t.Errorf("%q is judged %v, want %v", answer, got, verdict)
		}
	}
	if all[1].Check("so -5") != Right || all[1].Check("10-5") != Wrong {
		t.Error("a minus is misread")
	}
	apart, err := GSM8K{File: file(t, problems), Shots: 2, ShotsFile: file(t, problems), Output: 1}.Open()
	if err != nil || apart.Size != 3 {
		t.Errorf("examples of their own leave %d questions, %v", apart.Size, err)
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string][]float64{
		"":                nil,
		"a":               nil,
		"7":               {7},
		"3 apples, 4.50!": {3, 4.5},
		"1,234,567.":      {1234567},
		"1.2.3":           {1.2, 3},
		"-3 4-2 $-1":      {-3, 4, 2, -1},
		"x1y22":           {1, 22},
	} {
		if got := numbers(text); !slices.Equal(got, want) {
			t.Errorf("%q has %v, want %v", text, got, want)
		}
	}
}

func TestGSM8KRefuses(t *testing.T) {
	for _, c := range []struct {
		o    GSM8K
		want string
	}{
		{GSM8K{File: "/nowhere", Output: 1}, "does not exist"},
		{GSM8K{File: file(t, ""), Output: 1}, "no questions"},
		{GSM8K{File: file(t, problems+"x"), Output: 1}, "line 5"},
		{GSM8K{File: file(t, `{"question":"a","answer":"b"}`), Output: 1}, "ends in ####"},
		{GSM8K{File: file(t, problems), Shots: 3, Output: 1}, "lower --gsm8k-num-shots"},
		{GSM8K{File: file(t, problems), Shots: 4, ShotsFile: file(t, problems), Output: 1}, "--gsm8k-num-shots is 4"},
		{GSM8K{File: file(t, problems)}, "--gsm8k-output-len is 0"},
		{GSM8K{File: file(t, `{"question":"`+strings.Repeat("a", maxLine)+`"}`), Output: 1}, "longer than 1 MiB"},
	} {
		if _, err := c.o.Open(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

const talks = `[{"id":"a","conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"0123456789012345678901234567890123456789"},{"from":"human","value":"And?"},{"from":"gpt","value":"ok"}]},
{"id":"b","conversations":[{"from":"gpt","value":"I begin"}]},
{"id":"c","conversations":[{"from":"user","value":"Why?"},{"from":"assistant","value":"So."}]}]`

func TestShareGPT(t *testing.T) {
	s, err := ShareGPT{File: file(t, talks), Seed: 1, Turns: 4}.Open()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]int{}
	for _, one := range take(t, s, 0) {
		for _, turn := range one.Turns {
			got[one.Turns[0].Text] = append(got[one.Turns[0].Text], turn.MaxTokens)
		}
	}
	if len(got) != 2 || !slices.Equal(got["Hi"], []int{10, 4}) || !slices.Equal(got["Why?"], []int{4}) || len(s.Notes) != 1 {
		t.Errorf("%v, notes %v", got, s.Notes)
	}
	fixed, err := ShareGPT{File: file(t, talks), Turns: 1, Output: 9}.Open()
	if err != nil || len(fixed.Notes) != 0 {
		t.Fatal(err, fixed.Notes)
	}
	for _, one := range take(t, fixed, 0) {
		if len(one.Turns) != 1 || one.Turns[0].MaxTokens != 9 {
			t.Errorf("%+v", one)
		}
	}
	for _, c := range []struct{ content, want string }{
		{`{}`, "expected a JSON array"}, {`[{"conversations":7}]`, "conversation 0"}, {`[]`, "no conversation begins"}, {talks[:len(talks)-1], "incomplete"},
	} {
		if _, err := (ShareGPT{File: file(t, c.content), Turns: 1}).Open(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	if _, err := (ShareGPT{File: "/nowhere", Turns: 1}).Open(); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
}

// The data set's own file: every problem is read, and its answer is right.
func TestGSM8KConformance(t *testing.T) {
	path := conformance.Path(t, "prompts/gsm8k_test.jsonl")
	questions, err := readProblems(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := GSM8K{File: path, Output: 512}.Open()
	if err != nil || s.Size != 1319 {
		t.Fatalf("%d problems, %v", s.Size, err)
	}
	for i, one := range take(t, s, 0) {
		if got := one.Check(questions[i].Answer); got != Right {
			t.Errorf("problem %d: its own answer is judged %v", i, got)
		}
	}
}
