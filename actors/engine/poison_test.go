package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
)

func isPoison(prompt []int32) bool { return len(prompt) > 1 && prompt[0] == 499 && prompt[1] == 498 }

// poisonIn makes an actor panic whenever it gets a poisonous request in a message.
func poisonIn(role messages.Actor) func(*Spec) {
	return func(spec *Spec) {
		spec.Intercept = func(r messages.Actor, msg any) {
			if r != role {
				return
			}
			var prompts [][]int32
			switch m := msg.(type) {
			case *messages.EnqueueRequests:
				for _, r := range m.Requests {
					prompts = append(prompts, r.Prompt)
				}
			case *messages.LockPrefixes:
				for _, p := range m.Prefixes {
					prompts = append(prompts, p.Tokens)
				}
			}
			for _, p := range prompts {
				if isPoison(p) {
					panic("poison in the " + r.String())
				}
			}
		}
	}
}

// poisonInStep makes a runner panic at steps that compute a poisonous request.
func poisonInStep(spec *Spec) {
	rows := make([]map[messages.Row]bool, len(spec.Members))
	spec.Intercept = func(_ messages.Actor, msg any) {
		b, ok := msg.(*messages.RunBatch)
		if !ok {
			return
		}
		if b.Step == 1 {
			rows[b.Engine] = map[messages.Row]bool{}
		}
		mine := rows[b.Engine]
		for _, row := range b.Closed {
			delete(mine, row)
		}
		for _, o := range b.Opened {
			mine[o.Row] = isPoison(o.Request.Prompt)
		}
		for _, w := range b.Work {
			if mine[w.Row] {
				panic("poison in the step")
			}
		}
	}
}

// A request whose computation always crashes ends alone, with an error; those
// that happened to run beside it get every token.
func TestAPoisonousRequestEndsAlone(t *testing.T) {
	mutants := map[string]func(*Spec){
		"in its step":  poisonInStep,
		"in the queue": poisonIn(messages.Queue),
		"in the cache": poisonIn(messages.Cache),
		"in its text":  func(spec *Spec) { spec.Intake.Detokenizer = venom{} },
	}
	for where, mutate := range mutants {
		t.Run(where, func(t *testing.T) { endsAlone(t, 1, prompts(12), mutate, 5) })
		t.Run(where+" of several engines", func(t *testing.T) { endsAlone(t, 3, prompts(12), mutate, 5) })
	}
	t.Run("in dispatch", func(t *testing.T) { endsAlone(t, 2, prompts(12), poisonIn(messages.Dispatch), 5) })
}

// With several engines, a quarantined request may meet requests that were there before
// it, among them poisonous ones. Only the latter end.
func TestPoisonousRequestsEndNoOthers(t *testing.T) {
	rounds := 8
	if soak {
		rounds = 200
	}
	for round := range rounds {
		rnd := rand.New(rand.NewPCG(uint64(round), 1))
		subs := prompts(24)
		engines, poisoned := 1+rnd.IntN(3), rnd.Perm(len(subs))[:4]
		t.Run(fmt.Sprintf("round %d, %d engines", round, engines), func(t *testing.T) {
			endsAlone(t, engines, subs, poisonIn(messages.Cache), poisoned...)
		})
	}
}

func endsAlone(t *testing.T, engines int, subs []messages.Submission, mutate func(*Spec), poisoned ...int) {
	s := plain
	s.chunk, s.inFlight, s.engines = 16, 2, engines
	h := start(t, s, mutate)
	for _, i := range poisoned {
		subs[i].Prompt = []int32{499, 498, 7, 8 + int32(i), 9}
	}
	results := h.read(h.submit(subs...), len(subs))
	healthy, theirs := subs[:0:0], results[:0:0]
	for i, r := range results {
		switch {
		case !isPoison(subs[i].Prompt):
			healthy, theirs = append(healthy, subs[i]), append(theirs, r)
		case r.finish.Reason != messages.FinishError || r.finish.Message == "":
			t.Errorf("poisonous request %d ended by %s: %q", i, r.finish.Reason, r.finish.Message)
		}
	}
	h.check(healthy, theirs)
	h.checkBalance()
}

// venom is a detokeniser that fails on every token of poisonous prompts.
type venom struct{ words }

func (venom) NewStream(prompt []int32, _, _ bool) request.Stream {
	if isPoison(prompt) {
		panic("poison in the text")
	}
	return words{}
}
