package memory

import (
	"fmt"

	"github.com/troupe-engine/troupe/messages"
)

// Extension is a request that grows from Prefix tokens, which have slots, to
// Seq tokens. LastSlot is the slot of its token Prefix-1; it says where a
// partly filled last page goes on and does not matter at a page border. A
// decode step extends by one token.
type Extension struct {
	Prefix, Seq, LastSlot int
}

// Pages is how many new pages the extension needs.
func (e Extension) Pages(pageSize int) int {
	return PagesFor(e.Seq, pageSize) - PagesFor(e.Prefix, pageSize)
}

// PagesToExtend is how many new pages a batch of extensions needs.
func PagesToExtend(batch []Extension, pageSize int) int {
	n := 0
	for _, e := range batch {
		n += e.Pages(pageSize)
	}
	return n
}

// ExtendSlots appends to into the slots of all new tokens of a batch, request
// by request: first the rest of the request's last page, then its share of
// pages, the last of which may stay partly filled. pages must be exactly those
// that the batch needs, see PagesToExtend; they go to the requests in order.
//
// Lease.Slot gives the same slots one by one from a whole page table. Use this
// where only the last slot is at hand.
func ExtendSlots(batch []Extension, pages []messages.Page, pageSize int, into []int) ([]int, error) {
	for i, e := range batch {
		if e.Prefix < 0 || e.Seq < e.Prefix {
			return into, fmt.Errorf("extension %d goes from %d to %d tokens; it must not shrink", i, e.Prefix, e.Seq)
		}
		if used := e.Prefix % pageSize; used != 0 && e.Seq > e.Prefix && e.LastSlot%pageSize != used-1 {
			return into, fmt.Errorf("extension %d: slot %d cannot hold token %d with %d tokens per page", i, e.LastSlot, e.Prefix-1, pageSize)
		}
	}
	if need := PagesToExtend(batch, pageSize); need != len(pages) {
		return into, fmt.Errorf("%d extensions need %d pages and get %d", len(batch), need, len(pages))
	}
	for _, e := range batch {
		at := e.Prefix
		for slot := e.LastSlot + 1; at < e.Seq && at%pageSize != 0; at++ {
			into = append(into, slot)
			slot++
		}
		for at < e.Seq {
			slot := int(pages[0]) * pageSize
			pages = pages[1:]
			for end := min(e.Seq, at+pageSize); at < end; at++ {
				into = append(into, slot)
				slot++
			}
		}
	}
	return into, nil
}
