package seeded

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// mailbox is an unbounded mailbox that handles one message per turn.
type mailbox struct {
	scheduler *Scheduler
	lane      *lane
	invoker   actor.MessageInvoker

	mu        sync.Mutex
	system    []any
	user      []any
	suspended bool
	waiting   bool // the lane is in the draw
}

var _ actor.Mailbox = (*mailbox)(nil)

// Mailbox is an actor.MailboxProducer.
func (s *Scheduler) Mailbox() actor.Mailbox {
	m := &mailbox{scheduler: s}
	m.lane = s.newLane(m.turn)
	return m
}

// PostUserMessage implements actor.Mailbox.
func (m *mailbox) PostUserMessage(msg any) { m.post(&m.user, msg) }

// PostSystemMessage implements actor.Mailbox.
func (m *mailbox) PostSystemMessage(msg any) { m.post(&m.system, msg) }

func (m *mailbox) post(queue *[]any, msg any) {
	m.mu.Lock()
	*queue = append(*queue, msg)
	wake := m.enter()
	m.mu.Unlock()
	if wake {
		m.scheduler.wake(m.lane)
	}
}

// enter reports whether the lane has to be put into the draw.
func (m *mailbox) enter() bool {
	if m.waiting || len(m.system) == 0 && (m.suspended || len(m.user) == 0) {
		return false
	}
	m.waiting = true
	return true
}

// RegisterHandlers implements actor.Mailbox. The dispatcher is the scheduler.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	m.invoker = invoker
}

// Start implements actor.Mailbox.
func (m *mailbox) Start() {}

// UserMessageCount implements actor.Mailbox.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.user)
}

// turn handles one message.
func (m *mailbox) turn() {
	m.mu.Lock()
	m.waiting = false
	msg, isSystem := m.take()
	m.mu.Unlock()
	if msg != nil {
		m.handle(msg, isSystem)
	}
	m.mu.Lock()
	wake := m.enter()
	m.mu.Unlock()
	if wake {
		m.scheduler.wake(m.lane)
	}
}

func (m *mailbox) take() (msg any, isSystem bool) {
	switch {
	case len(m.system) > 0:
		msg, m.system = m.system[0], m.system[1:]
		return msg, true
	case !m.suspended && len(m.user) > 0:
		msg, m.user = m.user[0], m.user[1:]
	}
	return msg, false
}

// handle runs a message; a panic is the supervisor's business.
func (m *mailbox) handle(msg any, isSystem bool) {
	defer func() {
		if r := recover(); r != nil {
			m.invoker.EscalateFailure(r, msg)
		}
	}()
	switch msg.(type) {
	case *actor.SuspendMailbox:
		m.suspend(true)
		return
	case *actor.ResumeMailbox:
		m.suspend(false)
		return
	}
	if isSystem {
		m.invoker.InvokeSystemMessage(msg)
	} else {
		m.invoker.InvokeUserMessage(msg)
	}
}

func (m *mailbox) suspend(on bool) {
	m.mu.Lock()
	m.suspended = on
	m.mu.Unlock()
}
