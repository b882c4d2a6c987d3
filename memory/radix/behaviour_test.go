package radix

import (
	"testing"
)

// The behaviours of SGLang's tests that have no better place, with their
// numbers. docs/behaviours.md lists all of them.

func TestBehaviourEvict(t *testing.T) {
	tt := newTreeTest(t, 1)
	tt.put("", 1, 2)
	tt.put("", 3, 4)
	tt.evict(2)
	tt.wantCounts(2, 0, 1)
	tt.EvictAll(nil)
	tt.put("", 1, 2, 3)
	if freed := tt.evict(3); len(freed) != 3 {
		t.Fatalf("evicted %v", freed)
	}
	tt.wantCounts(0, 0, 0)
}

func TestBehaviourLock(t *testing.T) {
	tt := newTreeTest(t, 1)
	tt.put("", 1, 2, 3)
	node, _ := tt.Lock("", []int32{1, 2, 3}, 3, nil)
	tt.wantCounts(0, 3, 1)
	tt.Unlock(node)
	tt.wantCounts(3, 0, 1)
}

func TestBehaviourSplitDividesHashes(t *testing.T) {
	tt := newEventTree(t, 2)
	tt.put("", 1, 2, 3, 4)
	tt.put("", 1, 2, 5, 6)
	node, _ := tt.Lock("", []int32{1, 2, 9, 9}, 4, nil)
	shared := tt.hashes.nodes[tt.locked(node)]
	want(t, shared, []uint64{PageHash(0, []int32{1, 2})})
	tt.Unlock(node)
	tt.wantCounts(3, 0, 3)
}
