package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/remote"
	"github.com/troupe-engine/troupe/lab/load"
	"github.com/troupe-engine/troupe/lab/load/wire"
	"github.com/troupe-engine/troupe/lab/load/work"
	"github.com/troupe-engine/troupe/lab/measure"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

type serveCommand struct {
	server remote.Server
	work   workload
	load   load.Load
	client load.ClientOptions
	setup  load.Setup // for the report

	endpoint, extra  string
	rate, burstiness string
	flush, ignoreEOS bool
	goodput          []string
	asJSON           bool
	detail           string
}

func newServe() *cobra.Command {
	b := &serveCommand{}
	c := &cobra.Command{
		Use: "serve", Short: "Measure latencies and throughput of a running server under load",
		Long: "Sends requests to a server with an OpenAI API (Troupe, llama-server, vLLM, SGLang, …) and measures time\n" +
			"to first token, time per token and throughput, as the common tools define them. docs/bench.md explains\n" +
			"the figures.\n\n" +
			"Without --rate the loop is closed: --concurrency users, each sending the next request after the answer.\n" +
			"With --rate it is open: requests arrive at random times whether or not the server keeps up. A trace has\n" +
			"its own times. An interrupt ends the run early and prints the results so far.",
		Example: "  troupe bench serve --dataset random --random-input-len 512 --random-output-len 128 --concurrency 8\n" +
			"  troupe bench serve --url http://127.0.0.1:8080 --rate 4 --duration 60s --goodput ttft:200ms,tpot:50ms\n" +
			"  troupe bench serve --dataset gsm8k --dataset-path test.jsonl --concurrency 16 --num-prompts 200\n" +
			"  troupe bench serve --dataset random --turns 4 --concurrency 8 --json --detail requests.jsonl",
		RunE: func(c *cobra.Command, args []string) error {
			for _, a := range args { // --goodput ttft:200ms tpot:50ms, as in other tools
				switch {
				case !strings.Contains(a, ":"):
					return fmt.Errorf("%q is not a flag; `troupe bench serve --help` lists the flags", a)
				case len(b.goodput) == 0:
					return fmt.Errorf("%q is not a flag; if it is a latency limit, give it with --goodput, for example --goodput ttft:200ms,tpot:50ms", a)
				}
				b.goodput = append(b.goodput, a)
			}
			return b.run(c)
		},
	}
	flags := c.Flags()
	b.server.AddFlags(flags, remote.DefaultURL)
	flags.StringVar(&b.client.Frame.Model, "model", "", "model name (default: the first one that the server lists)")
	flags.StringVar(&b.endpoint, "endpoint", "", "completions or chat (default: chat for conversations, otherwise completions)")
	b.work.add(flags)
	flags.IntVar(&b.load.Sessions, "num-prompts", 0, "number of requests or conversations. 0: all of the dataset; for random 100, or no limit with --duration")
	flags.IntVar(&b.load.Concurrency, "concurrency", 0, "maximum number of requests at once; 0: the default (8 without --rate, no limit with --rate or a trace)")
	flags.StringVar(&b.rate, "rate", "", "mean number of requests per second, or inf for all at once")
	flags.StringVar(&b.burstiness, "burstiness", "1", "burstiness of the arrivals with --rate: 1: Poisson process; below 1: more bursts; inf: evenly spaced")
	flags.DurationVar(&b.load.Duration, "duration", 0, "time after which no new request is sent; running ones are completed. 0: no limit")
	flags.DurationVar(&b.client.Timeout, "request-timeout", 10*time.Minute, "time after which a request counts as failed; 0: never")
	flags.IntVar(&b.setup.Warmup, "warmup-requests", 1, "warm-up requests; they share no prompt with the run")
	flags.BoolVar(&b.flush, "flush-cache", false, "flush the server's prefix cache before the run (POST /flush_cache: Troupe, SGLang)")
	flags.BoolVar(&b.client.Frame.Stream, "stream", true, "stream responses; required for TTFT, TPOT and ITL")
	flags.BoolVar(&b.ignoreEOS, "ignore-eos", true, "make responses exactly as long as requested, if the server supports ignore_eos (default false for gsm8k and sharegpt)")
	flags.StringVar(&b.extra, "extra-body", "", `JSON object with further parameters for each request; null removes one. Example: {"top_k":1}`)
	flags.BoolVar(&b.client.Retry, "retry-429", false, "after a 429, wait for the time in Retry-After and try again; without this flag the request counts as failed")
	flags.StringArrayVar(&b.goodput, "goodput", nil, "latency limits a request must meet to count as goodput. Example: ttft:200ms,tpot:50ms,e2e:10s")
	flags.BoolVar(&b.asJSON, "json", false, "print JSON")
	flags.StringVar(&b.detail, "detail", "", "write one line of JSON per request to this file")
	return c
}

