// Package recording writes an anonymised trace of a server's traffic. A trace says
// when requests arrived, how long they were, and which pages of their prompts are
// the same. docs/operations.md describes the format.
package recording

import (
	"bytes"
	"fmt"
	"strconv"
)

// Version is the version of the format.
const Version = 1

// MaxPageSize is the largest page, in tokens.
const MaxPageSize = 1 << 16

// Header is the first line of a file, Line every further one. Numbers stay
// below 2^53, so that every JSON reader keeps them exactly.
type Header struct {
	Version *int64 `json:"troupe_trace"`
}

// Line is one request.
type Line struct {
	Arrival      *float64 `json:"arrival_ms"`
	Input        *int64   `json:"input"`
	Output       *int64   `json:"output"`
	Unfinished   bool     `json:"unfinished,omitempty"` // was running when the recording ended
	PageSize     int64    `json:"page_size,omitempty"`
	Pages        IDs      `json:"pages,omitempty"` // chained hashes of the prompt's whole pages
	Conversation *uint64  `json:"conversation,omitempty"`
	Tenant       *uint64  `json:"tenant,omitempty"`
	Priority     int32    `json:"priority,omitempty"`
}

// IDs are the ids of blocks. They are read without reflection, because they are
// nearly all of a trace's bytes.
type IDs []uint64

// UnmarshalJSON accepts whole numbers below 2^64. It gets valid JSON.
func (b *IDs) UnmarshalJSON(text []byte) error {
	if len(text) < 2 || text[0] != '[' {
		return fmt.Errorf("block ids must be an array of whole numbers, got %.20s", text)
	}
	comma := []byte{','}
	ids := make([]uint64, 0, bytes.Count(text, comma)+1)
	if list := bytes.TrimSpace(text[1 : len(text)-1]); len(list) > 0 {
		for one := range bytes.SplitSeq(list, comma) {
			one = bytes.TrimSpace(one)
			id, err := strconv.ParseUint(string(one), 10, 64)
			if err != nil {
				return fmt.Errorf("block id %.24s is not a whole number from 0 to 2^64-1", one)
			}
			ids = append(ids, id)
		}
	}
	*b = ids
	return nil
}
