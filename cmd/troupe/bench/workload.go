package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/lab/load"
	"github.com/troupe-engine/troupe/lab/load/work"
	"github.com/troupe-engine/troupe/lab/trace"
)

// assumedVocab is smaller than the vocabulary of nearly every model.
const assumedVocab = 32000

// datasets are the names of --dataset, each with the flags that only it uses.
var datasets = map[string][]string{
	"random":        {"random-input-len", "random-output-len", "random-range-ratio"},
	"shared-prefix": {"gsp-num-groups", "gsp-prompts-per-group", "gsp-system-prompt-len", "gsp-question-len", "gsp-output-len"},
	"gsm8k":         {"gsm8k-num-shots", "gsm8k-shots-path", "gsm8k-output-len"},
	"sharegpt":      {"sharegpt-output-len"},
	"trace":         {"trace-format", "speed"},
}

var datasetNames = []string{"random", "shared-prefix", "gsm8k", "sharegpt", "trace"} // as the help lists them

// workload has the flags that choose the requests.
type workload struct {
	dataset, path string
	seed          uint64
	turns, vocab  int

	random   work.Random
	shared   work.Shared
	gsm8k    work.GSM8K
	sharegpt work.ShareGPT
	trace    work.Trace
	format   string // of the trace

	skipped []string // what the reader of the trace skipped
}

func (w *workload) add(flags *pflag.FlagSet) {
	flags.StringVar(&w.dataset, "dataset", "random", "kind of requests: "+strings.Join(datasetNames, ", "))
	flags.StringVar(&w.path, "dataset-path", "", "file for gsm8k (JSON lines), sharegpt (JSON) or trace")
	flags.Uint64Var(&w.seed, "seed", 1, "random seed: equal seeds give equal requests at equal times")
	flags.IntVar(&w.turns, "turns", 1, "turns per conversation; each request includes the previous answers (random, shared-prefix, sharegpt)")
	flags.IntVar(&w.vocab, "vocab-size", 0, "number of token ids that prompts may use; 0: ask the server")
	flags.IntVar(&w.random.Input, "random-input-len", 512, "maximum tokens of a random prompt")
	flags.IntVar(&w.random.Output, "random-output-len", 128, "maximum tokens of the answer")
	flags.Float64Var(&w.random.Ratio, "random-range-ratio", 1, "ratio of the shortest to the longest length, for prompts and for answers; lengths are uniformly distributed")
	flags.IntVar(&w.shared.Groups, "gsp-num-groups", 64, "groups of prompts that share a system prompt")
	flags.IntVar(&w.shared.PerGroup, "gsp-prompts-per-group", 16, "prompts in a group")
	flags.IntVar(&w.shared.System, "gsp-system-prompt-len", 2048, "tokens of a system prompt")
	flags.IntVar(&w.shared.Question, "gsp-question-len", 128, "tokens of the question after the system prompt")
	flags.IntVar(&w.shared.Output, "gsp-output-len", 256, "tokens of the answer")
	flags.IntVar(&w.gsm8k.Shots, "gsm8k-num-shots", 5, "worked examples before each question")
	flags.StringVar(&w.gsm8k.ShotsFile, "gsm8k-shots-path", "", "file with the examples (default: the first problems of --dataset-path; they are then left out of the questions)")
	flags.IntVar(&w.gsm8k.Output, "gsm8k-output-len", 512, "maximum tokens of an answer")
	flags.IntVar(&w.sharegpt.Output, "sharegpt-output-len", 0, "output tokens of every request; 0: about as many as the recorded answer has")
	flags.StringVar(&w.format, "trace-format", "", "format of the trace: "+strings.Join(trace.Formats(), ", "))
	flags.Float64Var(&w.trace.Speed, "speed", 1, "speed factor: 2 replays the trace twice as fast")
}

