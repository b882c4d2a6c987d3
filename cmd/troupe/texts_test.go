package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http/httptest"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/telemetry"
	"github.com/troupe-engine/troupe/testkit/golden"
)

// Every text for users is in testdata/texts.txt, so that a reviewer reads each new one
// next to the others.
func TestTexts(t *testing.T) {
	seen := map[string]bool{}
	var b strings.Builder
	for _, part := range []struct {
		name  string
		lines []string
	}{
		{"settings", settingTexts(seen)},
		{"commands and their flags", commandTexts(newRoot(), seen)},
		{"metrics", metricTexts(seen)},
		{"errors, answers, logs and what commands print", literals(t, "../..", seen)},
	} {
		if len(part.lines) == 0 {
			t.Errorf("no %s found", part.name)
		}
		fmt.Fprintf(&b, "# %s\n\n%s\n\n", part.name, strings.Join(part.lines, "\n"))
	}
	golden.Compare(t, "texts.txt", strings.TrimSpace(b.String())+"\n")
}

// line formats a text on one line.
func line(where, text string) string {
	return where + ": " + strings.ReplaceAll(strings.TrimSpace(text), "\n", `\n`)
}

func settingTexts(seen map[string]bool) (lines []string) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	configs.AddFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		seen[f.Usage] = true
		lines = append(lines, line(f.Name, f.Usage))
	})
	return lines
}

// commandTexts returns the texts of a command and of all below it, without flags that
// are settings.
func commandTexts(c *cobra.Command, seen map[string]bool) (lines []string) {
	for _, text := range []string{c.Use, c.Short, c.Long, c.Example} {
		if text != "" {
			seen[text] = true
			lines = append(lines, line(c.CommandPath(), text))
		}
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !seen[f.Usage] {
			lines = append(lines, line(c.CommandPath()+" --"+f.Name, f.Usage))
		}
	})
	c.LocalFlags().VisitAll(func(f *pflag.Flag) { seen[f.Usage] = true })
	for _, below := range c.Commands() {
		lines = append(lines, commandTexts(below, seen)...)
	}
	return lines
}

func metricTexts(seen map[string]bool) (lines []string) {
	w := httptest.NewRecorder()
	telemetry.New("model", 1, zerolog.Nop()).Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for row := range strings.Lines(w.Body.String()) {
		if name, help, ok := strings.Cut(strings.TrimPrefix(row, "# HELP "), " "); ok && strings.HasPrefix(row, "# HELP troupe") {
			lines = append(lines, line(name, help))
			seen[strings.TrimSpace(help)] = true
		}
	}
	return lines
}

// unread are packages without texts for users: tests, generators, and checks for
// developers.
var unread = []string{"testkit", "internal/archtest", "internal/invariants", "gpu/cpu/kernel/gen", "cluster/wire/gen", "lab/ggufwrite"}

// developers are functions with strings that are for developers, or not text.
var developers = regexp.MustCompile(`^(panic|invariants\.\w+|(\w+\.)?[Cc]heck[fF]?|regexp\.MustCompile|strings\.\w+|bytes\.\w+)$`)

// literals returns the strings of the sources that look like text: several words,
// with format verbs, and {} for computed parts.
func literals(t *testing.T, root string, seen map[string]bool) []string {
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || slices.Contains(unread, rel)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		for _, text := range textsOf(file) {
			if !seen[strings.TrimSpace(text)] && !seen[text] {
				found[line(path.Dir(rel), text)] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		roomA, _, _ := strings.Cut(a, ": ")
		roomB, _, _ := strings.Cut(b, ": ")
		return cmp.Or(cmp.Compare(roomA, roomB), cmp.Compare(a, b))
	})
}

func textsOf(file *ast.File) (texts []string) {
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.CallExpr:
			return !developers.MatchString(called(n.Fun)) || raisesError(n)
		case *ast.BinaryExpr:
			if text, ok := folded(n); ok {
				if isText(text) {
					texts = append(texts, text)
				}
				for _, operand := range []ast.Expr{n.X, n.Y} {
					if _, ok := folded(operand); !ok {
						ast.Inspect(operand, visit)
					}
				}
				return false
			}
		case *ast.BasicLit:
			if text, ok := folded(n); ok && isText(text) {
				texts = append(texts, text)
			}
		}
		return true
	}
	ast.Inspect(file, visit)
	return texts
}

// raisesError reports whether a call panics with an error for users, as the
// interpreter of chat templates does; its callers get the error.
func raisesError(call *ast.CallExpr) bool {
	if called(call.Fun) != "panic" {
		return false
	}
	made, ok := call.Args[0].(*ast.CallExpr)
	return ok && slices.Contains([]string{"newErr", "typeErr"}, called(made.Fun))
}

// called returns the name of a function as in the source.
func called(fun ast.Expr) string {
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return called(fun.X) + "." + fun.Sel.Name
	}
	return ""
}

// folded returns a string literal, or a sum with one; computed parts become {}.
func folded(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return folded(e.X)
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		x, okX := folded(e.X)
		y, okY := folded(e.Y)
		if e.Op == token.ADD && (okX || okY) {
			return orComputed(x, okX) + orComputed(y, okY), true
		}
	}
	return "", false
}

func orComputed(text string, ok bool) string {
	if ok {
		return text
	}
	return "{}"
}

var (
	word = regexp.MustCompile(`\pL\pL`)
	// noText matches patterns, JSON, signatures of template functions, and broken
	// invariants of the radix tree.
	noText = regexp.MustCompile(`\\p\{|^\{"|^\d+: |^[a-z_]+( [a-z_]+\??)*\?|^\w+ \w+ \w+:\w+:\w+|^\w+:\w+:\w+ `)
)

// isText reports whether a string has words with a space between them.
func isText(text string) bool {
	parts := strings.Fields(text)
	return len(parts) > 1 && slices.ContainsFunc(parts, word.MatchString) && !noText.MatchString(text)
}
