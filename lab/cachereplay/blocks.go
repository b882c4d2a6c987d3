package cachereplay

import (
	"container/heap"
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/lab/trace"
)

// fifoTable evicts the block inserted first, also inner blocks. A request's blocks
// are inserted last to first, so that its end goes before its beginning.
type fifoTable struct {
	resident map[uint64]bool
	queue    []uint64 // in the order of insertion
}

func (t *fifoTable) access(r *trace.Request, capacity int) (hits, evicted int, err error) {
	for hits < len(r.Blocks) && t.resident[r.Blocks[hits]] {
		hits++
	}
	for i := len(r.Blocks) - 1; i >= 0; i-- {
		if id := r.Blocks[i]; !t.resident[id] {
			t.resident[id] = true
			t.queue = append(t.queue, id)
		}
	}
	for capacity > 0 && len(t.resident) > capacity {
		delete(t.resident, t.queue[0])
		t.queue = t.queue[1:] // the next growth of the slice drops what is before it
		evicted++
	}
	return hits, evicted, nil
}

// never is the next use of a block that is not used again.
const never = math.MaxInt32

// Future is the knowledge of belady: for each use of a block, in the order of the
// trace, the request that uses it next. It takes 4 bytes per use and about 50 per
// distinct block, the only part of a replay that grows with the trace.
type Future struct {
	next     []*[futureChunk]int32 // chunks, so that growing copies nothing
	uses     int
	last     map[uint64]int // block to its latest use
	requests int32
}

const futureChunk = 1 << 16

func NewFuture() *Future { return &Future{last: map[uint64]int{}} }

func (f *Future) at(use int) *int32 { return &f.next[use/futureChunk][use%futureChunk] }

// Add appends a request. All are added before the first replay.
func (f *Future) Add(r *trace.Request) {
	for _, id := range r.Blocks {
		if use, ok := f.last[id]; ok {
			*f.at(use) = f.requests
		}
		if f.uses%futureChunk == 0 {
			f.next = append(f.next, new([futureChunk]int32))
		}
		f.last[id] = f.uses
		*f.at(f.uses) = never
		f.uses++
	}
	f.requests++
}

// beladyTable evicts the block whose next use is farthest away (L. A. Belady, A study of
// replacement algorithms for a virtual-storage computer, 1966); at equal distances the
// deepest: without its beginning a request finds nothing.
type beladyTable struct {
	future *Future
	use    int // uses so far
	at     map[uint64]int
	heap   []beladyBlock
}

type beladyBlock struct {
	id    uint64
	next  int32 // request
	depth int32 // in the request that used it last
}

func (t *beladyTable) access(r *trace.Request, capacity int) (hits, evicted int, err error) {
	if left := t.future.uses - t.use; len(r.Blocks) > left {
		return 0, 0, fmt.Errorf("the trace has changed since belady first read it: it left %d blocks for this request then, but the request has %d now; "+
			"use a file that does not change, not a pipe", left, len(r.Blocks))
	}
	for hits < len(r.Blocks) {
		if _, ok := t.at[r.Blocks[hits]]; !ok {
			break
		}
		hits++
	}
	for depth, id := range r.Blocks {
		b := beladyBlock{id, *t.future.at(t.use), int32(depth)}
		t.use++
		if i, ok := t.at[id]; ok {
			t.heap[i] = b
			heap.Fix(t, i)
		} else {
			heap.Push(t, b)
		}
	}
	for capacity > 0 && len(t.heap) > capacity {
		heap.Pop(t)
		evicted++
	}
	return hits, evicted, nil
}

func (t *beladyTable) Len() int { return len(t.heap) }
func (t *beladyTable) Less(i, j int) bool {
	a, b := &t.heap[i], &t.heap[j]
	if a.next != b.next {
		return a.next > b.next
	}
	return a.depth > b.depth
}
func (t *beladyTable) Swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.at[t.heap[i].id], t.at[t.heap[j].id] = i, j
}
func (t *beladyTable) Push(x any) {
	b := x.(beladyBlock)
	t.at[b.id] = len(t.heap)
	t.heap = append(t.heap, b)
}
func (t *beladyTable) Pop() any {
	last := len(t.heap) - 1
	b := t.heap[last]
	t.heap = t.heap[:last]
	delete(t.at, b.id)
	return b
}
