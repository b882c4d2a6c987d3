package work

import (
	"cmp"
	"fmt"
)

// Shared makes groups of sessions: all of a group begin with one long system prompt and
// continue with a question of their own. Sessions of the groups come in mixed order.
type Shared struct {
	Seed                     uint64
	Writer                   *Writer
	Groups, PerGroup         int  // their product is the number of sessions
	System, Question, Output int  // lengths in tokens
	Turns                    int  // as in Random; every turn asks another question
	Chat                     bool // sends the system prompt as a message of its own
}

func (o Shared) Check() error {
	err := cmp.Or(AtLeast(1, o.Groups, "gsp-num-groups"), AtLeast(1, o.PerGroup, "gsp-prompts-per-group"),
		checkLength(o.System, "gsp-system-prompt-len"), checkLength(o.Question, "gsp-question-len"), checkLength(o.Output, "gsp-output-len"))
	if err == nil && o.Groups > 1<<24/o.PerGroup {
		return fmt.Errorf("--gsp-num-groups %d × --gsp-prompts-per-group %d is more than %d prompts; lower one of them", o.Groups, o.PerGroup, 1<<24)
	}
	return err
}

func (o Shared) Source() *Source {
	order := shuffled(o.Seed, o.Groups*o.PerGroup)
	return &Source{
		Description: fmt.Sprintf("shared prefixes: %d groups of %d prompts, system prompts of %d tokens, questions of %d tokens, %d output tokens%s, %s",
			o.Groups, o.PerGroup, o.System, o.Question, o.Output, perTurn(o.Turns), o.Writer.Describe()),
		Size: len(order),
		Make: func(index int) (*Session, error) { return o.session(order[index]), nil },
	}
}

// session is a session by its number in the order of the groups.
func (o *Shared) session(number int) *Session {
	session := &Session{}
	prefix := symbols(stream(o.Seed, streamPrefix, uint64(number/o.PerGroup)), o.System)
	own := stream(o.Seed, streamShared, uint64(number))
	for turn := range max(o.Turns, 1) {
		parts := [][]int32{symbols(own, o.Question)}
		if turn == 0 && !o.Chat {
			parts = [][]int32{prefix, parts[0]}
		}
		session.Turns = append(session.Turns, o.Writer.Turn(o.Output, parts...))
	}
	if o.Chat {
		session.System = o.Writer.Text(prefix)
		session.Turns[0].Input += len(prefix)
	}
	return session
}
