package radix

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"
)

// RootHash is the hash that the first page of a namespace is chained to: 0 for
// the empty namespace, else the first 8 bytes, big endian, of its SHA-256.
func RootHash(namespace string) uint64 {
	if namespace == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(namespace))
	return binary.BigEndian.Uint64(sum[:])
}

// PageHash is the name of a page in events: the first 8 bytes, big endian, of
// SHA-256 over the parent's hash (8 bytes, big endian) and the page's tokens (4
// bytes each, little endian). So it names the whole prefix up to the page.
func PageHash(parent uint64, page []int32) uint64 {
	const stack = 8 + 4*64 // pages of up to 64 tokens need no heap
	text := binary.BigEndian.AppendUint64(make([]byte, 0, stack), parent)
	for _, token := range page {
		text = binary.LittleEndian.AppendUint32(text, uint32(token))
	}
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:])
}

// PageHashes names the whole pages of a prompt, in order.
func PageHashes(namespace string, tokens []int32, pageSize int) []uint64 {
	h := pageHashes{pageSize: pageSize, next: PageHash}
	return h.chain(RootHash(namespace), tokens[:len(tokens)/pageSize*pageSize])
}

// mixTokens is a fast hash of a start value and tokens: each folds a product of 128 bits.
func mixTokens(h uint64, page []int32) uint64 {
	const k0, k1 = 0x9e3779b97f4a7c15, 0xd1342543de82ef95
	for _, token := range page {
		hi, lo := bits.Mul64(h^uint64(uint32(token))^k0, k1)
		h = hi ^ lo
	}
	return h
}

// pageHashes has the chained hash of every cached page, for events and history: 8
// bytes per page and 24 per node. A tree without both has no pageHashes.
type pageHashes struct {
	pageSize int
	next     func(parent uint64, page []int32) uint64
	nodes    [][]uint64 // by nodeIndex; one hash for each page of the node
}

// chain computes the hashes of the pages of tokens, the first one chained to parent.
func (h *pageHashes) chain(parent uint64, tokens []int32) []uint64 {
	hashes := make([]uint64, 0, len(tokens)/h.pageSize)
	for page := range slices.Chunk(tokens, h.pageSize) {
		parent = h.next(parent, page)
		hashes = append(hashes, parent)
	}
	return hashes
}

func (h *pageHashes) set(i nodeIndex, hashes []uint64) {
	for int(i) >= len(h.nodes) {
		h.nodes = append(h.nodes, nil)
	}
	h.nodes[i] = hashes
}

func (h *pageHashes) last(i nodeIndex) uint64 {
	hashes := h.nodes[i]
	return hashes[len(hashes)-1]
}

// split moves the first k hashes of a node to the new one above it.
func (h *pageHashes) split(i, up nodeIndex, k int) {
	hashes := h.nodes[i]
	h.set(up, slices.Clone(hashes[:k]))
	h.nodes[i] = hashes[k:]
}
