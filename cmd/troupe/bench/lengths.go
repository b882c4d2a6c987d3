package bench

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/lab/load"
)

// span is a length that a flag sets, and how often the last request of a session has it.
type span struct {
	flag   string
	what   string // part of a request
	tokens *int
	times  int
}

// spans returns the parts of a request; none if requests come from a file.
func (w *workload) spans() []span {
	switch w.dataset {
	case "random":
		return []span{{"random-input-len", "prompt", &w.random.Input, w.turns}, {"random-output-len", "output", &w.random.Output, w.turns}}
	case "shared-prefix":
		return []span{{"gsp-system-prompt-len", "system prompt", &w.shared.System, 1},
			{"gsp-question-len", "question", &w.shared.Question, w.turns}, {"gsp-output-len", "output", &w.shared.Output, w.turns}}
	}
	return nil
}

// fit lowers default lengths until a request fits into the context, and says so in note.
// Lengths that the user set and that do not fit are an error. exact: prompts have exactly
// the requested length; with words it is approximate, and a chat adds its template.
func (w *workload) fit(flags *pflag.FlagSet, context int, exact bool) (note string, err error) {
	const spare = 8 // 1/8 of the context is kept free if lengths are not exact
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
		return "", fmt.Errorf("requests of %s do not fit into the server's context of %d tokens; %s", w.lengths(), context, w.shorten())
	}
	before, changed := w.lengths(), []string(nil)
	for _, s := range all {
		if !flags.Changed(s.flag) {
			*s.tokens = max(rounded(int(int64(*s.tokens)*int64(room-asked)/int64(free))), 1)
			changed = append(changed, "--"+s.flag)
		}
	}
	return fmt.Sprintf("the server's context is %d tokens: using %s instead of the default %s; use %s to change this", context, w.lengths(), before, configs.List(changed, "and")), nil
}

// rounded returns n, from 32 on rounded down to a multiple of 16.
func rounded(n int) int {
	if n < 32 {
		return n
	}
	return n - n%16
}

// lengths describes how long requests are.
func (w *workload) lengths() string {
	var all []string
	unit := "tokens "
	for _, s := range w.spans() {
		all = append(all, fmt.Sprintf("%d %sof %s", *s.tokens, unit, s.what))
		unit = "" // in the first part only
	}
	text := configs.List(all, "and")
	if w.turns > 1 {
		text += fmt.Sprintf(" in %d turns", w.turns)
	}
	return text
}

// shorten says how to make requests shorter.
func (w *workload) shorten() string {
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
		return "use a trace with shorter requests, or start the server with a longer context"
	}
	if w.turns > 1 {
		flags = append(flags, "--turns")
	}
	return "lower " + configs.List(flags, "and") + ", or start the server with a longer context"
}

// refusals is the number of requests after which the run ends if the server has
// refused all of them as invalid: 1 if no other request is shorter than the first.
func (w *workload) refusals() int {
	const ofMany = 8
	if w.spans() == nil || w.dataset == "random" && w.random.Ratio < 1 {
		return ofMany
	}
	return 1
}

// explain adds a remedy to the error of a run.
func (w *workload) explain(err error) error {
	refused, ok := errors.AsType[*load.Refusal](err)
	if !ok {
		return fmt.Errorf("--dataset-path: %w", err)
	}
	asked := fmt.Sprintf("%d tokens of output", refused.MaxTokens)
	if refused.Wanted > 0 {
		asked = fmt.Sprintf("%d tokens of prompt and %d of output", refused.Wanted, refused.MaxTokens)
	}
	return fmt.Errorf("%w (the request has %s); if the server's context is smaller, %s", err, asked, w.shorten())
}
