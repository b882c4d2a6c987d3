package work

import (
	"fmt"
	"math/rand/v2"
)

// Random makes sessions of prompts that share nothing.
type Random struct {
	Seed   uint64
	Writer *Writer
	// Input and Output are the greatest lengths in tokens, of each turn.
	Input, Output int
	// Ratio is the smallest length over the greatest, from 0 to 1; lengths
	// between are equally likely. 1 makes all equal.
	Ratio float64
	// Turns is how many requests a session has; the later ones go on with the
	// conversation. At least 1.
	Turns int

	next int
}

// Check says what is wrong with the settings.
func (s *Random) Check() error {
	switch {
	case s.Input < 1 || s.Output < 1:
		return fmt.Errorf("--random-input-len is %d and --random-output-len is %d; both must be at least 1", s.Input, s.Output)
	case !(s.Ratio >= 0 && s.Ratio <= 1):
		return fmt.Errorf("--random-range-ratio is %g; it must be between 0 and 1", s.Ratio)
	}
	return nil
}

// Size implements Source: there is no end.
func (s *Random) Size() int { return 0 }

// Describe implements Source.
func (s *Random) Describe() string {
	text := fmt.Sprintf("random: %s input and %s output tokens", between(s.Input, s.Ratio), between(s.Output, s.Ratio))
	if s.Turns > 1 {
		text += fmt.Sprintf(" in each of %d turns", s.Turns)
	}
	return text + ", " + s.Writer.Describe()
}

// Notes implements Source.
func (s *Random) Notes() []string { return nil }

// Next implements Source.
func (s *Random) Next() (*Session, error) {
	r := stream(s.Seed, streamRandom, uint64(s.next))
	session := &Session{Index: s.next}
	s.next++
	for range max(s.Turns, 1) {
		input, output := length(r, s.Input, s.Ratio), length(r, s.Output, s.Ratio)
		session.Turns = append(session.Turns, s.Writer.Turn(output, symbols(r, input)))
	}
	return session, nil
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
