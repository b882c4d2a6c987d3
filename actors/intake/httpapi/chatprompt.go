package httpapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Values of Options.SpecialTokens, see docs/decisions/0017-special-tokens.md.
const (
	SpecialTokensText  = "text"  // special tokens in a client's messages are text like any other
	SpecialTokensParse = "parse" // they are recognised, as Hugging Face does it
)

// PromptTooLongError says that a chat prompt has more tokens than are counted,
// or a text of more bytes than fit.
type PromptTooLongError struct {
	Most int // tokens of a prompt, at most
	// Tokens is how many there are at least, 0 where the text was refused by its
	// length, Bytes of at most MaxBytes.
	Tokens, Bytes, MaxBytes int
}

func (e *PromptTooLongError) Error() string {
	if e.Tokens == 0 {
		return fmt.Sprintf("the prompt, or a text in it, has at least %d bytes, but this server accepts at most %d, because prompts have at most %d tokens; shorten the messages", e.Bytes, e.MaxBytes, e.Most)
	}
	return fmt.Sprintf("the prompt has more than %d tokens, but this server accepts prompts of at most %d; shorten the messages", e.Tokens, e.Most)
}

// EncodeChat applies the model's template to a conversation and tokenises the
// prompt. Special tokens come from the template alone, so none is put around
// it. It fills in what of the input is the model's. A prompt that cannot fit the
// context by far is refused with a PromptTooLongError, mostly from its length.
func (m *Model) EncodeChat(ctx context.Context, in chat.Input, specialTokens string) ([]int32, error) {
	tok := m.Tokenizer
	in.BOS, in.EOS = tok.BOSText(), tok.EOSText()
	in.MaxBytes = m.textBytes()
	if specialTokens != SpecialTokensParse {
		in.Follow, _ = tok.SpecialMarks() // too many are refused with the prompt
	}
	prompt, err := m.Template.RenderFollowed(ctx, in)
	var long *chat.LengthError
	switch {
	case errors.As(err, &long):
		return nil, &PromptTooLongError{Most: m.Context - 1, Bytes: long.Bytes, MaxBytes: long.Max}
	case err != nil:
		return nil, err
	}
	ids := tok.Encode(prompt.Text, tokenizer.EncodeOptions{ParseSpecial: true, Plain: prompt.Client, Max: m.counted()})
	if len(ids) > m.counted() {
		return nil, &PromptTooLongError{Most: m.Context - 1, Tokens: m.counted()}
	}
	return ids, nil
}
