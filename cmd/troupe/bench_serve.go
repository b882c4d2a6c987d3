package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/lab/load"
	"github.com/troupe-engine/troupe/lab/load/wire"
	"github.com/troupe-engine/troupe/lab/load/work"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// benchServe is one run of `troupe bench serve`.
type benchServe struct {
	server   remote
	model    string
	endpoint string
	work     benchWork

	prompts, concurrency int
	rate, burstiness     string
	duration, timeout    time.Duration
	warmup               int
	flush                bool
	stream, ignoreEOS    bool
	extra                string
	retry                bool
	goodput              []string

	asJSON bool
	detail string

	arrivals   *work.Arrivals
	objectives load.Objectives
	options    load.ClientOptions
	found      *load.Server
}

func newBenchServe() *cobra.Command {
	b := &benchServe{}
	c := &cobra.Command{
		Use: "serve", Short: "Load a running server and measure latencies and throughput",
		Long: "Asks a server of the OpenAI API (Troupe, llama-server, vLLM, SGLang, …) as many users would, and\n" +
			"measures time to first token, time per token and throughput, as the common tools define them.\n" +
			"docs/bench.md tells what each figure means.\n\n" +
			"Without --rate the loop is closed: --concurrency users, each asking again when the answer is there.\n" +
			"With --rate it is open: requests come at random times whether or not the server keeps up. A trace\n" +
			"has its own times. An interrupt ends the run early and prints what was measured.",
		Example: "  troupe bench serve --dataset random --random-input-len 512 --random-output-len 128 --concurrency 8\n" +
			"  troupe bench serve --url http://127.0.0.1:8080 --rate 4 --duration 60s --goodput ttft:200ms,tpot:50ms\n" +
			"  troupe bench serve --dataset gsm8k --dataset-path test.jsonl --concurrency 16 --num-prompts 200\n" +
			"  troupe bench serve --dataset random --turns 4 --concurrency 8 --json --detail requests.jsonl",
		Args: func(_ *cobra.Command, args []string) error {
			for _, a := range args {
				if !strings.Contains(a, ":") {
					return fmt.Errorf("%q is no flag; `troupe bench serve --help` lists them", a)
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && len(b.goodput) == 0 {
				return fmt.Errorf("%q stands alone; objectives follow --goodput", args[0])
			}
			b.goodput = append(b.goodput, args...) // --goodput ttft:200ms tpot:50ms, as others write it
			return b.run(c)
		},
	}
	flags := c.Flags()
	b.server.addFlags(flags, defaultURL)
	flags.StringVar(&b.model, "model", "", "name of the model to ask; the first one that the server lists by default")
	flags.StringVar(&b.endpoint, "endpoint", "", "completions or chat; chat by default for conversations, completions for the rest")
	b.work.add(flags)
	flags.IntVar(&b.prompts, "num-prompts", 0, "how many requests, or conversations; 0 is 100 of random work and all of a file, or no limit with --duration")
	flags.IntVar(&b.concurrency, "concurrency", 0, "how many run at once at most; 0 is 8 without --rate and no limit with it or with a trace")
	flags.StringVar(&b.rate, "rate", "", "requests per second that come on average, or inf for all at once")
	flags.StringVar(&b.burstiness, "burstiness", "1", "shape of the gaps with --rate: 1 is a Poisson process, less is burstier, inf is evenly spaced")
	flags.DurationVar(&b.duration, "duration", 0, "time after which no request begins; those that run are waited for. 0 is no limit")
	flags.DurationVar(&b.timeout, "request-timeout", 10*time.Minute, "time after which a request counts as failed; 0 is never")
	flags.IntVar(&b.warmup, "warmup-requests", 1, "requests before the run that are not counted; they share no prompt with it")
	flags.BoolVar(&b.flush, "flush-cache", false, "flush the server's prefix cache before the run (POST /flush_cache: Troupe, SGLang)")
	flags.BoolVar(&b.stream, "stream", true, "stream answers; without it there is no TTFT, TPOT and ITL")
	flags.BoolVar(&b.ignoreEOS, "ignore-eos", true, "make answers as long as asked for, where the server can; false by default for gsm8k and sharegpt")
	flags.StringVar(&b.extra, "extra-body", "", `JSON object of further members of each request; null removes one. Example: {"top_k":1}`)
	flags.BoolVar(&b.retry, "retry-429", false, "wait as long as a 429 asks and send again; without it 429 counts as failed")
	flags.StringArrayVar(&b.goodput, "goodput", nil, "limits that a good request keeps. Example: ttft:200ms,tpot:50ms,e2e:10s")
	flags.BoolVar(&b.asJSON, "json", false, "print JSON")
	flags.StringVar(&b.detail, "detail", "", "write a line of JSON per request into this file")
	return c
}

// check reads what flags say as text.
func (b *benchServe) check() (err error) {
	if b.prompts < 0 || b.concurrency < 0 || b.warmup < 0 || b.duration < 0 || b.timeout < 0 {
		return fmt.Errorf("--num-prompts, --concurrency, --warmup-requests, --duration and --request-timeout must not be negative")
	}
	if b.rate != "" {
		a := &work.Arrivals{Seed: b.work.seed}
		if a.Rate, err = parseRate(b.rate); err != nil {
			return fmt.Errorf("--rate is %q, want requests per second such as 4.5, or inf", b.rate)
		}
		if a.Burstiness, err = parseRate(b.burstiness); err != nil {
			return fmt.Errorf("--burstiness is %q, want a number such as 0.5, or inf", b.burstiness)
		}
		if err := a.Check(); err != nil {
			return err
		}
		b.arrivals = a
	}
	if b.objectives, err = load.ParseObjectives(b.goodput); err != nil {
		return fmt.Errorf("--goodput: %w", err)
	}
	return nil
}

func parseRate(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && math.IsNaN(v) {
		err = strconv.ErrSyntax
	}
	return v, err
}

func (b *benchServe) run(c *cobra.Command) error {
	if err := b.check(); err != nil {
		return err
	}
	if err := b.work.check(c.Flags(), b.arrivals != nil); err != nil {
		return err
	}
	if err := b.defaults(c.Flags()); err != nil {
		return err
	}
	var detail *os.File
	if b.detail != "" { // before an hour of load, not after
		var err error
		if detail, err = os.Create(b.detail); err != nil {
			return fmt.Errorf("--detail: %w", err)
		}
		defer detail.Close()
	}
	report, result, err := b.measure(c)
	if err != nil {
		return err
	}
	if detail != nil {
		if err := cmp.Or(load.WriteDetail(detail, result.Records), detail.Close()); err != nil {
			return fmt.Errorf("--detail: %w", err)
		}
	}
	if b.asJSON {
		err = printJSON(c.OutOrStdout(), report)
	} else {
		err = report.WriteText(logtext.NewTerminal(c.OutOrStdout()))
	}
	if err == nil && report.Requests.Finished == 0 && !report.Interrupted {
		fmt.Fprintln(c.ErrOrStderr(), "troupe: no request finished")
		return errSilent
	}
	return err
}

// defaults fills what other flags decide.
func (b *benchServe) defaults(flags *pflag.FlagSet) error {
	talks := b.work.turns > 1 || b.work.dataset == "sharegpt"
	switch b.endpoint {
	case "":
		b.endpoint = "completions"
		if talks {
			b.endpoint = "chat"
		}
	case "chat", "completions":
	case "/v1/chat/completions", "/v1/completions":
		b.endpoint = strings.TrimSuffix(strings.TrimPrefix(b.endpoint, "/v1/"), "/completions")
	default:
		return fmt.Errorf("--endpoint is %q, want completions or chat", b.endpoint)
	}
	if !flags.Changed("ignore-eos") {
		b.ignoreEOS = b.work.madeUp()
	}
	if b.prompts == 0 && b.duration == 0 && b.work.dataset == "random" {
		b.prompts = 100
	}
	if b.concurrency == 0 && b.arrivals == nil && b.work.dataset != "trace" {
		b.concurrency = 8
	}
	base, err := b.server.base()
	if err != nil {
		return err
	}
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/v1")
	b.options = load.ClientOptions{
		Base: base, Key: b.server.bearer(), Chat: b.endpoint == "chat", Timeout: b.timeout, Retry: b.retry, Transport: load.NewTransport(),
		Frame: wire.FrameOptions{Model: b.model, Stream: b.stream, Usage: true, IgnoreEOS: b.ignoreEOS, Extra: json.RawMessage(b.extra)},
	}
	if _, err := wire.NewFrame(b.options.Frame); err != nil {
		return fmt.Errorf("--extra-body: %w", err)
	}
	return nil
}

// measure learns what the server takes, warms it up, and runs the load.
func (b *benchServe) measure(c *cobra.Command) (*load.Report, *load.Result, error) {
	ctx := c.Context()
	defer b.options.Transport.(*http.Transport).CloseIdleConnections()
	found, err := load.Learn(ctx, b.options, b.work.wantsIDs())
	if err != nil {
		return nil, nil, fmt.Errorf("%w; check --url, --api-key, --model and --endpoint", err)
	}
	b.found = found
	b.options.Frame.Model, b.options.Frame.Usage = found.Model, found.Usage
	b.options.Frame.IgnoreEOS = b.ignoreEOS && found.IgnoreEOS
	writer, err := b.work.writer(ctx, b.options, found)
	if err != nil {
		return nil, nil, err
	}
	fitted, err := b.work.fit(c.Flags(), found.Context, writer.Vocab > 0)
	if err != nil {
		return nil, nil, err
	}
	source, end, err := b.work.open(writer, b.options.Chat)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	client, err := load.NewClient(b.options)
	if err != nil {
		return nil, nil, err
	}
	if err := b.prepare(ctx, client, writer); err != nil {
		return nil, nil, err
	}
	run := &load.Load{Client: client, Source: source, Sessions: b.prompts, Concurrency: b.concurrency, Arrivals: b.arrivals, Duration: b.duration, Refusals: b.work.refusals()}
	stop := showLoad(&run.Live, b.total(source))
	result, err := run.Run(ctx)
	stop()
	if err != nil {
		return nil, nil, b.work.explain(err)
	}
	if b.prompts == 0 && b.duration == 0 {
		result.Exhausted = false // all of it was asked for
	}
	report := load.NewReport(b.setup(c.Flags(), source), result)
	report.Notes = append(append(b.notes(source, writer), report.Notes...), b.repeated(&report.Tokens)...)
	if fitted != "" {
		report.Notes = append([]string{fitted}, report.Notes...)
	}
	return report, result, nil
}

// prepare warms the server up with work of its own, and empties its cache.
func (b *benchServe) prepare(ctx context.Context, client *load.Client, writer *work.Writer) error {
	if b.warmup > 0 {
		const otherSeed = 0x9e3779b97f4a7c15 // nothing of the run is in the cache after it
		input, output := 64, 8
		if room := b.found.Context; room > 0 {
			input, output = max(min(input, room/2), 1), max(min(output, room/4), 1)
		}
		warm := &load.Load{Client: client, Sessions: b.warmup, Concurrency: max(b.concurrency, 1),
			Source: &work.Random{Seed: b.work.seed ^ otherSeed, Writer: writer, Input: input, Output: output, Ratio: 1, Turns: 1}}
		result, err := warm.Run(ctx)
		if err != nil {
			return err
		}
		for _, r := range result.Records {
			if r.Outcome == load.Failed {
				return fmt.Errorf("a warm-up request fails: %s: %s; --warmup-requests 0 leaves them out", r.Failure, r.Message)
			}
		}
	}
	if b.flush && ctx.Err() == nil {
		return load.FlushCache(ctx, b.options)
	}
	return ctx.Err()
}

// total is how many requests there will be, 0 where nobody knows.
func (b *benchServe) total(source work.Source) int {
	n := source.Size()
	if n == 0 || b.prompts > 0 && b.prompts < n {
		n = b.prompts
	}
	if b.duration > 0 || b.work.dataset == "sharegpt" && b.work.turns > 1 {
		return 0
	}
	return n * b.work.turns
}

func (b *benchServe) setup(flags *pflag.FlagSet, source work.Source) load.Setup {
	s := load.Setup{
		URL: b.options.Base.String(), Endpoint: "/v1/completions", Server: b.found, Work: source.Describe(), Load: b.describe(), Seed: b.work.seed,
		Stream: b.stream, IgnoreEOS: b.options.Frame.IgnoreEOS, Warmup: b.warmup, Concurrency: b.concurrency, Objectives: b.objectives, Flags: map[string]string{},
	}
	if b.options.Chat {
		s.Endpoint = "/v1/chat/completions"
	}
	flags.Visit(func(f *pflag.Flag) {
		if !strings.HasSuffix(f.Name, "api-key") {
			s.Flags[f.Name] = f.Value.String()
		}
	})
	return s
}

// describe says how requests come.
func (b *benchServe) describe() string {
	limit := ""
	if b.concurrency > 0 {
		limit = fmt.Sprintf(", at most %d at once", b.concurrency)
	}
	switch {
	case b.work.dataset == "trace":
		return "open loop at the trace's times" + limit
	case b.arrivals == nil:
		return fmt.Sprintf("closed loop, %d at once", b.concurrency)
	case math.IsInf(b.arrivals.Rate, 1):
		return "all at once" + limit
	}
	return fmt.Sprintf("open loop, %g requests/s, burstiness %g%s", b.arrivals.Rate, b.arrivals.Burstiness, limit)
}

// repeated tells of random prompts that the server has seen before.
func (b *benchServe) repeated(t *load.Tokens) []string {
	const share = 0.05 // control tokens and templates are always found
	if b.work.dataset != "random" || b.work.turns > 1 || float64(t.Cached) <= share*float64(t.Input) {
		return nil
	}
	return []string{"random prompts share nothing, yet the server found some in its cache: it has seen this seed; give another --seed, or --flush-cache"}
}

func (b *benchServe) notes(source work.Source, writer *work.Writer) []string {
	notes := append(source.Notes(), b.work.left...)
	if b.work.madeUp() && !b.options.Chat && b.work.turns == 1 && writer.Vocab == 0 {
		notes = append(notes, "the server takes no prompts of token ids: prompts are words, and their lengths about right")
	}
	if writer.Vocab > 0 && b.work.vocab == 0 && b.found.Vocab == 0 {
		notes = append(notes, fmt.Sprintf("the server does not tell its vocabulary; ids are below %d. --vocab-size sets it", assumedVocab))
	}
	if b.ignoreEOS && !b.found.IgnoreEOS {
		notes = append(notes, "the server refuses ignore_eos: answers may be shorter than asked for")
	}
	return notes
}
