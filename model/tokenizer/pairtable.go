package tokenizer

import "math/bits"

// pairTable maps a pair of adjacent token ids to its merge: an open-addressing
// hash table, because the lookup is the inner loop of BPE and a built-in map
// costs about three times as much. It is filled at load and then immutable.
type pairTable struct {
	slots []pairSlot // length is a power of two, at most half full
	shift uint
}

// pairSlot holds key+1 so that the zero slot is empty.
type pairSlot struct {
	key    uint64
	rank   uint32 // place in the merge list, lower merges first
	merged int32  // id of the joined token
}

func newPairTable(capacity int) *pairTable {
	size := 16
	for size < 2*capacity {
		size *= 2
	}
	return &pairTable{slots: make([]pairSlot, size), shift: uint(64 - bits.TrailingZeros(uint(size)))}
}

func pairKey(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) + 1 }

// set stores a merge; a later one for the same pair wins, as in the reference. The caller
// keeps the number of pairs within the capacity given to the constructor.
func (t *pairTable) set(left, right int32, rank uint32, merged int32) {
	key := pairKey(left, right)
	mask := uint64(len(t.slots) - 1)
	for i := key * 0x9E3779B97F4A7C15 >> t.shift; ; i = (i + 1) & mask {
		slot := &t.slots[i]
		if slot.key == 0 || slot.key == key {
			*slot = pairSlot{key: key, rank: rank, merged: merged}
			return
		}
	}
}

// get returns the merge of a pair. Ids below zero have none.
func (t *pairTable) get(left, right int32) (rank uint32, merged int32, ok bool) {
	key := pairKey(left, right)
	mask := uint64(len(t.slots) - 1)
	for i := key * 0x9E3779B97F4A7C15 >> t.shift; ; i = (i + 1) & mask {
		slot := &t.slots[i]
		if slot.key == key {
			return slot.rank, slot.merged, true
		}
		if slot.key == 0 {
			return 0, 0, false
		}
	}
}
