package work

import (
	"fmt"
	"io"
	"math/rand/v2"
)

// Shared makes groups of sessions: all of a group begin with one long text,
// the system prompt, and go on with a question of their own. Sessions of the
// groups come in mixed order.
type Shared struct {
	Seed   uint64
	Writer *Writer
	// Groups and PerGroup multiply to the number of sessions.
	Groups, PerGroup int
	// System, Question and Output are lengths in tokens.
	System, Question, Output int
	// Turns as in Random: every turn asks another question.
	Turns int
	// Chat sends the system prompt as a message of its own.
	Chat bool

	next  int
	order []int
}

// Check says what is wrong with the settings.
func (s *Shared) Check() error {
	switch {
	case s.Groups < 1 || s.PerGroup < 1:
		return fmt.Errorf("--gsp-num-groups is %d and --gsp-prompts-per-group is %d; both must be at least 1", s.Groups, s.PerGroup)
	case s.Groups > 1<<24/s.PerGroup:
		return fmt.Errorf("--gsp-num-groups %d times --gsp-prompts-per-group %d is more than %d prompts; use fewer", s.Groups, s.PerGroup, 1<<24)
	case s.System < 1 || s.Question < 1 || s.Output < 1:
		return fmt.Errorf("--gsp-system-prompt-len is %d, --gsp-question-len is %d and --gsp-output-len is %d; all must be at least 1", s.System, s.Question, s.Output)
	}
	return nil
}

// Size implements Source.
func (s *Shared) Size() int { return s.Groups * s.PerGroup }

// Describe implements Source.
func (s *Shared) Describe() string {
	text := fmt.Sprintf("shared prefixes: %d groups of %d, %d tokens shared, questions of %d and %d output tokens", s.Groups, s.PerGroup, s.System, s.Question, s.Output)
	if s.Turns > 1 {
		text += fmt.Sprintf(" in each of %d turns", s.Turns)
	}
	return text + ", " + s.Writer.Describe()
}

// Notes implements Source.
func (s *Shared) Notes() []string { return nil }

// Next implements Source.
func (s *Shared) Next() (*Session, error) {
	if s.order == nil {
		s.order = rand.New(rand.NewPCG(s.Seed, streamOrder)).Perm(s.Size())
	}
	if s.next == len(s.order) {
		return nil, io.EOF
	}
	place := s.order[s.next]
	session := &Session{Index: s.next}
	s.next++
	prefix := symbols(stream(s.Seed, streamPrefix, uint64(place/s.PerGroup)), s.System)
	own := stream(s.Seed, streamShared, uint64(place))
	for turn := range max(s.Turns, 1) {
		question := symbols(own, s.Question)
		switch {
		case turn > 0:
			session.Turns = append(session.Turns, s.Writer.Turn(s.Output, question))
		case s.Chat:
			session.System = s.Writer.Text(prefix)
			t := s.Writer.Turn(s.Output, question)
			t.Input += len(prefix)
			session.Turns = append(session.Turns, t)
		default:
			session.Turns = append(session.Turns, s.Writer.Turn(s.Output, prefix, question))
		}
	}
	return session, nil
}
