package node

import (
	"fmt"

	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/grammar/store"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// newGrammars makes a store of grammars for a model with a number of logits. The error says why
// its outputs cannot be constrained. Other requests are served.
func newGrammars(name string, tok *tokenizer.Tokenizer, ends []int32, logits int) (*store.Store, error) {
	v, err := model.Vocabulary(tok, ends, logits)
	if err != nil {
		return nil, fmt.Errorf("outputs of model %s cannot be constrained: %w", name, err)
	}
	return store.New(v, store.Options{}), nil
}
