package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/lab/load"
)

// span is a length that a flag sets, and how often it stands in the context of
// a session's last request.
type span struct {
	flag   string
	what   string // of a request
	tokens *int
	times  int
}

// spans are the lengths that make up a request; none where a file has them.
func (w *benchWork) spans() []span {
	switch w.dataset {
	case "random":
		return []span{{"random-input-len", "prompt", &w.random.Input, w.turns}, {"random-output-len", "output", &w.random.Output, w.turns}}
	case "shared-prefix":
		return []span{{"gsp-system-prompt-len", "system prompt", &w.shared.System, 1},
			{"gsp-question-len", "question", &w.shared.Question, w.turns}, {"gsp-output-len", "output", &w.shared.Output, w.turns}}
	}
	return nil
}

// fit makes lengths that nobody asked for small enough for a context of so many
// tokens, and says so in note; lengths that were asked for and do not fit are
// an error. exact tells that prompts are as long as wanted: words come near
// their length only, and a chat's template comes on top.
func (w *benchWork) fit(flags *pflag.FlagSet, context int, exact bool) (note string, err error) {
	const spare = 8 // one part of so many is kept free for what is not exact
	room, asked, free, least := context, 0, 0, 0
	if !exact {
		room -= context / spare
	}
	all := w.spans()
	for _, s := range all {
		if flags.Changed(s.flag) {
			asked += *s.tokens * s.times
		} else {
			free += *s.tokens * s.times
			least += s.times
		}
	}
	switch {
	case context == 0 || asked+free <= room || free == 0 && asked <= context:
		return "", nil
	case asked+least > room:
		return "", fmt.Errorf("%s do not fit into the server's context of %d tokens; %s", w.lengths(), context, w.shorten())
	}
	before, changed := w.lengths(), []string(nil)
	for _, s := range all {
		if !flags.Changed(s.flag) {
			*s.tokens = max(rounded(int(int64(*s.tokens)*int64(room-asked)/int64(free))), 1)
			changed = append(changed, "--"+s.flag)
		}
	}
	return fmt.Sprintf("the server's context is %d tokens: %s, instead of %s by default; %s set other lengths", context, w.lengths(), before, listed(changed)), nil
}

// rounded is at most n, and even to look at.
func rounded(n int) int {
	if n < 32 {
		return n
	}
	return n - n%16
}

// lengths says how long requests are.
func (w *benchWork) lengths() string {
	var all []string
	for i, s := range w.spans() {
		unit := "tokens "
		if i > 0 {
			unit = ""
		}
		all = append(all, fmt.Sprintf("%d %sof %s", *s.tokens, unit, s.what))
	}
	text := listed(all)
	if w.turns > 1 {
		text += fmt.Sprintf(" in %d turns", w.turns)
	}
	return text
}

// shorten names what makes requests shorter.
func (w *benchWork) shorten() string {
	var flags []string
	for _, s := range w.spans() {
		flags = append(flags, "--"+s.flag)
	}
	switch w.dataset {
	case "gsm8k":
		flags = []string{"--gsm8k-num-shots", "--gsm8k-output-len"}
	case "sharegpt":
		flags = []string{"--sharegpt-output-len"}
	case "trace":
		return "the trace has requests that the server does not take, or start it with a longer context"
	}
	if w.turns > 1 {
		flags = append(flags, "--turns")
	}
	return "lower " + listed(flags) + ", or start it with a longer context"
}

// listed writes "a, b and c".
func listed(all []string) string {
	last := len(all) - 1
	if last < 1 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:last], ", ") + " and " + all[last]
}

// refusals is how many requests, the first ones, a server must refuse as
// invalid, all of them, for the run to be given up: one where none is shorter.
func (w *benchWork) refusals() int {
	const ofMany = 8
	if w.spans() == nil || w.dataset == "random" && w.random.Ratio < 1 {
		return ofMany
	}
	return 1
}

// explain says what to do about an error of a run.
func (w *benchWork) explain(err error) error {
	var refused *load.Refusal
	if !errors.As(err, &refused) {
		return fmt.Errorf("--dataset-path: %w", err)
	}
	asked := fmt.Sprintf("%d tokens of output", refused.MaxTokens)
	if refused.Wanted > 0 {
		asked = fmt.Sprintf("%d tokens of prompt and %d of output", refused.Wanted, refused.MaxTokens)
	}
	return fmt.Errorf("%w; it was asked for %s: if that is more than its context, %s", err, asked, w.shorten())
}
