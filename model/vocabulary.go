package model

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/model/gguf/hf"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Vocabulary makes of a tokenizer what grammars are compiled for. ends are the tokens that
// end an output. rows is the number of logits, of which those beyond the tokenizer's ids are
// never allowed; 0: the number of ids. It takes about 0.1 s for a large vocabulary.
//
// The bytes are those that a token adds to a text that has begun, as
// [tokenizer.Tokenizer.NewStreamAfter] decodes it. Some tokenizers drop a space at the very
// beginning of a text: whoever decodes the output of a grammar must decode it after a context.
//
// Special tokens and ends have the names that the tokenizer's files give them. A token that
// was added to the tokenizer and is not special is text, such as <tool_call> of Qwen3.
func Vocabulary(tok *tokenizer.Tokenizer, ends []int32, rows int) (*vocab.Vocabulary, error) {
	spelling, err := tok.Spelling()
	switch {
	case err != nil:
		return nil, err
	case len(ends) == 0:
		return nil, errors.New("the model's files name no token that ends an output; add eos_token_id to config.json, or eos_token to tokenizer_config.json")
	case rows != 0 && rows < len(spelling):
		return nil, fmt.Errorf("the tokenizer has token ids up to %d, but the model has %d logits; use the files of one model", len(spelling)-1, rows)
	}
	t := vocab.Tokens{Bytes: make([][]byte, max(len(spelling), rows)), Special: map[int32]string{}, End: ends,
		Encode: func(text string) []int32 { return tok.Encode(text, tokenizer.EncodeOptions{}) }}
	for id, text := range spelling {
		if !tok.IsSpecial(int32(id)) {
			t.Bytes[id] = text
			continue
		}
		t.Special[int32(id)] = tok.TokenContent(int32(id))
	}
	for _, id := range ends {
		if id < 0 || int(id) >= len(t.Bytes) {
			return nil, fmt.Errorf("token %d, which ends an output, is outside the vocabulary of %d tokens; use the files of one model", id, len(t.Bytes))
		}
		if name := tok.TokenContent(id); name != "" {
			t.Special[id] = name
		}
	}
	return vocab.New(t)
}

// Vocabulary returns the model's tokenizer, and its vocabulary for grammars. Logits beyond the
// tokenizer's ids are not in it, so no mask allows them.
func (f Files) Vocabulary() (*tokenizer.Tokenizer, *vocab.Vocabulary, error) {
	tok, err := f.Tokenizer()
	if err != nil {
		return nil, nil, err
	}
	ends, err := f.EndTokens(tok)
	if err != nil {
		return nil, nil, err
	}
	v, err := Vocabulary(tok, ends, 0)
	return tok, v, err
}

// EndTokens returns the tokens that end an output: those of the configuration, or if it has
// none, or there is no configuration, tok's. The rest of the configuration need not be
// supported.
func (f Files) EndTokens(tok *tokenizer.Tokenizer) (_ []int32, err error) {
	defer f.locate(&err)
	if f.gguf == "" {
		ends, err := config.EndTokens(f.fsys)
		return EndTokens(ends, tok), err
	}
	file, err := gguf.Open(f.fsys, f.gguf)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ends, err := hf.EndTokens(file)
	return EndTokens(ends, tok), err
}

// EndTokens returns the end tokens of a configuration, which are frozen, or if it has none,
// the tokenizer's.
func EndTokens(configured []int32, tok *tokenizer.Tokenizer) []int32 {
	if len(configured) > 0 {
		return configured
	}
	if id, ok := tok.EOS(); ok {
		return []int32{id}
	}
	return nil
}
