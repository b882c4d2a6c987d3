// Package thoughts ends what a model thinks before it answers, after a number of tokens.
package thoughts

import (
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// Limit bounds the thoughts of one output.
type Limit struct {
	Tokens int    // of thoughts, with the mark that opens them
	Open   string // opens them, at the begin of the output; "": the prompt has opened them
	Mark   string // ends them
	// End are the tokens of Mark, in which the output is made to say it.
	End []int32
}

// Follower follows one output. It is a value: a copy stays where it is.
type Follower struct {
	limit Limit
	vocab *vocab.Vocabulary
	state state
	said  int    // tokens
	text  string // at the begin, or what may be part of the mark
	next  int    // token of End
}

type state int

const (
	atStart state = iota
	inside
	closing
	over
)

// New follows an output from its start.
func New(l Limit, v *vocab.Vocabulary) Follower {
	f := Follower{limit: l, vocab: v}
	if strings.TrimSpace(l.Open) == "" {
		f.enter()
	}
	return f
}

func (f *Follower) enter() {
	if f.state = inside; f.said >= f.limit.Tokens {
		f.state = closing
	}
	if len(f.limit.End) == 0 {
		f.state = over
	}
}

// Forced returns the token that must come next, if there is one.
func (f *Follower) Forced() (token int32, ok bool) {
	if f.state != closing {
		return 0, false
	}
	return f.limit.End[f.next], true
}

// Accept moves on over a token.
func (f *Follower) Accept(token int32) {
	f.said++
	switch f.state {
	case atStart:
		f.text += f.textOf(token)
		open, text := strings.TrimSpace(f.limit.Open), strings.TrimLeft(f.text, " \t\r\n")
		switch {
		case strings.HasPrefix(text, open):
			f.text = text[len(open):]
			f.look()
		case !strings.HasPrefix(open, text):
			f.state = over
		}
	case inside:
		f.text += f.textOf(token)
		f.look()
	case closing:
		if f.next++; token != f.limit.End[f.next-1] || f.next == len(f.limit.End) {
			f.state = over // a grammar may exclude the mark
		}
	}
}

// look looks for the mark in the text so far, and keeps its end.
func (f *Follower) look() {
	if strings.Contains(f.text, f.limit.Mark) {
		f.state = over
		return
	}
	f.text = strings.Clone(f.text[max(0, len(f.text)-len(f.limit.Mark)+1):])
	f.enter()
}

// textOf is the text of a token, or the name of a special one.
func (f *Follower) textOf(token int32) string {
	if name, special := f.vocab.SpecialName(token); special {
		return name
	}
	return string(f.vocab.Bytes(token))
}
