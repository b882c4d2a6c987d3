package archtest

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The packages of docs/architecture.md, by room, with the first sentence of
// their comments and what they may import. With -rewrite it is written anew.
func TestRoomsAreDocumented(t *testing.T) {
	compareSection(t, "docs/architecture.md", "<!-- rooms, from package comments and internal/archtest -->\n", "<!-- end of rooms -->\n", rooms(t))
}

func rooms(t *testing.T) string {
	var b strings.Builder
	all := packages(t)
	var names []string
	for pkg := range all {
		names = append(names, pkg)
	}
	slices.Sort(names)
	table := func(title string, member func(pkg string) bool) {
		fmt.Fprintf(&b, "\n### %s\n\n| package | what it is | imports of ours |\n|---|---|---|\n", title)
		for _, pkg := range names {
			if member(pkg) {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", pkg, synopsis(t, pkg), mayImport(pkg))
			}
		}
	}
	for i, f := range floors {
		table(fmt.Sprintf("Floor %d: %s", i, f.name), func(pkg string) bool { return floorOf(pkg) == i })
	}
	inLab := func(pkg string) bool { return within(pkg, "lab") || slices.Contains(labCommands, pkg) }
	table("Laboratory", inLab)
	table("Test kit", func(pkg string) bool { return floorOf(pkg) < 0 && !inLab(pkg) })
	return b.String() + "\n"
}

// synopsis is the first sentence of a package's comment, without its name.
func synopsis(t *testing.T, pkg string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Doc == nil || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text := new(doc.Package).Synopsis(parsed.Doc.Text())
		for _, start := range []string{"Package " + parsed.Name.Name + " ", "Command " + filepath.Base(pkg) + " "} {
			text = strings.TrimPrefix(text, start)
		}
		return strings.TrimSuffix(strings.TrimPrefix(text, "is "), ".")
	}
	t.Fatalf("%s has no package comment", pkg)
	return ""
}

func mayImport(pkg string) string {
	r, _ := ruleFor(pkg)
	switch {
	case slices.Contains(r.ours, ""):
		return "everything"
	case len(r.ours) == 0:
		return "nothing"
	}
	return "`" + strings.Join(r.ours, "`, `") + "`"
}
