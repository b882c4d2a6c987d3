package radix

// A list of the cached pages is made in parts, in the order of the slab: a place in it is
// the index of a node. The tree changes between two parts. A new page is in an event, and
// so is a removed one. A split gives pages that were cached before to a new node, which
// must not have a place that the list has passed (takeUpper).

// visitsPerPage bounds how many unused places a part skips, per page.
const visitsPerPage = 8

// List appends the hashes of cached pages, node by node, to hashes: the next ones of the
// list after a place, 0 for its start. It stops at the first node that reaches most pages
// and returns its place; 0 at the end of the list. Without events there are no pages.
func (t *Tree) List(after uint64, most int, hashes []uint64) (list []uint64, next uint64) {
	t.listed = none
	if t.events == nil {
		return hashes, 0
	}
	for at, visits := after+1, 0; at < uint64(len(t.hashes.nodes)); at++ {
		hashes = append(hashes, t.hashes.nodes[at]...)
		if visits++; len(hashes) >= most || visits >= most*visitsPerPage {
			t.listed = nodeIndex(at)
			return hashes, at
		}
	}
	return hashes, 0
}
