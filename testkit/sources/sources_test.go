package sources

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
)

// The examples by the name of their file in testdata.
var examples = map[string]func(*testing.T, *printer){
	"notebook-pool-of-4-gib":     notebookPool,
	"notebook-50-slots":          notebookFiftySlots,
	"notebook-tree-and-eviction": notebookTree,
	"notebook-manager":           notebookManager,
	"guide-breakdown":            guideBreakdown,
	"guide-bytes-per-token":      guideBytesPerToken,
	"guide-translate":            guideTranslate,
	"guide-paged-format":         guidePagedFormat,
	"scheduler-request-abc":      schedulerRequestABC,
	"scheduler-overview":         schedulerOverview,
	"pools-at-the-end":           poolsAtTheEnd,
}

func TestExamples(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) != len(examples) {
		t.Errorf("%d files for %d examples: %v", len(files), len(examples), err)
	}
	for name, run := range examples {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			p := &printer{}
			run(t, p)
			if got := p.String(); got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// printer collects what an example prints.
type printer struct{ strings.Builder }

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// slots prints pages of one slot, from 0 on.
func (p *printer) slots(what string, pages []messages.Page) {
	words := make([]string, len(pages))
	for i, page := range pages {
		words[i] = fmt.Sprint(page - 1)
	}
	p.line("%s[%s]", what, strings.Join(words, ", "))
}

// tree prints a tree of pages of one slot as the notebook does, with slots from 0 on.
func (p *printer) tree(t *radix.Tree) {
	p.line("\nRADIX TREE STRUCTURE")
	view := t.View(messages.CacheLimits{})
	var shift func(nodes []radix.NodeView)
	shift = func(nodes []radix.NodeView) {
		for _, n := range nodes {
			for i := range n.Slots {
				n.Slots[i]--
			}
			shift(n.Children)
		}
	}
	for _, n := range view.Namespaces {
		shift(n.Children)
	}
	p.WriteString(view.Text(false))
}

// cachePool is the notebook's cache manager: a tree over an allocator, one slot to a
// page.
type cachePool struct {
	t     *testing.T
	tree  *radix.Tree
	alloc *pages.Allocator
}

func newPool(t *testing.T, slots int) *cachePool {
	return &cachePool{t, radix.NewTree(radix.TreeOptions{PageSize: 1}), pages.NewAllocator(slots)}
}

// available is what is free and what eviction can free.
func (p *cachePool) available() int { return p.alloc.Free() + p.tree.Evictable() }

// take appends n free pages to a page table.
func (p *cachePool) take(n int, to []messages.Page) []messages.Page {
	p.t.Helper()
	pages, ok := p.alloc.Alloc(n, to)
	if !ok {
		p.t.Fatalf("%d pages are not free", n)
	}
	return pages
}

// insert gives a prefix to the tree and frees what the tree has already.
func (p *cachePool) insert(in messages.PrefixInsert) messages.PrefixInserted {
	out, freed := p.tree.Insert(in, nil)
	p.alloc.Release(freed)
	return out
}

// pagesOf is the pages of runs, one by one.
func pagesOf(runs []messages.PageRun) []messages.Page {
	var pages []messages.Page
	for _, run := range runs {
		for i := range run.N {
			pages = append(pages, run.First+i)
		}
	}
	return pages
}

// from makes pages of the slots that a document writes.
func from(slots ...messages.Page) []messages.Page {
	for i := range slots {
		slots[i]++
	}
	return slots
}
