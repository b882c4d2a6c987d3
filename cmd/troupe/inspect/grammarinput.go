package inspect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// grammarInput is what became of an input. Apart from the first two fields, it is filled
// where the input is not accepted.
type grammarInput struct {
	Accepted bool           `json:"accepted"`
	Masks    []microseconds `json:"mask_us"`
	At       *int           `json:"at,omitempty"`
	Tokens   *int           `json:"allowed_tokens,omitempty"`
	Allowed  []string       `json:"allowed,omitempty"`
	Error    string         `json:"error,omitempty"`
}

// inputWalk follows one input.
type inputWalk struct {
	*grammarReader
	m     *grammar.Matcher
	at    int  // bytes that were accepted
	made  bool // the mask is that of this place
	times []microseconds
}

func (r *grammarReader) input(g *grammar.Grammar, text string) grammarInput {
	w := &inputWalk{grammarReader: r, m: g.Matcher()}
	ok, err := w.text(text)
	in := grammarInput{Accepted: ok && err == nil, Masks: w.times}
	if in.Accepted {
		return in
	}
	in.At = &w.at
	if w.made {
		n, some := r.vocab.Some(r.mask, maxAllowed)
		in.Tokens, in.Allowed = &n, some
	}
	if err != nil {
		in.Error = err.Error()
	}
	return in
}

// text reports whether the whole text is accepted.
func (w *inputWalk) text(text string) (ok bool, err error) {
	for from := 0; ; {
		begin, name := w.names.find(text, from)
		if ok, err := w.plain(text[w.at:begin]); !ok || err != nil {
			return false, err
		}
		if err := w.makeMask(); err != nil {
			return false, err
		}
		if begin == len(text) {
			return w.m.CanEnd(), nil
		}
		from = begin + len(name)
		id, _ := w.vocab.Special(name)
		if !vocab.Allowed(w.mask, id) {
			continue // it is text
		}
		if ok, err := w.token(id, len(name)); !ok || err != nil {
			return false, err
		}
	}
}

// plain goes over text without special tokens.
func (w *inputWalk) plain(text string) (ok bool, err error) {
	for _, id := range w.cut(text) {
		n := len(w.vocab.Bytes(id))
		if ok, err := w.token(id, n); !ok || err != nil {
			return false, err
		}
		text = text[n:]
	}
	if text == "" {
		return true, nil
	}
	// No token of the vocabulary begins here.
	return false, w.makeMask()
}

func (w *inputWalk) token(id int32, length int) (ok bool, err error) {
	if err := w.makeMask(); err != nil || !vocab.Allowed(w.mask, id) {
		return false, err
	}
	if err := w.m.Accept(id); err != nil {
		return false, err
	}
	w.at, w.made = w.at+length, false
	return true, nil
}

// makeMask makes the mask of this place and takes the time.
func (w *inputWalk) makeMask() error {
	if w.made {
		return nil
	}
	start := time.Now()
	err := w.m.Mask(w.mask)
	w.times = append(w.times, microseconds(time.Since(start)))
	w.made = err == nil
	return err
}

// cut returns the tokens of a text in the middle of an output, which spell exactly this text.
// They are the tokenizer's where they do. It may put a space before a text, which a character
// in front of it prevents, or change characters: then the longest tokens are taken one after
// the other, as far as the vocabulary has them.
func (r *grammarReader) cut(text string) []int32 {
	for _, front := range []string{"", "\x02"} {
		if ids, ok := r.spell(r.tok.Encode(front+text, tokenizer.EncodeOptions{}), text); ok {
			return ids
		}
	}
	var ids []int32
	for text != "" {
		id, ok := r.vocab.Longest(text, nil)
		if !ok {
			break
		}
		ids = append(ids, id)
		text = text[len(r.vocab.Bytes(id)):]
	}
	return ids
}

// spell returns the last ids, as many as spell text.
func (r *grammarReader) spell(ids []int32, text string) ([]int32, bool) {
	i := len(ids)
	for text != "" {
		if i--; i < 0 {
			return nil, false
		}
		rest, ok := strings.CutSuffix(text, string(r.vocab.Bytes(ids[i])))
		if !ok || len(rest) == len(text) {
			return nil, false
		}
		text = rest
	}
	return ids[i:], true
}

// specialNames are the special tokens that texts may name, by the first byte of their names,
// the longest names first.
type specialNames [256][]string

func namesOf(v *vocab.Vocabulary) *specialNames {
	names := &specialNames{}
	for id := range int32(v.Size()) {
		if name, ok := v.SpecialName(id); ok && name != "" {
			names[name[0]] = append(names[name[0]], name)
		}
	}
	for _, list := range names {
		slices.SortFunc(list, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
	return names
}

// find returns the first name in text at from or behind it, and where it begins: at the end of
// text if there is none.
func (s *specialNames) find(text string, from int) (begin int, name string) {
	for begin = from; begin < len(text); begin++ {
		for _, name := range s[text[begin]] {
			if strings.HasPrefix(text[begin:], name) {
				return begin, name
			}
		}
	}
	return len(text), ""
}

// maxAllowed is how many allowed tokens an answer names.
const maxAllowed = 10
