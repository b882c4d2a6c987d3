package vocab

import (
	"bytes"
	"slices"
)

// None is no token: that before the first one, or where none is certain.
const None int32 = -1

// First returns the token with which the tokenizer begins text behind the token before,
// whatever follows text; None if that depends on what follows, or if the tokenizer would not
// cut the text between them. The token before may be special, or None.
//
// What follows could only change the token if one reached beyond the end of text. So wherever
// such a token could begin, text up to there must begin with the same token. One token before
// text is enough: if two tokens are neighbours in the encoding of a text, then they are in that
// of their own texts.
func (v *Vocabulary) First(before int32, text []byte) int32 {
	if v.encode == nil || len(text) == 0 {
		return None
	}
	var context []byte
	if before != None {
		context = v.Bytes(before)
	}
	whole := slices.Concat(context, text)
	first := v.at(whole, len(context))
	if first == None {
		return None
	}
	for end := range text {
		if v.goesOn(text[end:]) && (end < len(v.bytes[first]) || v.at(whole[:len(context)+end], len(context)) != first) {
			return None
		}
	}
	return first
}

// at returns the token that begins at an offset of the encoding of text, None if there is none.
// Some tokenizers put a blank before a text.
func (v *Vocabulary) at(text []byte, offset int) int32 {
	ids := v.encode(string(text))
	length := 0
	for _, id := range ids {
		length += len(v.Bytes(id))
	}
	begin := len(text) - length
	if begin < -1 || begin > 0 || begin < 0 && offset == 0 {
		return None
	}
	found := None
	for i, id := range ids {
		part := v.Bytes(id)
		if i == 0 && begin < 0 {
			if len(part) == 0 || part[0] != ' ' {
				return None
			}
			part, begin = part[1:], 0
		}
		if begin == offset && len(part) > 0 && found == None {
			found = id
		}
		if !bytes.HasPrefix(text[begin:], part) {
			return None // the tokenizer changes the text
		}
		begin += len(part)
	}
	return found
}

// goesOn reports whether a token begins with text and goes on.
func (v *Vocabulary) goesOn(text []byte) bool {
	for k := range v.slices {
		ids := v.slices[k].ids
		i, _ := slices.BinarySearchFunc(ids, text, func(id int32, text []byte) int {
			if bytes.Compare(v.bytes[id], text) <= 0 {
				return -1
			}
			return 1
		})
		if i < len(ids) && bytes.HasPrefix(v.bytes[ids[i]], text) {
			return true
		}
	}
	return false
}
