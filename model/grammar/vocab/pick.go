package vocab

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
	"unicode/utf8"
)

// Longest returns the longest token that text begins with, of those that mask allows; nil:
// all. Special tokens are no text. ok is false if there is none.
func (v *Vocabulary) Longest(text string, mask []uint32) (id int32, ok bool) {
	longest := 0
	for k := range v.slices {
		t := &v.slices[k].trie
		for i, end, depth := int32(0), int32(len(t.nodes)), 0; i < end && depth < len(text); {
			n := &t.nodes[i]
			if n.by != text[depth] {
				i = n.skip
				continue
			}
			depth++
			if token := t.allowed(n, mask); token >= 0 && depth > longest {
				id, longest = token, depth
			}
			i, end = i+1, n.skip
		}
	}
	return id, longest > 0
}

// allowed returns the first token of a node that mask allows, or noToken.
func (t *trie) allowed(n *trieNode, mask []uint32) int32 {
	list := []int32{n.token}
	if n.token < noToken {
		list = t.more[-n.token-2]
	}
	for _, id := range list {
		if id >= 0 && (mask == nil || Allowed(mask, id)) {
			return id
		}
	}
	return noToken
}

// The beginnings of tokens that Draw tells apart, by a byte that stands for each.
const (
	control    = 0
	digit      = '0'
	notASCII   = 0x80
	beginnings = notASCII + 1
)

func (v *Vocabulary) beginning(id int32) int {
	switch b := v.bytes[id][0]; {
	case b >= notASCII:
		return notASCII
	case b >= '0' && b <= '9':
		return digit
	case b == '\t' || b == '\n' || b == '\r':
		return int(b)
	case b < ' ' || b == 0x7f:
		return control
	default:
		return int(b)
	}
}

// Draw draws one of the tokens that mask allows, apart from end tokens if ends is false. ok
// is false if there is none. First it draws how the token begins: any digit, any control
// character but tab and line ends, any character outside ASCII, each other ASCII character
// and each special token are equally likely. Then each token that begins so is.
func (v *Vocabulary) Draw(mask []uint32, ends bool, random *rand.Rand) (id int32, ok bool) {
	var count [beginnings]int
	var special []int32
	v.each(mask, func(id int32, text bool) {
		if text {
			count[v.beginning(id)]++
		} else if ends || !v.IsEnd(id) {
			special = append(special, id)
		}
	})
	n := len(special)
	for _, c := range count {
		n += min(c, 1)
	}
	if n == 0 {
		return 0, false
	}
	k := random.IntN(n)
	if k < len(special) {
		return special[k], true
	}
	k -= len(special)
	begin := 0
	for ; count[begin] == 0 || k > 0; begin++ {
		k -= min(count[begin], 1)
	}
	left := random.IntN(count[begin])
	v.each(mask, func(t int32, text bool) {
		if !text || v.beginning(t) != begin {
			return
		}
		if left == 0 {
			id = t
		}
		left--
	})
	return id, true
}

// each calls f with each token that mask allows, in order, and whether it is text.
func (v *Vocabulary) each(mask []uint32, f func(id int32, text bool)) {
	for i, w := range mask {
		text := uint32(0)
		for k := range v.slices {
			text |= v.slices[k].mask[i]
		}
		for ; w != 0; w &= w - 1 {
			bit := bits.TrailingZeros32(w)
			f(int32(32*i+bit), text>>bit&1 != 0)
		}
	}
}

// Some counts the tokens that mask allows, and returns up to most of them in words for
// people: special tokens, then the shortest texts. Half characters and tokens of the same
// text are left out.
func (v *Vocabulary) Some(mask []uint32, most int) (n int, some []string) {
	var texts []string
	v.each(mask, func(id int32, text bool) {
		n++
		if !text {
			if name := v.names[id]; name != "" && len(some) < most {
				some = append(some, name)
			}
			return
		}
		b := v.bytes[id]
		if len(texts) == most && (most == 0 || len(b) > len(texts[most-1])) || !utf8.Valid(b) {
			return
		}
		at, found := slices.BinarySearchFunc(texts, string(b), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
		})
		if !found {
			texts = slices.Insert(texts, at, string(b))
			texts = texts[:min(len(texts), most)]
		}
	})
	return n, append(some, texts[:min(len(texts), most-len(some))]...)
}
