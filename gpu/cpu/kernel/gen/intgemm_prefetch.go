package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// fetch prefetches lines of a later group, in every n-th group if n tiles share the
// work. The lines are spread over the steps of a group, because the processor has few
// buffers for outstanding lines.
func (k *intKernel) fetch(lines int) {
	k.ifFetching(func() {
		for i := range lines {
			k.prefetch(k.lines+i, k.fetched)
			k.fetched += 64
		}
		if !k.unrolled() {
			ADDQ(U32(uint32(k.fetched)), k.fetchAt)
			k.fetched = 0
		}
	})
	k.lines += lines
}

// fetchPairs prefetches a step's two lines, in the first of two unrolled steps all four.
func (k *intKernel) fetchPairs(step int) {
	switch {
	case !k.unrolled():
		k.fetch(2)
	case step%2 == 0:
		k.fetch(4)
	}
}

// prefetch prefetches a line into L2, ahead bytes after fetchAt, and into L1 the one near
// bytes after a line of this group.
func (k *intKernel) prefetch(line, ahead int) {
	m := at(k.w, near+64*line-k.wDone)
	if k.half != nil {
		m.Index, m.Scale = k.half, 8 // 128 bytes on for the other rows
	}
	PREFETCHT1(at(k.fetchAt, ahead))
	PREFETCHT0(m)
}

// fetchRest prefetches the remaining lines of a group and its share of the head.
func (k *intKernel) fetchRest() {
	bytes := k.form.group + k.form.head/8
	if k.twoForms() {
		bytes = q41Group // Q4K has as many lines
	}
	k.ifFetching(func() {
		for line := k.lines; 64*line < bytes; line++ {
			k.prefetch(line, k.fetched+64*(line-k.lines))
		}
		if k.twoForms() {
			ADDQ(at(k.stack, 8), k.fetchAt)
			bytes = 0
		}
		if rest := k.fetched + bytes - 64*k.lines; rest != 0 {
			ADDQ(I32(int32(rest)), k.fetchAt)
		}
		reload("every", k.fetchIn)
	})
	k.fetched, k.lines = 0, 0
}

func (k *intKernel) ifFetching(do func()) {
	*k.skips++
	skip := fmt.Sprint("skip", *k.skips)
	TESTQ(k.fetchIn, k.fetchIn)
	JNZ(LabelRef(skip))
	do()
	Label(skip)
}
