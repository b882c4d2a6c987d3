package tokenizer

import (
	"fmt"
	"unicode/utf8"
)

// Vocabulary is a tokenizer as in GGUF files (keys tokenizer.ggml.…): a list of
// tokens, and names of the steps that text goes through.
type Vocabulary struct {
	// Model is "gpt2" (byte-level BPE, Merges) or "llama" (SentencePiece BPE, Scores).
	Model string
	// Pre names how text is split into words; for gpt2 only.
	Pre    string
	Tokens []string
	Types  []TokenType // nil: all normal
	Scores []float32   // tokens with higher scores are made first
	Merges []string    // "left right", the first ones first
	// Ids of special tokens, -1 without.
	BOS, EOS, Unknown int32
	// Whether BOS and EOS are added to a text; nil: the default of Pre.
	AddBOS, AddEOS *bool
	// AddSpacePrefix puts a space before a text; for llama only; nil: true.
	AddSpacePrefix *bool
	Templates      map[string]string // chat templates by name
}

// TokenType is the purpose of a token.
type TokenType int32

// Types of tokens, with their numbers in GGUF files.
const (
	TokenUndefined TokenType = iota
	TokenNormal
	TokenUnknown     // stands for characters that have no token
	TokenControl     // special
	TokenUserDefined // added to the vocabulary, matched in the text itself
	TokenUnused
	TokenByte // <0x00> to <0xFF>
)

const (
	modelBPE = "gpt2"
	modelSPM = "llama"
)

// FromVocabulary makes a tokenizer with the ids of the Hugging Face tokenizer that the
// vocabulary was converted from. Errors name the key of a GGUF file and the remedy.
//
// Two things are lost in the conversion: that some tokens in <|…|> are not
// special (here they are, so a text from outside cannot contain them), and
// which tokens take the white space beside them (here none does).
func FromVocabulary(v Vocabulary) (*Tokenizer, error) {
	t := &Tokenizer{config: config{templates: v.Templates}, bos: -1, eos: -1, scratch: newScratchPool()}
	switch {
	case len(v.Tokens) == 0:
		return nil, keyError("tokens", "is missing or empty; the file has no vocabulary; download the whole model")
	case len(v.Tokens) > maxTokenID:
		return nil, keyError("tokens", "has %d tokens; at most %d are allowed; download it again", len(v.Tokens), maxTokenID)
	case v.Types != nil && len(v.Types) < len(v.Tokens):
		return nil, keyError("token_type", "has %d types for %d tokens; download it again", len(v.Types), len(v.Tokens))
	}
	t.model = &bpe{vocab: make(map[string]int32, len(v.Tokens)), unk: -1}
	added, err := v.sort(t.model)
	if err != nil {
		return nil, err
	}
	family, err := v.family()
	if err != nil {
		return nil, err
	}
	if err := family.apply(t, v); err != nil {
		return nil, err
	}
	t.model.index()
	if err := t.index(added); err != nil {
		return nil, fmt.Errorf("tokenizer.ggml.tokens: %w", err)
	}
	return t, t.applyEnds(v, family)
}

func keyError(key, format string, args ...any) error {
	return fmt.Errorf("tokenizer.ggml.%s %w", key, fmt.Errorf(format, args...))
}

// element names an element of a list for keyError.
func element(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

func (v *Vocabulary) typeOf(id int) TokenType {
	if v.Types == nil {
		return TokenNormal
	}
	return v.Types[id]
}

// sort puts tokens that words are made of into the model's vocabulary and
// returns the others, which are looked for in the text.
func (v *Vocabulary) sort(m *bpe) ([]addedToken, error) {
	var added []addedToken
	for id, token := range v.Tokens {
		if token == "" {
			continue // a hole
		}
		if !utf8.ValidString(token) {
			return nil, keyError(element("tokens", id), "is not UTF-8; download it again or convert it again")
		}
		if err := checkToken(token, int64(id)); err != nil {
			return nil, keyError(element("tokens", id), "is not valid: %w", err)
		}
		switch t := v.typeOf(id); t {
		case TokenControl, TokenUserDefined, TokenUnknown:
			added = append(added, addedToken{ID: int64(id), Content: token, Special: t != TokenUserDefined})
			if t != TokenUnknown {
				continue
			}
		case TokenUnused:
			if token == fmt.Sprintf("[PAD%d]", id) {
				continue // fills rows of the embedding; no tokenizer has it
			}
		}
		if other, twice := m.vocab[token]; twice {
			return nil, keyError(element("tokens", id), "is %s, the same as token %d; download it again or convert it again", clip(token), other)
		}
		m.vocab[token] = int32(id)
		m.longest = max(m.longest, len(token))
	}
	return added, nil
}

func (t *Tokenizer) applyEnds(v Vocabulary, f family) error {
	for _, end := range []struct {
		name   string
		id     int32
		add    bool
		into   *int32
		text   *string
		around *[]int32
	}{
		{"bos", v.BOS, valueOr(v.AddBOS, f.addBOS), &t.bos, &t.config.bos, &t.around.before},
		{"eos", v.EOS, valueOr(v.AddEOS, false), &t.eos, &t.config.eos, &t.around.after},
	} {
		switch {
		case end.id >= 0 && !t.known(int64(end.id)):
			return keyError(end.name+"_token_id", "is %d, but tokenizer.ggml.tokens has %d tokens; download it again", end.id, len(v.Tokens))
		case end.id >= 0:
			*end.into, *end.text = end.id, t.content[end.id]
		case end.add:
			return keyError("add_"+end.name+"_token", "is true, but there is no tokenizer.ggml.%s_token_id; download it again or convert it again", end.name)
		}
		if end.add {
			*end.around = []int32{end.id}
		}
	}
	return nil
}

// valueOr returns a value of a file, or the default if it is absent.
func valueOr[T any](value *T, def T) T {
	if value != nil {
		return *value
	}
	return def
}
