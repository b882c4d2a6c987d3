// Package vocab holds a model's vocabulary as prefix trees of bytes, and finds
// the tokens that a configuration of a grammar allows.
//
// # Slices
//
// The tokens are divided into slices, each with a tree of its own. Three hold
// the tokens that are nothing but complete characters which may stand in a
// JSON string unescaped: of up to 10, up to 30, and more characters. The fourth
// holds the rest. Where every text of a slice keeps the grammar alive, as inside
// a string, its tokens are allowed without looking at them.
//
// # Masks
//
// A mask is a []uint32: token t is allowed where bit t%32 of word t/32 is set.
package vocab

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// Tokens is what a vocabulary is made of.
type Tokens struct {
	// Bytes holds the bytes of each token by id. An entry that is nil is no
	// text: a hole, or a token that Special or End names. Frozen.
	Bytes [][]byte
	// Special holds the ids that stand for no text, with their names, such as
	// <|python_tag|>. A grammar may name them; nothing else allows them.
	Special map[int32]string
	// End holds the ids that end a text. They may be among Special.
	End []int32
	// Encode, if not nil, cuts a text into tokens as the model's tokenizer does. It may be
	// called from any goroutine.
	Encode func(text string) []int32
}

// Vocabulary is immutable.
type Vocabulary struct {
	size    int
	words   int
	end     []int32
	special map[string]int32
	names   map[int32]string
	bytes   [][]byte
	encode  func(string) []int32 // may be nil
	slices  [4]slice
}

// Slices by the number of characters.
const (
	short  = iota // up to shortChars
	medium        // up to mediumChars
	long
	rest
)

const (
	shortChars  = 10
	mediumChars = 30
)

type slice struct {
	trie trie
	ids  []int32 // by bytes
	mask []uint32
}

// New builds the trees. It fails where Tokens contradicts itself.
func New(t Tokens) (*Vocabulary, error) {
	v := &Vocabulary{size: len(t.Bytes), words: (len(t.Bytes) + 31) / 32, special: map[string]int32{},
		names: t.Special, bytes: t.Bytes, encode: t.Encode, end: slices.Clone(t.End)}
	if v.size == 0 {
		return nil, errors.New("the vocabulary is empty")
	}
	slices.Sort(v.end)
	isText := func(id int32) bool {
		_, special := t.Special[id]
		return !special && !slices.Contains(v.end, id) && len(t.Bytes[id]) > 0
	}
	for id, name := range t.Special {
		if id < 0 || int(id) >= v.size {
			return nil, errors.New("a special token is outside the vocabulary")
		}
		if old, ok := v.special[name]; !ok || id < old {
			v.special[name] = id
		}
	}
	if n := len(v.end); n > 0 && (v.end[0] < 0 || int(v.end[n-1]) >= v.size) {
		return nil, errors.New("an end token is outside the vocabulary")
	}
	var parts [4][]int32
	for id := range int32(v.size) {
		if isText(id) {
			k := sliceOf(t.Bytes[id])
			parts[k] = append(parts[k], id)
		}
	}
	for k, ids := range parts {
		slices.SortFunc(ids, func(a, b int32) int {
			return cmp.Or(slices.Compare(t.Bytes[a], t.Bytes[b]), cmp.Compare(a, b))
		})
		v.slices[k] = slice{newTrie(t.Bytes, ids), ids, make([]uint32, v.words)}
		for _, id := range ids {
			Allow(v.slices[k].mask, id)
		}
	}
	return v, nil
}

// safe reports whether r may stand in a JSON string as it is. DEL is left out
// because models escape it.
func safe(r rune) bool { return r >= 0x20 && r != '"' && r != '\\' && r != 0x7f }

func sliceOf(text []byte) int {
	chars := 0
	for i := 0; i < len(text); chars++ {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n <= 1 || !safe(r) {
			return rest
		}
		i += n
	}
	switch {
	case chars <= shortChars:
		return short
	case chars <= mediumChars:
		return medium
	}
	return long
}

// Size returns the number of ids.
func (v *Vocabulary) Size() int { return v.size }

// Words returns the length of a mask.
func (v *Vocabulary) Words() int { return v.words }

// Bytes returns the text of a token, nil for one without. Frozen.
func (v *Vocabulary) Bytes(id int32) []byte {
	if id < 0 || int(id) >= v.size || v.IsSpecial(id) {
		return nil
	}
	return v.bytes[id]
}

// IsSpecial reports whether id stands for no text.
func (v *Vocabulary) IsSpecial(id int32) bool {
	_, ok := v.names[id]
	return ok || v.IsEnd(id)
}

// IsEnd reports whether id ends a text.
func (v *Vocabulary) IsEnd(id int32) bool { return slices.Contains(v.end, id) }

// End returns the ids that end a text, in order. Frozen.
func (v *Vocabulary) End() []int32 { return v.end }

// IsNamed reports whether a grammar may name id: it is special, and has a name.
func (v *Vocabulary) IsNamed(id int32) bool {
	_, ok := v.names[id]
	return ok
}

// Special returns the id of a special token by its name.
func (v *Vocabulary) Special(name string) (int32, bool) {
	id, ok := v.special[name]
	return id, ok
}

// FindSpecial returns where the name of a special token first stands in text; of several in one
// place, the longest.
func (v *Vocabulary) FindSpecial(text string) (from, to int, id int32, ok bool) {
	for name, one := range v.special {
		at := strings.Index(text, name)
		if name == "" || at < 0 || ok && (at > from || at == from && at+len(name) < to) {
			continue
		}
		from, to, id, ok = at, at+len(name), one, true
	}
	return from, to, id, ok
}

// SpecialName returns the name of a special token.
func (v *Vocabulary) SpecialName(id int32) (string, bool) {
	name, ok := v.names[id]
	return name, ok
}

// Allow sets the bit of a token.
func Allow(mask []uint32, id int32) { mask[id>>5] |= 1 << (id & 31) }

// Allowed reports whether the bit of a token is set.
func Allowed(mask []uint32, id int32) bool { return mask[id>>5]>>(id&31)&1 != 0 }
