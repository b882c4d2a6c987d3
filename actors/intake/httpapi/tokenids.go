package httpapi

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// parseIDs reads token ids of the model from JSON that was checked, and counts them. It
// reads at most most of them; the caller refuses a longer list.
func parseIDs(m *Model, raw []byte, param string, most int) (ids []int32, count int, err *apiError) {
	if raw[0] != '[' {
		return nil, 0, invalid(param, "%s must be an array of token ids", param)
	}
	rest := skipSpace(raw[1:])
	if rest[0] == ']' {
		return nil, 0, nil
	}
	vocab := int64(m.Tokenizer.VocabSize())
	count = bytes.Count(rest, []byte{','}) + 1
	ids = make([]int32, 0, min(count, most))
	for len(ids) < most {
		id, size := leadingID(rest)
		after := skipSpace(rest[size:])
		switch {
		case size == 0, after[0] != ',' && after[0] != ']':
			return nil, 0, badID(raw, param)
		case id < 0, id >= vocab:
			return nil, 0, invalid(param, "%s has the token id %d at index %d; the token ids of this model are between 0 and %d", param, id, own(len(ids)), own(vocab-1)).
				coded("token_out_of_vocabulary")
		}
		ids = append(ids, int32(id))
		if after[0] == ']' {
			return ids, len(ids), nil
		}
		rest = skipSpace(after[1:])
	}
	return ids, count, nil
}

// leadingID reads the integer of 32 bits that text begins with; size is 0 if it has none.
func leadingID(text []byte) (id int64, size int) {
	negative := text[0] == '-'
	if negative {
		size = 1
	}
	for ; text[size] >= '0' && text[size] <= '9'; size++ { // a bracket ends the text
		if id = 10*id + int64(text[size]-'0'); id > 1<<31 {
			return 0, 0
		}
	}
	if negative {
		id = -id
	}
	if id > 1<<31-1 {
		return 0, 0
	}
	return id, size
}

// badID says which element of a list is not a token id.
func badID(raw []byte, param string) *apiError {
	_, err := eachOf(raw, param, math.MaxInt, func(i int, one []byte) *apiError {
		if _, size := leadingID(append(slices.Clip(one[:min(len(one), 16)]), ']')); size == len(one) {
			return nil
		}
		return invalid(param, "%s[%d] is %s; it must be a token id (a whole number)", param, own(i), clipJSON(one))
	})
	if err == nil {
		err = invalid(param, "%s must be an array of token ids", param)
	}
	return err
}

// isIDs reports whether an array begins like one of token ids.
func isIDs(raw []byte) bool {
	return raw[0] == '[' && strings.IndexByte("-0123456789", skipSpace(raw[1:])[0]) >= 0
}

// decodedBytes is the length of the text of ids.
func (m *Model) decodedBytes(ids []int32) (size int) {
	for _, id := range ids {
		size += len(m.Tokenizer.TokenBytes(id))
	}
	return size
}
