package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cores are the packages whose files have floors as well: their doc.go lists
// them, the lowest first, one floor a line, as in
//
//	// # Floors
//	//
//	//	options sequence
//	//	ledger flights
//	//	core
//
// A file uses what is in its own floor or below. So a reader who goes through
// the list meets nothing that was not explained before.
var cores = []string{"cluster/link", "memory/pages", "memory/pool", "memory/radix", "memory/radix/gittins", "request", "sched/dispatch", "sched/former", "sched/pace", "sched/portal", "sched/queue", "sched/route"}

func TestFilesUseNothingAbove(t *testing.T) {
	for _, path := range cores {
		c := typesOf(t, path)
		floor := floorsOf(t, c)
		for _, use := range upward(c, floor) {
			t.Errorf("%s: %s", path, use)
		}
	}
}

// floorsOf gives the floor of each file, from the package comment.
func floorsOf(t *testing.T, c *checked) map[string]int {
	t.Helper()
	floor := map[string]int{}
	doc := c.files["doc"]
	if doc == nil {
		t.Fatalf("%s has no doc.go", c.path)
	}
	_, list, ok := strings.Cut(doc.Doc.Text(), "# Floors\n")
	if !ok {
		t.Fatalf("%s/doc.go has no section Floors", c.path)
	}
	at := 0
	for line := range strings.Lines(list) {
		names, listed := strings.CutPrefix(line, "\t")
		if !listed {
			if strings.TrimSpace(line) != "" && at > 0 {
				break
			}
			continue
		}
		at++
		for name := range strings.FieldsSeq(names) {
			if c.files[name] == nil {
				t.Errorf("%s/doc.go lists %s, and there is no such file", c.path, name)
			}
			floor[name] = at
		}
	}
	for name := range c.files {
		if floor[name] == 0 && name != "doc" {
			t.Errorf("%s/%s.go is on no floor of doc.go", c.path, name)
		}
	}
	return floor
}

// upward finds uses of functions, methods, types, variables and constants that a
// higher file declares, each once.
func upward(c *checked, floor map[string]int) (found []string) {
	fileOf := func(pos token.Pos) string {
		return strings.TrimSuffix(filepath.Base(c.fset.Position(pos).Filename), ".go")
	}
	for name, file := range c.files {
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			obj := c.info.Uses[id]
			if obj == nil || obj.Pkg() != c.pkg || !declared(obj) {
				return true
			}
			if other := fileOf(obj.Pos()); floor[other] > floor[name] {
				if use := name + " uses " + obj.Name() + " of " + other + ", which is above it"; !slices.Contains(found, use) {
					found = append(found, use)
				}
			}
			return true
		})
	}
	slices.Sort(found)
	return found
}

// declared reports whether an object is declared by the package at its top
// level, or is a method.
func declared(obj types.Object) bool {
	if f, ok := obj.(*types.Func); ok && f.Signature().Recv() != nil {
		return true
	}
	return obj.Parent() == obj.Pkg().Scope()
}
