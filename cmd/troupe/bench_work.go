package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/lab/load"
	"github.com/troupe-engine/troupe/lab/load/work"
	"github.com/troupe-engine/troupe/lab/trace"
)

// assumedVocab is a vocabulary that nearly every model exceeds.
const assumedVocab = 32000

// datasets are the names of --dataset, and the flags that only one has a use
// for.
var datasets = map[string][]string{
	"random":        {"random-input-len", "random-output-len", "random-range-ratio"},
	"shared-prefix": {"gsp-num-groups", "gsp-prompts-per-group", "gsp-system-prompt-len", "gsp-question-len", "gsp-output-len"},
	"gsm8k":         {"gsm8k-num-shots", "gsm8k-shots-path", "gsm8k-output-len"},
	"sharegpt":      {"sharegpt-output-len"},
	"trace":         {"trace-format", "speed"},
}

// benchWork are the flags that say what to ask.
type benchWork struct {
	dataset, path string
	seed          uint64
	turns, vocab  int

	random   work.Random
	shared   work.Shared
	gsm8k    work.GSM8KOptions
	sharegpt int
	format   string
	speed    float64

	left []string // what the reader of the trace left out
}

func (w *benchWork) add(flags *pflag.FlagSet) {
	flags.StringVar(&w.dataset, "dataset", "random", "what to ask: "+strings.Join(datasetNames(), ", "))
	flags.StringVar(&w.path, "dataset-path", "", "file of gsm8k (JSON lines), sharegpt (JSON) or trace")
	flags.Uint64Var(&w.seed, "seed", 1, "decides all that is drawn: equal seeds, equal requests at equal times")
	flags.IntVar(&w.turns, "turns", 1, "requests of a conversation, each behind the server's answers to those before (random, shared-prefix, sharegpt)")
	flags.IntVar(&w.vocab, "vocab-size", 0, "number of token ids that prompts may use; 0 asks the server")
	flags.IntVar(&w.random.Input, "random-input-len", 512, "tokens of a random prompt at most")
	flags.IntVar(&w.random.Output, "random-output-len", 128, "tokens of its answer at most")
	flags.Float64Var(&w.random.Ratio, "random-range-ratio", 1, "shortest length over the longest, for both; between them all are equally likely")
	flags.IntVar(&w.shared.Groups, "gsp-num-groups", 64, "groups of prompts that share a system prompt")
	flags.IntVar(&w.shared.PerGroup, "gsp-prompts-per-group", 16, "prompts in a group")
	flags.IntVar(&w.shared.System, "gsp-system-prompt-len", 2048, "tokens of a system prompt")
	flags.IntVar(&w.shared.Question, "gsp-question-len", 128, "tokens of the question behind it")
	flags.IntVar(&w.shared.Output, "gsp-output-len", 256, "tokens of the answer")
	flags.IntVar(&w.gsm8k.Shots, "gsm8k-num-shots", 5, "worked examples before each question")
	flags.StringVar(&w.gsm8k.ShotsFile, "gsm8k-shots-path", "", "file of the examples; the first of --dataset-path by default, which are not asked then")
	flags.IntVar(&w.gsm8k.Output, "gsm8k-output-len", 512, "tokens of an answer at most")
	flags.IntVar(&w.sharegpt, "sharegpt-output-len", 0, "tokens of every answer; 0 is about what the recorded answer has")
	flags.StringVar(&w.format, "trace-format", "", "format of the trace: "+strings.Join(trace.Formats(), ", "))
	flags.Float64Var(&w.speed, "speed", 1, "how much faster than recorded the requests of a trace come")
}

func datasetNames() []string {
	return []string{"random", "shared-prefix", "gsm8k", "sharegpt", "trace"}
}

