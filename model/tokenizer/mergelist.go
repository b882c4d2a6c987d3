package tokenizer

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/internal/jsonread"
)

// mergeText is a merge in the file, whose vocabulary and prefix may come later.
type mergeText struct{ left, right []byte }

// readMerges reads a list of "left right" strings or [left, right] pairs.
func readMerges(r *jsonread.Reader) ([]mergeText, error) {
	merges := make([]mergeText, 0, min(r.Left()/16, 1<<18))
	err := r.Array(func() error {
		m, err := readMerge(r)
		if err != nil {
			return fmt.Errorf("model.merges[%d]: %w", len(merges), err)
		}
		merges = append(merges, m)
		return nil
	})
	return merges, err
}

func readMerge(r *jsonread.Reader) (m mergeText, err error) {
	if r.Kind() != '[' {
		text, err := r.Text()
		if err != nil {
			return m, err
		}
		m, ok := splitMerge(text)
		if !ok {
			err = fmt.Errorf("%s is not two tokens separated by one space; use the model's original file", clip(string(text)))
		}
		return m, err
	}
	n := 0
	err = r.Array(func() error {
		part, err := r.Text()
		switch n++; n {
		case 1:
			m.left = part
		case 2:
			m.right = part
		}
		return err
	})
	if err == nil && n != 2 {
		err = fmt.Errorf("has %d parts; it must have 2; use the model's original file", n)
	}
	return m, err
}

func splitMerge(text []byte) (m mergeText, ok bool) {
	m.left, m.right, ok = bytes.Cut(text, []byte{' '})
	return m, ok && !bytes.Contains(m.right, []byte{' '})
}

func (m *bpe) takeMerges(texts []mergeText) error {
	merges := make([]merge, len(texts))
	for i, text := range texts {
		var missing []byte
		if merges[i], missing = m.merge(text); missing != nil {
			return fmt.Errorf("model.merges[%d]: token %s is not in model.vocab; vocabulary and merges do not belong together; download it again", i, clip(string(missing)))
		}
	}
	m.setMerges(merges)
	return nil
}

// merge are the ids of two tokens and of the one that they become.
type merge struct{ left, right, merged int32 }

// merge looks up a merge's three tokens; missing is the first that is not there.
func (m *bpe) merge(text mergeText) (p merge, missing []byte) {
	var buf [64]byte
	joined := append(append(buf[:0], text.left...), bytes.TrimPrefix(text.right, []byte(m.prefix))...)
	var ok bool
	if p.left, ok = m.vocab[string(text.left)]; !ok {
		return p, text.left
	}
	if p.right, ok = m.vocab[string(text.right)]; !ok {
		return p, text.right
	}
	if p.merged, ok = m.vocab[string(joined)]; !ok {
		return p, slices.Clone(joined)
	}
	return p, nil
}

// setMerges sets the merges, the first ones first.
func (m *bpe) setMerges(merges []merge) {
	m.pairs = newPairTable(len(merges))
	for rank, p := range merges {
		m.pairs.set(p.left, p.right, uint32(rank), p.merged)
	}
}
