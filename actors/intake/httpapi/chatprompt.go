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

// PromptTooLongError says that a chat prompt has more tokens than the context;
// how many is not known.
type PromptTooLongError struct {
	Context int
	// Bytes and MaxBytes are set where a text was refused by its length.
	Bytes, MaxBytes int
}

func (e *PromptTooLongError) Error() string {
	if e.Bytes > 0 {
		return fmt.Sprintf("the prompt, or a text in it, has %d bytes, but at most %d are taken: the model's context is %d tokens; shorten the messages", e.Bytes, e.MaxBytes, e.Context)
	}
	return fmt.Sprintf("the prompt has more than %d tokens, but the model's context is %d tokens including at least one of output; shorten the messages", e.Context, e.Context)
}

// EncodeChat applies the model's template to a conversation and tokenises the
// prompt. Special tokens come from the template alone, so none is put around
// it. It fills in what of the input is the model's. A prompt that cannot fit the
// context is refused with a PromptTooLongError, mostly from its length.
func (m *Model) EncodeChat(ctx context.Context, in chat.Input, specialTokens string) ([]int32, error) {
	tok := m.Tokenizer
	in.BOS, in.EOS = tok.BOSText(), tok.EOSText()
	if m.Context > 0 && tok.LongestToken() > 0 {
		in.MaxBytes = m.Context * tok.LongestToken()
	}
	if specialTokens != SpecialTokensParse {
		in.Follow, _ = tok.SpecialMarks() // too many are refused with the prompt
	}
	prompt, err := m.Template.RenderFollowed(ctx, in)
	var long *chat.LengthError
	switch {
	case errors.As(err, &long):
		return nil, &PromptTooLongError{m.Context, long.Bytes, long.Max}
	case err != nil:
		return nil, err
	}
	ids := tok.Encode(prompt.Text, tokenizer.EncodeOptions{ParseSpecial: true, Plain: prompt.Client, Max: m.Context})
	if m.Context > 0 && len(ids) > m.Context {
		return nil, &PromptTooLongError{Context: m.Context}
	}
	return ids, nil
}
