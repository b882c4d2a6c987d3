package testserver

import (
	"sync"

	"github.com/troupe-engine/troupe/model/tokenizer"
)

// scripted turns what the model says after a prompt, as text, into tokens and an end token.
func scripted(tok *tokenizer.Tokenizer, eos int32, script func(prompt string) string) func(prompt, output []int32) (int32, bool) {
	var mu sync.Mutex
	said := map[string][]int32{} // by the prompt's text
	return func(prompt, output []int32) (int32, bool) {
		text := tok.Decode(prompt, tokenizer.DecodeOptions{})
		mu.Lock()
		defer mu.Unlock()
		ids, known := said[text]
		if !known {
			if answer := script(text); answer != "" {
				ids = append(tok.Encode(answer, tokenizer.EncodeOptions{ParseSpecial: true}), eos)
			}
			said[text] = ids
		}
		for i, id := range output { // it may have been made to say something else
			if i >= len(ids) || ids[i] != id {
				return 0, false
			}
		}
		if len(output) >= len(ids) {
			return 0, false
		}
		return ids[len(output)], true
	}
}