// check refuses flags that would have no effect.
func (w *workload) check(flags *pflag.FlagSet, open bool) error {
	if _, known := datasets[w.dataset]; !known {
		err := fmt.Errorf("%q is not known; use one of %s", w.dataset, strings.Join(datasetNames, ", "))
		return cli.UnknownValue("--dataset", err, w.dataset, datasetNames)
	}
	for name, only := range datasets {
		for _, flag := range only {
			if name != w.dataset && flags.Changed(flag) {
				return fmt.Errorf("--%s requires --dataset %s", flag, name)
			}
		}
	}
	reads := w.dataset == "gsm8k" || w.dataset == "sharegpt" || w.dataset == "trace"
	switch {
	case reads && w.path == "":
		return fmt.Errorf("--dataset %s requires --dataset-path", w.dataset)
	case !reads && w.path != "":
		return fmt.Errorf("--dataset-path is only for gsm8k, sharegpt and trace, but --dataset is %s", w.dataset)
	case w.turns < 1:
		return fmt.Errorf("--turns is %d; it must be at least 1", w.turns)
	case w.turns > 1 && (w.dataset == "gsm8k" || w.dataset == "trace"):
		return fmt.Errorf("--turns is only for random, shared-prefix and sharegpt, but --dataset is %s", w.dataset)
	case w.vocab < 0 || w.vocab > 1<<30 || w.vocab > 0 && w.vocab < 16:
		return fmt.Errorf("--vocab-size is %d; it must be between 16 and 2^30, or 0", w.vocab)
	case w.dataset == "trace" && open:
		return errors.New("--rate cannot be used with a trace, which has its own times; use --speed to change them")
	case w.dataset == "trace" && !slices.Contains(trace.Formats(), w.format):
		return fmt.Errorf("--trace-format is %q; use one of %s", w.format, strings.Join(trace.Formats(), ", "))
	}
	w.random.Seed, w.random.Turns = w.seed, w.turns
	w.shared.Seed, w.shared.Turns = w.seed, w.turns
	switch w.dataset {
	case "random":
		return w.random.Check()
	case "shared-prefix":
		return w.shared.Check()
	case "trace":
		return w.trace.Check()
	}
	return nil
}

// madeUp reports whether prompts are random, so that answers have no natural end.
func (w *workload) madeUp() bool { return w.dataset != "gsm8k" && w.dataset != "sharegpt" }

// wantsIDs reports whether prompts can be token ids. In conversations they cannot,
// because the server's answers are text.
func (w *workload) wantsIDs() bool { return w.madeUp() && w.turns == 1 }

// writer chooses token ids or words. The server shows how many tokens a word has.
func (w *workload) writer(ctx context.Context, o load.ClientOptions, s *load.Server) (*work.Writer, error) {
	if s.IDs {
		return &work.Writer{Vocab: cmp.Or(w.vocab, max(s.Vocab, 0), assumedVocab)}, nil
	}
	writer := &work.Writer{}
	if !w.madeUp() {
		return writer, nil
	}
	sample := func(n int) string {
		s, _ := work.Random{Seed: w.seed + 1, Writer: writer, Input: n, Output: 1, Ratio: 1, Turns: 1}.Source().Next()
		return s.Turns[0].Text
	}
	perWord, err := load.Calibrate(ctx, o, sample)
	return &work.Writer{TokensPerWord: perWord}, err
}

// open opens the source of requests. The caller must call end.
func (w *workload) open(writer *work.Writer, chat bool) (s *work.Source, end func(), err error) {
	end = func() {}
	switch w.dataset {
	case "random":
		w.random.Writer = writer
		return w.random.Source(), end, nil
	case "shared-prefix":
		w.shared.Writer, w.shared.Chat = writer, chat
		return w.shared.Source(), end, nil
	case "gsm8k":
		w.gsm8k.File = w.path
		s, err = w.gsm8k.Open()
	case "sharegpt":
		w.sharegpt.File, w.sharegpt.Seed, w.sharegpt.Turns = w.path, w.seed, w.turns
		s, err = w.sharegpt.Open()
	default:
		var r trace.Reader
		r, err = trace.Open(w.path, w.format, trace.Options{Seed: w.seed, Warn: func(note string) { w.skipped = append(w.skipped, note) }})
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%s does not exist", w.path)
		}
		if err == nil {
			end = func() { _ = r.Close() }
			w.trace.From, w.trace.Name, w.trace.Writer = r, w.path, writer
			s = w.trace.Source()
		}
	}
	if err != nil {
		return nil, end, fmt.Errorf("--dataset-path: %w", err)
	}
	return s, end, nil
}
