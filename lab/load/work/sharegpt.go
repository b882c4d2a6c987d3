package work

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
)

// bytesPerToken estimates an answer's tokens: the model's tokenizer is not known here.
const bytesPerToken = 4

// maxShareGPTOutput bounds an estimated output length, in tokens.
const maxShareGPTOutput = 2048

// ShareGPT sends the questions of a JSON file like ShareGPT's dumps, ordered by the seed.
type ShareGPT struct {
	File   string
	Seed   uint64
	Turns  int // maximum number of questions of a conversation, at least 1
	Output int // tokens of every answer; 0: about the recorded answer's
}

// Open skips conversations that do not begin with a question and its answer.
func (o ShareGPT) Open() (*Source, error) {
	if err := cmp.Or(AtLeast(1, o.Turns, "turns"), AtLeast(0, o.Output, "sharegpt-output-len")); err != nil {
		return nil, err
	}
	conversations, err := o.read()
	if err != nil {
		return nil, err
	}
	order := shuffled(o.Seed, len(conversations))
	s := &Source{Description: fmt.Sprintf("sharegpt: %s, %d conversations", o.File, len(conversations)), Size: len(conversations)}
	if o.Turns > 1 {
		s.Description += fmt.Sprintf(", at most %d turns", o.Turns)
	}
	if o.Output == 0 {
		s.Notes = []string{fmt.Sprintf("output lengths are estimated from the recorded answers (%d bytes per token, at most %d tokens); use --sharegpt-output-len to set them", bytesPerToken, maxShareGPTOutput)}
	}
	s.Make = func(index int) (*Session, error) {
		return &Session{Turns: conversations[order[index]]}, nil
	}
	return s, nil
}

// read returns the questions of each conversation as turns.
func (o *ShareGPT) read() (conversations [][]Turn, err error) {
	f, err := os.Open(o.File)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist", o.File)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
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
		var turns []Turn
		for said := one.Conversations; len(said) > 1 && len(turns) < o.Turns; said = said[2:] {
			if !slices.Contains([]string{"human", "user"}, said[0].From) || !slices.Contains([]string{"gpt", "assistant", "chatgpt", "bard"}, said[1].From) || said[0].Value == "" {
				break
			}
			recorded := min(max(len(said[1].Value)/bytesPerToken, 4), maxShareGPTOutput)
			turns = append(turns, Turn{Text: said[0].Value, MaxTokens: cmp.Or(o.Output, recorded)})
		}
		if len(turns) > 0 {
			conversations = append(conversations, turns)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("%s: the array is incomplete: %w", o.File, err)
	}
	if len(conversations) == 0 {
		return nil, fmt.Errorf("%s: no conversation begins with a message from \"human\" and one from \"gpt\"", o.File)
	}
	return conversations, nil
}
