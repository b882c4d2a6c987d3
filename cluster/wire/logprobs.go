package wire

import (
	"fmt"
	"slices"

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

// LogprobsBytes is how many bytes positions have at most, approximately.
func LogprobsBytes(list ...messages.PositionLogprobs) (n int) {
	for i := range list {
		n += 16 + 9*len(list[i].Top)
	}
	return n
}

// partPositions is how many positions a PromptLogprobs has: less than 1 MiB.
const partPositions = 4096

// EncodePromptLogprobs translates the log probabilities of a prompt.
func EncodePromptLogprobs(epoch messages.Epoch, p *messages.PromptResult) (list []*Bulk) {
	from := 0
	for part := range slices.Chunk(p.Logprobs, partPositions) {
		list = append(list, &Bulk{Body: &Bulk_PromptLogprobs{&PromptLogprobs{
			Epoch: uint32(epoch), Id: uint64(p.ID), From: uint64(from), Logprobs: encodePositions(part),
		}}})
		from += len(part)
	}
	return list
}

// DecodePromptLogprobs is the opposite for one part.
func DecodePromptLogprobs(p *PromptLogprobs, l *Limits) ([]messages.PositionLogprobs, error) {
	return decodePositions(messages.RequestID(p.Id), p.Logprobs, l)
}

func decodePositions(id messages.RequestID, positions []*Position, l *Limits) (list []messages.PositionLogprobs, err error) {
	for _, position := range positions {
		to, err := decodePosition(position, l)
		if err == nil && to == nil {
			err = fmt.Errorf("it has no token")
		}
		if err != nil {
			return nil, fmt.Errorf("request %d: a position of the prompt: %w", id, err)
		}
		list = append(list, *to)
	}
	return list, nil
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
