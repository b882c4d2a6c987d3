package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
)

// bytesPerToken estimates tokens from bytes of an answer: the model's tokenizer
// is not known here.
const bytesPerToken = 4

// maxShareGPTOutput bounds what is asked for, in tokens.
const maxShareGPTOutput = 2048

// ShareGPT asks what people asked: the conversations of a JSON file in the form
// of ShareGPT's dumps, in an order that the seed decides.
type ShareGPT struct {
	conversations []recorded
	order         []int
	turns, output int
	file          string
	next          int
}

// recorded is a conversation: what was asked, and how long the answers were in
// tokens.
type recorded struct {
	asked  []string
	output []int
}

// ShareGPTOptions say which conversations.
type ShareGPTOptions struct {
	File string
	Seed uint64
	// Turns is how many questions of a conversation are asked at most, at
	// least 1.
	Turns int
	// Output is the length of every answer in tokens; 0 takes about the
	// recorded answer's.
	Output int
}

// OpenShareGPT reads the file. Conversations that do not begin with a question
// and its answer are passed over.
func OpenShareGPT(o ShareGPTOptions) (*ShareGPT, error) {
	if o.Turns < 1 || o.Output < 0 {
		return nil, fmt.Errorf("--turns is %d and --sharegpt-output-len is %d; they must be at least 1 and 0", o.Turns, o.Output)
	}
	f, err := os.Open(o.File)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file", o.File)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &ShareGPT{turns: o.Turns, output: o.Output, file: o.File}
	d := json.NewDecoder(f)
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf(`%s: expected a JSON array of {"conversations":[{"from":"human","value":"…"},{"from":"gpt","value":"…"}]}`, o.File)
	}
	for n := 0; d.More(); n++ {
		var one struct {
			Conversations []struct{ From, Value string }
		}
		if err := d.Decode(&one); err != nil {
			return nil, fmt.Errorf("%s: conversation %d: %w", o.File, n, err)
		}
		var c recorded
		for said := one.Conversations; len(said) > 1 && len(c.asked) < o.Turns; said = said[2:] {
			if !slices.Contains([]string{"human", "user"}, said[0].From) || !slices.Contains([]string{"gpt", "assistant", "chatgpt", "bard"}, said[1].From) || said[0].Value == "" {
				break
			}
			c.asked = append(c.asked, said[0].Value)
			c.output = append(c.output, min(max(len(said[1].Value)/bytesPerToken, 4), maxShareGPTOutput))
		}
		if len(c.asked) > 0 {
			s.conversations = append(s.conversations, c)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("%s: the array is incomplete: %w", o.File, err)
	}
	if len(s.conversations) == 0 {
		return nil, fmt.Errorf("%s: no conversation begins with a message of human and an answer of gpt", o.File)
	}
	s.order = rand.New(rand.NewPCG(o.Seed, streamOrder)).Perm(len(s.conversations))
	return s, nil
}

// Size implements Source.
func (s *ShareGPT) Size() int { return len(s.conversations) }

// Describe implements Source.
func (s *ShareGPT) Describe() string {
	text := fmt.Sprintf("sharegpt: %s, %d conversations", s.file, len(s.conversations))
	if s.turns > 1 {
		text += fmt.Sprintf(", at most %d turns", s.turns)
	}
	return text
}

// Notes implements Source.
func (s *ShareGPT) Notes() []string {
	if s.output > 0 {
		return nil
	}
	return []string{fmt.Sprintf("output lengths are estimated from the recorded answers (%d bytes per token, at most %d tokens); set them with --sharegpt-output-len", bytesPerToken, maxShareGPTOutput)}
}

// Next implements Source.
func (s *ShareGPT) Next() (*Session, error) {
	if s.next == len(s.order) {
		return nil, io.EOF
	}
	c := s.conversations[s.order[s.next]]
	session := &Session{Index: s.next}
	s.next++
	for i, text := range c.asked {
		output := c.output[i]
		if s.output > 0 {
			output = s.output
		}
		session.Turns = append(session.Turns, Turn{Text: text, MaxTokens: output})
	}
	return session, nil
}
