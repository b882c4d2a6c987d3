package radix_test

import (
	"fmt"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
)

// Pages of two tokens. A prompt of three pages is cached; a second prompt shares
// its first page, and the match splits the node there.
func ExampleTree() {
	tree := radix.NewTree(radix.TreeOptions{PageSize: 2})
	tree.Insert(messages.PrefixInsert{
		Tokens: []int32{1, 2, 3, 4, 5, 6}, Pages: []messages.Page{10, 11, 12},
	}, nil)

	// Match and lock. At least one token must be computed, hence the limit.
	prompt := []int32{1, 2, 7, 8}
	node, pages := tree.Lock("", prompt, len(prompt)-1, nil)
	fmt.Println("found pages", pages)
	fmt.Println("evictable", tree.Evictable(), "protected", tree.Protected())

	// The request computes its second page, inserts it and ends.
	pages = append(pages, 20)
	tree.Insert(messages.PrefixInsert{Tokens: prompt, Pages: pages, Owned: 1, Node: node}, nil)
	fmt.Print(tree)

	// The least recently used leaf is evicted first, and only as far as asked.
	freed, _ := tree.Evict(1, nil)
	fmt.Println("evicted", freed)
	_, err := tree.Evict(9, nil)
	fmt.Println(err)
	// Output:
	// found pages [10]
	// evictable 2 protected 1
	// 3 nodes, 4 pages of 2 tokens evictable, 0 protected
	// Root Node:
	// └── uuid=0, ref=1 [R]
	//     └── uuid=2, tokens=[1, 2], slots=[20, 21], ref=0, age=0, hits=2
	//         ├── uuid=1, tokens=[3, 4, 5, 6], slots=[22, 23, 24, 25], ref=0, age=1, hits=1 [L]
	//         └── uuid=3, tokens=[7, 8], slots=[40, 41], ref=0, age=0, hits=1 [L]
	// evicted [{12 1}]
	// cannot evict 9 pages: only 3 are evictable
}
