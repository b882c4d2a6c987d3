package node

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/messages"
)

// probation times the probes of an engine that has taken itself out.
type probation struct{ pause time.Duration }

// The pauses between two probes.
const (
	firstProbe = 2 * time.Second
	lastProbe  = 30 * time.Second
)

// next is the pause before the next probe.
func (p *probation) next() time.Duration {
	p.pause = min(max(2*p.pause, firstProbe), lastProbe)
	return p.pause
}

// barren is called when an engine has had too many epochs without a token.
func (s *supervised) barren() {
	if core := s.core.Load(); core == nil || !core.Barren() || s.State() != report.Ready || s.probing.Swap(true) {
		return
	}
	go s.takeOut()
}

// takeOut takes the engine out of service until a token of its own succeeds.
func (s *supervised) takeOut() {
	defer s.probing.Store(false)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !s.fail(ctx) {
		return
	}
	var p probation
	for timer := time.NewTimer(p.next()); ; timer.Reset(p.next()) {
		select {
		case <-timer.C:
		case <-s.ended:
			timer.Stop()
			return
		}
		if s.State() != report.Failed { // an operator has decided otherwise
			return
		}
		if s.probe(ctx) && s.comeBack() {
			return
		}
	}
}

// fail takes the engine out of service, unless an operator has done so.
func (s *supervised) fail(ctx context.Context) bool {
	s.service.Lock()
	defer s.service.Unlock()
	if s.State() != report.Ready {
		return false
	}
	cause := fmt.Sprintf("%d epochs in a row have ended without a token", engine.Barren)
	text, err := s.leave(ctx, report.Failed, cause)
	if err != nil {
		return false
	}
	s.setAndRecord(report.Failed, fmt.Sprintf("node %s takes itself out of service: %s%s", s.name, cause, text))
	return true
}

// comeBack puts the engine back into service, unless an operator has decided otherwise.
func (s *supervised) comeBack() bool {
	s.service.Lock()
	defer s.service.Unlock()
	if s.State() != report.Failed {
		return false
	}
	s.backInService()
	s.setAndRecord(report.Ready, fmt.Sprintf("node %s is ready again: it has computed a token", s.name))
	return true
}

// probeLimit is how long a probe waits for its token.
const probeLimit = 10 * time.Second

// probe has the engine compute a token. An engine in the process of its gateway is linked
// with it for that time, because there is no other way to it.
func (s *supervised) probe(ctx context.Context) (fruitful bool) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	n := s.node
	if g := n.cluster; g != nil && n.Config().Cluster.HasGateway() {
		if !s.linkForProbe(g) {
			return false
		}
		defer func() { s.afterProbe(g, fruitful) }()
	}
	front := n.fronts()[0]
	if g := n.cluster; g != nil {
		front = g.own().Engine
	}
	call := messages.CallID(1<<63 | localCalls.Add(1))
	events := make(chan messages.CallEvent, 16)
	params := &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 1, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
	front.Send(&messages.SubmitRequests{Call: call, UserID: fmt.Sprint("probe-", call), Events: events,
		Requests: []messages.Submission{{Prompt: []int32{0}, Params: params, After: -1}}})
	for {
		select {
		case event := <-events:
			switch e := event.(type) {
			case *messages.CallRefused:
				return false
			case *messages.CallOutput:
				if e.Finish != nil {
					return s.core.Load().Fruitful()
				}
			}
		case <-ctx.Done():
			front.Send(&messages.DropCall{Call: call})
			return s.core.Load().Fruitful()
		case <-s.ended:
			return false
		}
	}
}

// linkForProbe links the engine with its gateway, unless an operator has decided otherwise.
func (s *supervised) linkForProbe(g *clustered) bool {
	s.service.Lock()
	defer s.service.Unlock()
	if s.State() != report.Failed {
		return false
	}
	r := g.own()
	r.unlinked.Store(false)
	g.relink(r)
	return true
}

// afterProbe ends the link of a probe, unless the engine is in service now, or is about to be.
func (s *supervised) afterProbe(g *clustered, fruitful bool) {
	s.service.Lock()
	defer s.service.Unlock()
	if state := s.State(); state == report.Ready || state == report.Failed && fruitful {
		return
	}
	g.unlink("the probe of the engine is over")
}
