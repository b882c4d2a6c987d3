package former

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/testkit/golden"
)

// TestScripts plays testdata/*.txt: a command with key=value arguments, a line
// of dashes, and what the batch former, the queue and the device said to each
// other. Cache and allocator are the real ones.
//
//	former page=4 pages=8 rows=2 chunk=8 …   starts anew
//	enqueue 1 prompt=5*8 max=3 …             a prompt of tokens 5,6,7,…; 8 of them
//	done [7 9]                               the oldest step is done; the tokens sampled,
//	                                         or the first of as many as needed. 7+8 are
//	                                         two of one row, x is a row that failed
//	fail                                     the step fails
//	finish 1 · flush 9 · audit 9             what intake asks for
//	hold cache · let cache                   keeps messages to an actor back
//	lose cache                               drops a page of the cache's count
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { playFile(t, file) })
	}
}

func playFile(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var result strings.Builder
	var r *script
	for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		block = strings.TrimSpace(block)
		command, want, _ := strings.Cut(block, "\n----\n")
		if strings.HasPrefix(block, "#") {
			result.WriteString(block + "\n\n")
			continue
		}
		command = strings.TrimSuffix(command, "\n----")
		got := ""
		for line := range strings.Lines(command) {
			fields := strings.Fields(line)
			if fields[0] == "former" {
				r = newScript(t, fields[1:])
				continue
			}
			got += r.play(fields)
		}
		got = strings.TrimSuffix(got, "\n")
		if got != want && !golden.Rewriting() {
			t.Errorf("%s: %s\ngot:\n%s\nwant:\n%s", file, command, got, want)
		}
		result.WriteString(command + "\n----\n" + got + "\n\n")
	}
	if golden.Rewriting() {
		if err := os.WriteFile(file, []byte(strings.TrimSuffix(result.String(), "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// script is an engine whose device and intake are the script.
type script struct {
	t      *testing.T
	queue  *queue.Core
	former *Core
	cache  *radix.Core
	alloc  *pages.Core
	out    messages.Outbox
	mail   []messages.Send
	held   map[messages.Actor]bool
	lose   int
	steps  []*messages.RunBatch // that run, oldest first
	log    strings.Builder
}

func newScript(t *testing.T, args []string) *script {
	a := arguments(args)
	opt := Options{
		PageSize: a.number("page", 4), Pages: a.number("pages", 16), MaxRunning: a.number("rows", 4),
		ChunkedPrefillSize: a.number("chunk", 0), MaxPrefillTokens: a.number("prefill", 0), ContextLength: a.number("context", 64),
		CacheDisabled: a.number("nocache", 0) == 1, RetractEvery: a.number("retract", 0),
		InitNewTokenRatio: float64(a.number("ratio", 0)) / 100, StepsInFlight: a.number("flight", 1), TokensPerStep: a.number("tokens", 1),
		ReportAdmissions: a.number("admissions", 0) == 1,
	}
	return &script{
		t: t, queue: queue.New(queue.Options{}), former: New(opt),
		cache: radix.New(radix.Options{PageSize: opt.PageSize, Disabled: opt.CacheDisabled}),
		alloc: pages.New(pages.Options{Pages: opt.Pages}),
		held:  map[messages.Actor]bool{},
	}
}

var roles = map[string]messages.Actor{"queue": messages.Queue, "cache": messages.Cache, "allocator": messages.Allocator, "former": messages.Former}

func (s *script) play(fields []string) string {
	s.log.Reset()
	var id messages.RequestID
	if len(fields) > 1 {
		n, _ := strconv.Atoi(fields[1])
		id = messages.RequestID(n)
	}
	switch fields[0] {
	case "enqueue":
		s.mail = append(s.mail, messages.Send{To: messages.Queue, Msg: &messages.EnqueueRequests{Requests: []*messages.EngineRequest{parseRequest(id, fields[2:])}}})
	case "finish":
		s.mail = append(s.mail, messages.Send{To: messages.Queue, Msg: &messages.FinishRequests{IDs: []messages.RequestID{id}}})
	case "flush":
		s.mail = append(s.mail, messages.Send{To: messages.Former, Msg: &messages.FlushCache{Ticket: messages.Ticket(id)}})
	case "audit":
		s.mail = append(s.mail, messages.Send{To: messages.Former, Msg: &messages.AuditSlots{Ticket: messages.Ticket(id)}})
	case "done":
		s.mail = append(s.mail, messages.Send{To: messages.Former, Msg: s.results(fields[1:])})
	case "ready":
		s.mail = append(s.mail, messages.Send{To: messages.Former, Msg: &messages.MaskReady{ID: id}})
	case "fail":
		s.mail = append(s.mail, messages.Send{To: messages.Former, Msg: &messages.BatchFailed{Step: s.steps[0].Step, Reason: "scripted"}})
	case "hold", "let":
		s.held[roles[fields[1]]] = fields[0] == "hold"
	case "lose":
		s.lose = 1
	default:
		s.t.Fatalf("unknown command %q", fields[0])
	}
	s.run()
	return s.log.String()
}

// run delivers messages in order of sending until only held ones are left.
func (s *script) run() {
	for i := 0; i < len(s.mail); {
		m := s.mail[i]
		if s.held[m.To] {
			i++
			continue
		}
		s.mail = append(s.mail[:i:i], s.mail[i+1:]...)
		s.deliver(m)
		i = 0
	}
}

func (s *script) deliver(m messages.Send) {
	switch m.To {
	case messages.Queue:
		s.queue.Handle(0, m.Msg.(messages.ToQueue), &s.out)
	case messages.Former:
		s.former.Handle(0, m.Msg.(messages.ToFormer), &s.out)
		s.former.check()
	case messages.Cache:
		s.cache.Handle(0, m.Msg.(messages.ToCache), &s.out)
	case messages.Allocator:
		if a, ok := m.Msg.(*messages.AuditSlots); ok {
			lost := *a
			lost.Count.Evictable -= s.lose
			m.Msg = &lost
		}
		s.alloc.Handle(0, m.Msg.(messages.ToAllocator), &s.out)
	case messages.Runner:
		s.steps = append(s.steps, m.Msg.(*messages.RunBatch))
	}
	sends := append([]messages.Send(nil), s.out.Sends...)
	s.out.Reset()
	for _, send := range sends {
		if a, ok := send.Msg.(*messages.AuditSlots); ok && a.Ticket == 0 {
			// The former's own, which not every build has: at once.
			s.deliver(send)
			continue
		}
		if line := describe(send.Msg); line != "" {
			fmt.Fprintf(&s.log, "%s %s\n", send.To, line)
		}
		if _, ok := send.Msg.(*messages.CandidatesWaiting); ok {
			fmt.Fprintf(&s.log, "%s Waiting %d\n", send.To, s.queue.Waiting())
		}
		s.mail = append(s.mail, send)
	}
}

// results draws the scripted tokens; rows that compute prompts with log
// probabilities report them as a device does.
func (s *script) results(tokens []string) *messages.BatchDone {
	each := len(tokens) == 1 && !strings.ContainsAny(tokens[0], "+xl")
	step := s.steps[0]
	s.steps = s.steps[1:]
	d := &messages.BatchDone{Step: step.Step}
	for _, w := range step.Work {
		q := s.former.batch.byRow[w.Row]
		if q == nil {
			s.t.Fatalf("step %d works on row %d, which no request has", step.Step, w.Row)
		}
		if p := q.req.Params; p.PromptLogprobs >= 0 {
			report := messages.PromptLogprobs{Row: w.Row}
			for next := w.Start + 1; next <= w.Start+w.Count && next < len(q.req.Prompt); next++ {
				if next < p.PromptLogprobStart {
					continue
				}
				if len(report.Logprobs) == 0 {
					report.First = next
				}
				report.Logprobs = append(report.Logprobs, messages.PositionLogprobs{Chosen: messages.TokenLogprob{Token: q.tokens[next]}})
			}
			if len(report.Logprobs) > 0 {
				d.Prompts = append(d.Prompts, report)
			}
		}
		if w.Sample > 0 {
			if len(tokens) == 0 {
				s.t.Fatalf("step %d: the script draws too few tokens", step.Step)
			}
			if tokens[0] == "l" {
				d.Late = append(d.Late, w.Row)
				tokens = tokens[1:]
				continue
			}
			if tokens[0] == "x" {
				d.Failed = append(d.Failed, messages.RowFailed{Row: w.Row, Reason: "scripted"})
				tokens = tokens[1:]
				continue
			}
			for token := range strings.SplitSeq(tokens[0], "+") {
				n, _ := strconv.Atoi(token)
				if each {
					n += len(d.Sampled)
				}
				d.Sampled = append(d.Sampled, messages.SampledToken{Row: w.Row, Token: int32(n)})
			}
			if !each {
				tokens = tokens[1:]
			}
		}
	}
	if len(tokens) > 0 && !each {
		s.t.Errorf("step %d: the script draws too many tokens: %v", step.Step, tokens)
	}
	return d
}