// check refuses flags that have no use, so that nobody believes they had one.
func (w *benchWork) check(flags *pflag.FlagSet, open bool) error {
	if _, known := datasets[w.dataset]; !known {
		if near := configs.Nearest(w.dataset, datasetNames()); near != "" {
			return fmt.Errorf("--dataset is %q; did you mean %s?", w.dataset, near)
		}
		return fmt.Errorf("--dataset is %q, want one of %s", w.dataset, strings.Join(datasetNames(), ", "))
	}
	for name, only := range datasets {
		for _, flag := range only {
			if name != w.dataset && flags.Changed(flag) {
				return fmt.Errorf("--%s goes with --dataset %s", flag, name)
			}
		}
	}
	reads := w.dataset == "gsm8k" || w.dataset == "sharegpt" || w.dataset == "trace"
	switch {
	case reads && w.path == "":
		return fmt.Errorf("--dataset-path is missing; --dataset %s reads a file", w.dataset)
	case !reads && w.path != "":
		return fmt.Errorf("--dataset-path goes with gsm8k, sharegpt and trace; --dataset is %s", w.dataset)
	case w.turns < 1:
		return fmt.Errorf("--turns is %d, it must be at least 1", w.turns)
	case w.turns > 1 && (w.dataset == "gsm8k" || w.dataset == "trace"):
		return fmt.Errorf("--turns goes with random, shared-prefix and sharegpt; --dataset is %s", w.dataset)
	case w.vocab < 0 || w.vocab > 1<<30 || w.vocab > 0 && w.vocab < 16:
		return fmt.Errorf("--vocab-size is %d, it must be 16 to 2^30, or 0", w.vocab)
	case w.dataset == "trace" && open:
		return errors.New("--rate goes without a trace, which has its own times; --speed makes them shorter")
	case w.dataset == "trace" && !slices.Contains(trace.Formats(), w.format):
		return fmt.Errorf("--trace-format is %q, want one of %s", w.format, strings.Join(trace.Formats(), ", "))
	}
	w.random.Seed, w.random.Turns = w.seed, w.turns
	w.shared.Seed, w.shared.Turns = w.seed, w.turns
	switch w.dataset {
	case "random":
		return w.random.Check()
	case "shared-prefix":
		return w.shared.Check()
	case "trace":
		return (&work.Trace{Speed: w.speed}).Check()
	}
	return nil
}

// madeUp tells whether prompts mean nothing, so that answers have no natural
// end.
func (w *benchWork) madeUp() bool { return w.dataset != "gsm8k" && w.dataset != "sharegpt" }

// wantsIDs tells whether prompts can be token ids: the server's answers, which
// go into later turns, are text.
func (w *benchWork) wantsIDs() bool { return w.madeUp() && w.turns == 1 }

// writer decides between token ids and words. Of words, the server says how
// many tokens they are.
func (w *benchWork) writer(ctx context.Context, o load.ClientOptions, s *load.Server) (*work.Writer, error) {
	if s.IDs {
		for _, vocab := range []int{w.vocab, s.Vocab, assumedVocab} {
			if vocab > 0 {
				return &work.Writer{Vocab: vocab}, nil
			}
		}
	}
	writer := &work.Writer{}
	if !w.madeUp() {
		return writer, nil
	}
	sample := func(n int) string {
		s, _ := (&work.Random{Seed: w.seed + 1, Writer: writer, Input: n, Output: 1, Ratio: 1, Turns: 1}).Next()
		return s.Turns[0].Text
	}
	perWord, err := load.Calibrate(ctx, o, sample)
	return &work.Writer{TokensPerWord: perWord}, err
}

// open gives the source that the flags name. The caller calls end.
func (w *benchWork) open(writer *work.Writer, chat bool) (s work.Source, end func(), err error) {
	end = func() {}
	switch w.dataset {
	case "random":
		w.random.Writer = writer
		return &w.random, end, nil
	case "shared-prefix":
		w.shared.Writer, w.shared.Chat = writer, chat
		return &w.shared, end, nil
	case "gsm8k":
		w.gsm8k.File = w.path
		s, err = work.OpenGSM8K(w.gsm8k)
	case "sharegpt":
		s, err = work.OpenShareGPT(work.ShareGPTOptions{File: w.path, Seed: w.seed, Turns: w.turns, Output: w.sharegpt})
	default:
		var r trace.Reader
		r, err = trace.OpenWith(w.path, w.format, trace.Options{Seed: w.seed, Warn: func(note string) { w.left = append(w.left, note) }})
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%s: there is no such file", w.path)
		}
		if err == nil {
			end = func() { _ = r.Close() }
			s = &work.Trace{From: r, Name: w.path, Writer: writer, Speed: w.speed}
		}
	}
	if err != nil {
		return nil, end, fmt.Errorf("--dataset-path: %w", err)
	}
	return s, end, nil
}
