package wire

import (
	"fmt"

	"github.com/troupe-engine/troupe/messages"
)

func encodePosition(p *messages.PositionLogprobs) *Position {
	to := &Position{Tokens: make([]int32, 0, 1+len(p.Top)), Logprobs: make([]float32, 0, 1+len(p.Top))}
	for _, t := range append([]messages.TokenLogprob{p.Chosen}, p.Top...) {
		to.Tokens, to.Logprobs = append(to.Tokens, t.Token), append(to.Logprobs, t.Logprob)
	}
	return to
}

func encodePositions(list []messages.PositionLogprobs) []*Position {
	to := make([]*Position, len(list))
	for i := range list {
		to[i] = encodePosition(&list[i])
	}
	return to
}

// decodePosition returns nil for a position without log probabilities.
func decodePosition(p *Position, l *Limits) (*messages.PositionLogprobs, error) {
	n := len(p.GetTokens())
	switch {
	case n == 0 && len(p.GetLogprobs()) == 0:
		return nil, nil
	case n == 0 || n != len(p.Logprobs) || n > 1+l.Logprobs:
		return nil, fmt.Errorf("a position has %d tokens and %d log probabilities; at most %d are allowed", n, len(p.GetLogprobs()), 1+l.Logprobs)
	}
	if err := l.allTokens(p.Tokens); err != nil {
		return nil, err
	}
	to := &messages.PositionLogprobs{Chosen: messages.TokenLogprob{Token: p.Tokens[0], Logprob: p.Logprobs[0]}}
	for i := 1; i < n; i++ {
		to.Top = append(to.Top, messages.TokenLogprob{Token: p.Tokens[i], Logprob: p.Logprobs[i]})
	}
	return to, nil
}
