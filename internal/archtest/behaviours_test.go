package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sglangItems is how many behaviours our notes on SGLang's tests have.
const sglangItems = 34

var (
	itemRow  = regexp.MustCompile(`^\| (\d+) \| (.+) \| (.+) \| (.*)\|$`)
	testName = regexp.MustCompile("`([a-z]+)\\.(Test[A-Za-z0-9]+)`")
)

// docs/behaviours.md lists every behaviour once, in order; what is kept or
// different names tests that exist, what is not built names none.
func TestBehavioursAreTested(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/behaviours.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range behaviours(string(text), testFunctions(t)) {
		t.Errorf("docs/behaviours.md: %s", problem)
	}
}

// behaviours gives what is wrong with a list, tests being the names of the test
// functions that there are.
func behaviours(text string, tests []string) (problems []string) {
	items := 0
	for line := range strings.Lines(text) {
		row := itemRow.FindStringSubmatch(strings.TrimSpace(line))
		if row == nil {
			continue
		}
		items++
		number, here, named := row[1], row[3], testName.FindAllStringSubmatch(row[4], -1)
		say := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("item %s ", number)+fmt.Sprintf(format, args...))
		}
		if number != fmt.Sprint(items) {
			say("is where %d belongs", items)
		}
		if n := strings.Count(row[4], "`") / 2; n != len(named) {
			say("has %d names of tests, of which %d are written package.TestName", n, len(named))
		}
		for _, name := range named {
			if !slices.Contains(tests, name[1]+"."+name[2]) {
				say("names %s.%s, which does not exist", name[1], name[2])
			}
		}
		switch built := !strings.HasPrefix(here, "not built"); {
		case built && !strings.HasPrefix(here, "kept") && !strings.HasPrefix(here, "different: "):
			say("is neither kept nor different nor not built: %q", here)
		case built && len(named) == 0:
			say("names no test")
		case !built && len(named) > 0:
			say("is not built and names tests")
		}
	}
	if items != sglangItems {
		problems = append(problems, fmt.Sprintf("%d items are listed, want %d", items, sglangItems))
	}
	return problems
}

// testFunctions lists the test functions of the repository as directory.TestName,
// with the last element of the directory.
func testFunctions(t *testing.T) (names []string) {
	t.Helper()
	for _, file := range goFiles(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, path.Base(filepath.ToSlash(filepath.Dir(file)))+"."+f.Name.Name)
			}
		}
	}
	return names
}

// The check itself finds what it is for.
func TestBehavioursCheckIsStrict(t *testing.T) {
	good := ""
	for i := range sglangItems {
		good += fmt.Sprintf("| %d | what | kept | `p.TestA` |\n", i+1)
	}
	for change, want := range map[string]string{
		"":                      "",
		"| 3 | what | kept | |": "names no test",
		"| 3 | w | kept | `p.TestB`, `p.TestA` |": "names p.TestB, which does not exist",
		"| 3 | w | kept | `q.TestA` |":            "names q.TestA, which does not exist",
		"| 3 | w | kept | `TestA` |":              "written package.TestName",
		"| 3 | w | perhaps | `p.TestA` |":         "neither kept nor different",
		"| 3 | w | not built | `p.TestA` |":       "is not built and names tests",
		"| 4 | w | kept | `p.TestA` |":            "is where 3 belongs",
		"no row":                                  "33 items are listed",
	} {
		text := good
		if change != "" {
			text = strings.Replace(good, "| 3 | what | kept | `p.TestA` |", change, 1)
		}
		got := strings.Join(behaviours(text, []string{"p.TestA"}), "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", change, got, want)
		}
	}
}
