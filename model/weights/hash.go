package weights

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/troupe-engine/troupe/model/blob"
)

// What a hash covers: name, element type, shape, order of rows and data of
// every tensor, by ascending name, so that one file and the same model in
// shards are equal. Up to fullHash bytes altogether the data is covered whole
// ("sha256:…"). Larger models would take minutes to read at every start, so
// there the hash covers sampleBlocks blocks of each tensor, spread evenly over its
// data, the first and the last included ("sampled-sha256:…"): two models that were
// trained differently differ nearly everywhere, but a few flipped bits can go
// unseen. The hash tells models apart; it does not protect against tampering.
const (
	fullHash     = 1 << 30
	sampleBlocks = 16
	sampleBlock  = 64 << 10
)

// hashTensors hashes the tensors side by side, then the list of their hashes.
func hashTensors(ctx context.Context, s *files, sampled bool) (string, error) {
	sums := make([][sha256.Size]byte, len(s.names))
	errs := make([]error, len(s.names))
	var wg sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(s.names)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				sums[i], errs[i] = hashTensor(s.entries[s.names[i]], sampled)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	h := sha256.New()
	for i, sum := range sums {
		if errs[i] != nil {
			return "", errs[i]
		}
		h.Write(sum[:])
	}
	kind := "sha256:"
	if sampled {
		kind = "sampled-sha256:"
	}
	return kind + hex.EncodeToString(h.Sum(nil)), nil
}

func hashTensor(e Placed, sampled bool) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	writeString(h, e.Name)
	writeString(h, e.DType)
	writeNumber(h, len(e.Shape))
	for _, d := range e.Shape {
		writeNumber(h, d)
	}
	for _, row := range e.Order {
		writeNumber(h, row)
	}
	steps, length := int64(1), e.Bytes
	if sampled && e.Bytes > sampleBlocks*sampleBlock {
		steps, length = sampleBlocks, sampleBlock
	}
	for i := range steps {
		at := i * (e.Bytes - length) / max(1, steps-1)
		if err := writeRange(h, e, at, length); err != nil {
			return sum, e.unreadable(err)
		}
	}
	h.Sum(sum[:0])
	return sum, nil
}

// writeRange hashes in steps, so that a file read by pieces needs little memory.
func writeRange(h hash.Hash, e Placed, from, n int64) error {
	for n > 0 {
		k := min(n, 1<<20)
		data, err := e.Blob.Bytes(e.At+from, k)
		if err != nil {
			return err
		}
		h.Write(data)
		if b, is := e.Blob.(blob.Discarder); is {
			b.Discard(data) // a device has its own copy by now
		}
		from, n = from+k, n-k
	}
	return nil
}

func writeString(h hash.Hash, s string) {
	writeNumber(h, len(s))
	h.Write([]byte(s))
}

func writeNumber(h hash.Hash, n int) {
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}
