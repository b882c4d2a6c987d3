package work

import (
	"cmp"
	"fmt"
	"math/rand/v2"
)

// Random makes sessions of prompts that share nothing.
type Random struct {
	Seed          uint64
	Writer        *Writer
	Input, Output int // greatest lengths of each turn, in tokens
	// Ratio is the smallest length over the greatest, from 0 to 1; lengths
	// between are equally likely. 1 makes all equal.
	Ratio float64
	// Turns is the number of requests of a session, at least 1; they form a conversation.
	Turns int
}

func (o Random) Check() error {
	err := cmp.Or(checkLength(o.Input, "random-input-len"), checkLength(o.Output, "random-output-len"))
	if err == nil && !(o.Ratio >= 0 && o.Ratio <= 1) {
		return fmt.Errorf("--random-range-ratio is %g; it must be between 0 and 1", o.Ratio)
	}
	return err
}

// Source is unlimited.
func (o Random) Source() *Source {
	return &Source{
		Description: fmt.Sprintf("random: %s input and %s output tokens%s, %s", between(o.Input, o.Ratio), between(o.Output, o.Ratio), perTurn(o.Turns), o.Writer.Describe()),
		Make: func(index int) (*Session, error) {
			r := stream(o.Seed, streamRandom, uint64(index))
			session := &Session{}
			for range max(o.Turns, 1) {
				input, output := length(r, o.Input, o.Ratio), length(r, o.Output, o.Ratio)
				session.Turns = append(session.Turns, o.Writer.Turn(output, symbols(r, input)))
			}
			return session, nil
		},
	}
}

// length draws from [most·ratio, most], at least 1.
func length(r *rand.Rand, most int, ratio float64) int {
	least := max(int(float64(most)*ratio), 1)
	return least + r.IntN(most-least+1)
}

func between(most int, ratio float64) string {
	if least := max(int(float64(most)*ratio), 1); least < most {
		return fmt.Sprintf("%d to %d", least, most)
	}
	return fmt.Sprint(most)
}

// perTurn completes the description of a session's lengths.
func perTurn(turns int) string {
	if turns > 1 {
		return fmt.Sprintf(" in each of %d turns", turns)
	}
	return ""
}
