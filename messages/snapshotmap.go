package messages

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
)

// PageOwner says what a page of the KV pool is used for.
type PageOwner uint8

const (
	PageUnowned   PageOwner = iota // while a snapshot is made
	PageFree                       // in the allocator
	PageEvictable                  // cached, and used by no request
	PageProtected                  // cached, and used by requests
	PageLeased                     // private to a request, or given back with the next plan
)

var (
	ownerNames   = [...]string{"unowned", "free", "evictable", "protected", "leased"}
	ownerLetters = [...]byte{'u', 'f', 'e', 'p', 'l'}
)

func (o PageOwner) String() string { return ownerNames[o] }

// PageMap has the owner of page i+1 at index i. As text it is run-length encoded, a number
// and a letter for each run: 120f3l are 120 free pages and 3 leased ones.
type PageMap []PageOwner

// MostCells bounds a map that people see, and one that is read from text.
const MostCells = 32768

// Shrink returns at most most cells, of which each stands for the same number of pages (the
// last one for fewer): the owner that most of them have, and of equal ones the later in the
// list of owners. It is m itself if that is short enough.
func (m PageMap) Shrink(most int) (cells PageMap, pagesPerCell int) {
	if len(m) <= most {
		return m, 1
	}
	per := (len(m) + most - 1) / most
	for part := range slices.Chunk(m, per) {
		var n [len(ownerNames)]int
		best := PageUnowned
		for _, owner := range part {
			n[owner]++
		}
		for owner, count := range n {
			if count > 0 && count >= n[best] {
				best = PageOwner(owner)
			}
		}
		cells = append(cells, best)
	}
	return cells, per
}

// MarshalText implements encoding.TextMarshaler.
func (m PageMap) MarshalText() ([]byte, error) {
	text := []byte{}
	for i := 0; i < len(m); {
		n := 1
		for i+n < len(m) && m[i+n] == m[i] {
			n++
		}
		text = append(strconv.AppendInt(text, int64(n), 10), ownerLetters[m[i]])
		i += n
	}
	return text, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *PageMap) UnmarshalText(text []byte) error {
	*m = PageMap{}
	for len(text) > 0 {
		end := 0
		for end < len(text) && '0' <= text[end] && text[end] <= '9' {
			end++
		}
		if end == 0 || end == len(text) {
			return fmt.Errorf("a map of pages has no number before a letter, or no letter after a number")
		}
		owner := bytes.IndexByte(ownerLetters[:], text[end])
		n, err := strconv.Atoi(string(text[:end]))
		if err != nil || owner < 0 || n < 1 || n > MostCells-len(*m) {
			return fmt.Errorf("a map of pages has the run %.20q; want a number of pages, %d in total at most, and one of the letters %s", text[:end+1], MostCells, ownerLetters[:])
		}
		for range n {
			*m = append(*m, PageOwner(owner))
		}
		text = text[end+1:]
	}
	return nil
}
