package node

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/messages"
)

// counted is an Executor that counts its steps.
type counted struct {
	runner.Executor
	steps int
}

func (c *counted) Submit(_ *messages.RunBatch, done func(*messages.BatchDone, error)) {
	c.steps++
	done(nil, nil)
}

func TestATokenEndsTheProcess(t *testing.T) {
	inner := &counted{}
	if withKillToken(inner, 0, zerolog.Nop()) != runner.Executor(inner) {
		t.Error("without the setting the executor is another one")
	}
	d := withKillToken(inner, 7, zerolog.Nop()).(*deadly)
	status, reported := 0, 0
	d.exit = func(s int) { status = s }
	step := func(prompt ...int32) {
		d.Submit(&messages.RunBatch{Opened: []messages.RowOpened{{Request: &messages.EngineRequest{Prompt: prompt}}}},
			func(*messages.BatchDone, error) { reported++ })
	}
	if step(1, 6, 8); status != 0 || inner.steps != 1 || reported != 1 {
		t.Errorf("a usual prompt: status %d, %d steps, %d reported", status, inner.steps, reported)
	}
	if step(1, 7); status != killedStatus || inner.steps != 2 || reported != 1 {
		t.Errorf("the token: status %d, %d steps, %d reported", status, inner.steps, reported)
	}
}
