package radix

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// eventLog collects what happens to cached pages until TakeEvents; nil does nothing.
type eventLog struct {
	pageSize int
	list     []messages.CacheEvent
}

// stored records new pages, the first of them chained to parent unless it is the first
// page of its namespace. hashes is copied, tokens is frozen.
func (l *eventLog) stored(namespace string, parent uint64, first bool, hashes []uint64, tokens []int32) {
	if l == nil {
		return
	}
	e := messages.CacheEvent{
		Kind: messages.PagesStored, Hashes: slices.Clone(hashes), HasParent: !first,
		Tokens: tokens, PageSize: l.pageSize, Namespace: namespace,
	}
	if !first {
		e.Parent = parent
	}
	l.list = append(l.list, e)
}

// removed records evicted pages; those of one eviction are one event.
func (l *eventLog) removed(hashes []uint64) {
	if l == nil {
		return
	}
	if last := len(l.list) - 1; last >= 0 && l.list[last].Kind == messages.PagesRemoved {
		l.list[last].Hashes = append(l.list[last].Hashes, hashes...)
		return
	}
	l.list = append(l.list, messages.CacheEvent{Kind: messages.PagesRemoved, Hashes: slices.Clone(hashes)})
}

func (l *eventLog) cleared() {
	if l != nil {
		l.list = append(l.list, messages.CacheEvent{Kind: messages.PagesCleared})
	}
}
