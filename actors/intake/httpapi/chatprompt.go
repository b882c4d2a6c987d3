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

// promptTooLong is the error of a chat prompt with too many tokens or bytes.
type promptTooLong struct{ error }

// EncodeChat applies the model's template to a conversation and tokenises the
// prompt. It sets the fields of the input that depend on the model. Special tokens
// come only from the template, so none is added. A prompt that is far too long for
// the context is refused, mostly by its length.
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
		return nil, promptTooLong{fmt.Errorf("the prompt, or a text in it, has at least %d bytes, but this server accepts at most %d, because prompts have at most %d tokens; shorten the messages", long.Bytes, long.Max, m.Context-1)}
	case err != nil:
		return nil, err
	}
	ids := tok.Encode(prompt.Text, tokenizer.EncodeOptions{ParseSpecial: true, Plain: prompt.Client, Max: m.counted()})
	if len(ids) > m.counted() {
		return nil, promptTooLong{fmt.Errorf("the prompt has more than %d tokens, but this server accepts prompts of at most %d; shorten the messages", m.counted(), m.Context-1)}
	}
	return ids, nil
}
