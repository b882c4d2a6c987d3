package intake

import (
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
)

// mailbox is as much of an actor's context as an incarnation asks for.
type mailbox struct {
	actor.Context
	msg  any
	sent []any
}

func (m *mailbox) Message() any               { return m.msg }
func (m *mailbox) Send(_ *actor.PID, msg any) { m.sent = append(m.sent, msg) }

type silent struct{}

func (silent) Record(messages.Metric, float64) {}

// The memory of a StepResults is reused. If intake panics on one and handles it again
// with success, a later panic on the same memory is the first of another message: that
// is also handled again, and no epoch ends.
func TestMessageOfUsedMemoryIsTakenAgain(t *testing.T) {
	table := request.NewTable(request.TableOptions{ContextLength: 8, PoolTokens: 8, Vocab: 8, MaxOpenRequests: 1})
	panics := true
	s := &survivor{abandon: func(messages.ToIntake) { t.Error("the message was given up") }}
	opt := shell.Options{
		Role: messages.Intake, Meter: silent{}, Log: zerolog.Nop(), Clock: func() time.Duration { return 0 },
		Route: func(messages.Actor, messages.Header) *actor.PID { return nil }, OnPanic: s.onPanic,
		Intercept: func(messages.Actor, any) {
			if panics {
				panic("injected")
			}
		},
	}
	receive := func(msg any) (sent []any) {
		ctx := &mailbox{msg: msg}
		i := &incarnation{survivor: s, shell: shell.New(opt, request.NewCore(table, request.CoreOptions{}))}
		defer func() {
			_ = recover()
			sent = ctx.sent
		}()
		i.Receive(ctx)
		return nil
	}
	m := &messages.StepResults{Header: messages.Header{Epoch: 1}, Seq: 1}
	for step := range 2 {
		panics = true
		if sent := receive(m); len(sent) > 0 || s.pending != messages.ToIntake(m) {
			t.Fatalf("step %d: the first panic sends %v and leaves %v to be taken again", step, sent, s.pending)
		}
		panics = false
		receive(&actor.Started{})
		if s.pending != nil {
			t.Fatalf("step %d: %v is still to be taken", step, s.pending)
		}
	}
}
