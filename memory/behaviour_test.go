package memory

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
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

// 64 tokens in pages of 4, of which 8 tokens are taken; 16 tokens, of which 20
// are refused; all of 8 pages, of which 9 are refused and none is taken.
func TestBehaviourAllocate(t *testing.T) {
	a := NewAllocator(64 / 4)
	pages, _ := a.Alloc(PagesFor(8, 4), nil)
	if a.Free()*4 != 56 || int(pages[0])*4%4 != 0 {
		t.Errorf("%d tokens left, from slot %d on", a.Free()*4, pages[0]*4)
	}
	small := NewAllocator(16 / 4)
	if _, ok := small.Alloc(PagesFor(20, 4), nil); ok || small.Free() != 4 {
		t.Errorf("20 of 16 tokens allocated, %d pages left", small.Free())
	}
	eight := NewAllocator(8)
	if got, ok := eight.Alloc(9, nil); ok || len(got) > 0 || eight.Free() != 8 {
		t.Errorf("9 of 8 pages: %v, %d left", got, eight.Free())
	}
	first, _ := eight.Alloc(4, nil)
	second, ok := eight.Alloc(4, nil)
	if !ok || eight.Free() != 0 {
		t.Fatalf("%v and %v, %d left", first, second, eight.Free())
	}
	seen := map[messages.Page]bool{0: true} // page 0 is never handed out
	for _, page := range append(first, second...) {
		if seen[page] {
			t.Errorf("page %d handed out twice", page)
		}
		seen[page] = true
	}
	eight.Release(nil)
	eight.Release(second)
	if again, ok := eight.Alloc(4, nil); !ok || len(again) != 4 {
		t.Errorf("freed pages are not allocated again: %v", again)
	}
}