func (b *serveCommand) check(flags *pflag.FlagSet) (err error) {
	if err := cmp.Or(work.AtLeast(0, b.load.Sessions, "num-prompts"), work.AtLeast(0, b.load.Concurrency, "concurrency"), work.AtLeast(0, b.setup.Warmup, "warmup-requests"),
		work.AtLeast(0, b.load.Duration, "duration"), work.AtLeast(0, b.client.Timeout, "request-timeout")); err != nil {
		return err
	}
	if b.rate != "" {
		a := &work.Arrivals{Seed: b.work.seed}
		if a.Rate, err = parseRate(b.rate); err != nil {
			return fmt.Errorf("--rate is %q; use a number of requests per second, for example 4.5, or inf", b.rate)
		}
		if a.Burstiness, err = parseRate(b.burstiness); err != nil {
			return fmt.Errorf("--burstiness is %q; use a number, for example 0.5, or inf", b.burstiness)
		}
		if err := a.Check(); err != nil {
			return err
		}
		b.load.Arrivals = a
	}
	if b.setup.Objectives, err = load.ParseObjectives(b.goodput); err != nil {
		return fmt.Errorf("--goodput: %w", err)
	}
	if err := b.work.check(flags, b.load.Arrivals != nil); err != nil {
		return err
	}
	return b.defaults(flags)
}

func parseRate(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && math.IsNaN(v) {
		err = strconv.ErrSyntax
	}
	return v, err
}

func (b *serveCommand) run(c *cobra.Command) error {
	if err := b.check(c.Flags()); err != nil {
		return err
	}
	var detail *os.File
	if b.detail != "" { // an error must not come after an hour of load
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
	err = cli.Print(c, b.asJSON, report, func(out io.Writer) error { return report.WriteText(logtext.NewTerminal(out)) })
	if err == nil && report.Requests.Finished == 0 && !report.Interrupted {
		fmt.Fprintln(c.ErrOrStderr(), "troupe: no request was completed")
		return cli.ErrSilent
	}
	return err
}

// defaults sets what depends on other flags.
func (b *serveCommand) defaults(flags *pflag.FlagSet) error {
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
		return fmt.Errorf("--endpoint is %q; use completions or chat", b.endpoint)
	}
	if !flags.Changed("ignore-eos") {
		b.ignoreEOS = b.work.madeUp()
	}
	if b.load.Sessions == 0 && b.load.Duration == 0 && b.work.dataset == "random" {
		b.load.Sessions = 100
	}
	if b.load.Concurrency == 0 && b.load.Arrivals == nil && b.work.dataset != "trace" {
		b.load.Concurrency = 8
	}
	server, err := b.server.Client()
	if err != nil {
		return err
	}
	server.Base.Path = strings.TrimSuffix(strings.TrimSuffix(server.Base.Path, "/"), "/v1")
	server.Transport = load.NewTransport()
	b.client.Server, b.client.Chat = *server, b.endpoint == "chat"
	b.client.Frame.Usage, b.client.Frame.IgnoreEOS, b.client.Frame.Extra = true, b.ignoreEOS, json.RawMessage(b.extra)
	if _, err := wire.NewFrame(b.client.Frame); err != nil {
		return fmt.Errorf("--extra-body: %w", err)
	}
	return nil
}

// measure finds out what the server accepts, warms it up, and runs the load.
func (b *serveCommand) measure(c *cobra.Command) (*load.Report, *load.Result, error) {
	ctx := c.Context()
	defer b.client.Transport.(*http.Transport).CloseIdleConnections()
	found, err := load.Learn(ctx, b.client, b.work.wantsIDs())
	if err != nil {
		return nil, nil, err
	}
	b.setup.Server = found
	b.client.Frame.Model, b.client.Frame.Usage = found.Model, found.Usage
	b.client.Frame.IgnoreEOS = b.ignoreEOS && found.IgnoreEOS
	writer, err := b.work.writer(ctx, b.client, found)
	if err != nil {
		return nil, nil, err
	}
	fitted, err := b.work.fit(c.Flags(), found.Context, writer.Vocab > 0)
	if err != nil {
		return nil, nil, err
	}
	source, end, err := b.work.open(writer, b.client.Chat)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	b.load.Source, b.load.Refusals = source, b.work.refusals()
	if b.load.Client, err = load.NewClient(b.client); err != nil {
		return nil, nil, err
	}
	if err := b.prepare(ctx, writer); err != nil {
		return nil, nil, err
	}
	stop := showLoad(&b.load.Live, b.total(source))
	result, err := b.load.Run(ctx)
	stop()
	if err != nil {
		return nil, nil, b.work.explain(err)
	}
	if b.load.Sessions == 0 && b.load.Duration == 0 {
		result.Exhausted = false // the whole source was requested
	}
	b.describe(c.Flags())
	report := load.NewReport(b.setup, result)
	var notes measure.Notes
	notes.If(fitted != "", "%s", fitted)
	report.Notes = slices.Concat(notes, b.notes(writer), report.Notes)
	report.Notes.If(b.repeated(&report.Tokens),
		"the server already had some of these prompts in its cache from an earlier run with this seed; use another --seed or --flush-cache")
	return report, result, nil
}

