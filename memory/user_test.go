package memory

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// user of a tree brings whole prompts, with new pages for what is not there.
type user struct {
	*Tree
	next  messages.Page
	pages []messages.Page
	freed []messages.PageRun
}

// bring inserts a prompt of whole pages and returns how many pages of it were
// there.
func (u *user) bring(prompt []int32) int {
	node, pages := u.Lock("", prompt, len(prompt), u.pages[:0])
	owned := len(pages)
	for len(pages) < len(prompt)/u.PageSize() {
		u.next++
		pages = append(pages, u.next)
	}
	u.pages = pages
	u.Insert(messages.PrefixInsert{Tokens: prompt, Pages: pages, Owned: owned, Node: node}, nil)
	return owned
}

func (u *user) evict(t testing.TB, pages int) {
	var err error
	if u.freed, err = u.Evict(pages, u.freed[:0]); err != nil {
		t.Fatal(err)
	}
}