// prepare sends the warm-up requests and flushes the server's cache.
func (b *serveCommand) prepare(ctx context.Context, writer *work.Writer) error {
	if b.setup.Warmup > 0 {
		const otherSeed = 0x9e3779b97f4a7c15 // so that no prompt of the run is cached
		input, output := 64, 8
		if room := b.setup.Server.Context; room > 0 {
			input, output = max(min(input, room/2), 1), max(min(output, room/4), 1)
		}
		warm := &load.Load{Client: b.load.Client, Sessions: b.setup.Warmup, Concurrency: max(b.load.Concurrency, 1),
			Source: work.Random{Seed: b.work.seed ^ otherSeed, Writer: writer, Input: input, Output: output, Ratio: 1, Turns: 1}.Source()}
		result, err := warm.Run(ctx)
		if err != nil {
			return err
		}
		for _, r := range result.Records {
			if r.Outcome == load.Failed {
				return fmt.Errorf("a warm-up request failed: %s: %s; use --warmup-requests 0 to run without warm-up", r.Failure, r.Message)
			}
		}
	}
	if b.flush && ctx.Err() == nil {
		return load.FlushCache(ctx, b.client)
	}
	return ctx.Err()
}

// total returns the number of requests; 0 if it is unknown.
func (b *serveCommand) total(source *work.Source) int {
	n := source.Size
	if n == 0 || b.load.Sessions > 0 && b.load.Sessions < n {
		n = b.load.Sessions
	}
	if b.load.Duration > 0 || b.work.dataset == "sharegpt" && b.work.turns > 1 {
		return 0
	}
	return n * b.work.turns
}

func (b *serveCommand) describe(flags *pflag.FlagSet) {
	s := &b.setup
	s.URL, s.Endpoint, s.Work, s.Load = b.client.Base.String(), "/v1/completions", b.load.Source.Description, b.pace()
	if b.client.Chat {
		s.Endpoint = "/v1/chat/completions"
	}
	s.Seed, s.Stream, s.IgnoreEOS = b.work.seed, b.client.Frame.Stream, b.client.Frame.IgnoreEOS
	s.Concurrency, s.Flags = b.load.Concurrency, cli.GivenFlags(flags)
}

// pace describes when requests arrive.
func (b *serveCommand) pace() string {
	limit, arrivals := "", b.load.Arrivals
	if b.load.Concurrency > 0 {
		limit = fmt.Sprintf(", at most %d at once", b.load.Concurrency)
	}
	switch {
	case b.work.dataset == "trace":
		return "open loop at the trace's times" + limit
	case arrivals == nil:
		return fmt.Sprintf("closed loop, %d at once", b.load.Concurrency)
	case math.IsInf(arrivals.Rate, 1):
		return "all at once" + limit
	}
	return fmt.Sprintf("open loop, %g requests/s, burstiness %g%s", arrivals.Rate, arrivals.Burstiness, limit)
}

// repeated reports whether the server has seen the random prompts before.
func (b *serveCommand) repeated(t *load.Tokens) bool {
	const share = 0.05 // control tokens and templates are always cached
	return b.work.dataset == "random" && b.work.turns == 1 && float64(t.Cached) > share*float64(t.Input)
}

func (b *serveCommand) notes(writer *work.Writer) measure.Notes {
	notes := measure.Notes(slices.Concat(b.load.Source.Notes, b.work.skipped))
	notes.If(b.work.madeUp() && !b.client.Chat && b.work.turns == 1 && writer.Vocab == 0,
		"the server does not accept token ids, so prompts are words and their lengths are approximate")
	notes.If(writer.Vocab > 0 && b.work.vocab == 0 && b.setup.Server.Vocab == 0,
		"the server does not report its vocabulary size; token ids are below %d; use --vocab-size to change this", assumedVocab)
	notes.If(b.ignoreEOS && !b.setup.Server.IgnoreEOS, "the server rejects ignore_eos: responses may be shorter than requested")
	return notes
}
