package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fileName is a Go file in a comment, with or without its folder.
var fileName = regexp.MustCompile(`[\w/]+\.go\b`)

// A reader follows the names in comments, so the files must exist: those named
// x.go in any comment, and those that a package comment lists under Parts.
func TestCommentsNameFilesThatExist(t *testing.T) {
	for _, file := range goFiles(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		folder := path.Dir(filepath.ToSlash(file))
		if ast.IsGenerated(parsed) || folder == "internal/archtest" { // whose comments have made-up names
			continue
		}
		var names []string
		for _, group := range parsed.Comments {
			names = append(names, fileName.FindAllString(group.Text(), -1)...)
		}
		for _, name := range append(names, partsOf(parsed.Doc.Text())...) {
			if pattern := strings.Contains(name, "FAMILY"); !pattern && !exists(folder, name) {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
	}
}

// partsOf gives the files that a package comment lists as in
//
//	# Parts
//
//		load, weights, arena_*    weights from the file into panels
func partsOf(comment string) (files []string) {
	_, list, _ := strings.Cut(comment, "# Parts\n")
	for line := range strings.Lines(list) {
		row, listed := strings.CutPrefix(line, "\t")
		switch {
		case listed:
			names, _, _ := strings.Cut(row, "  ")
			for name := range strings.SplitSeq(names, ", ") {
				files = append(files, name+".go")
			}
		case files != nil && strings.TrimSpace(line) != "":
			return files
		}
	}
	return files
}

func exists(folder, name string) bool {
	if found, _ := filepath.Glob(filepath.Join(root, folder, name)); found != nil {
		return true
	}
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil && strings.Contains(name, "/")
}

func TestCommentsNameFilesIsStrict(t *testing.T) {
	parts := partsOf("Package x.\n\n# Parts\n\n\tdoc, filenames_*   a\n\tlost               b\n\nText.\n\n# Floors\n\n\tother\n")
	if len(parts) != 3 {
		t.Fatalf("Parts lists 3 files, found %q", parts)
	}
	for name, want := range map[string]bool{
		parts[0]: false, parts[1]: true, parts[2]: false, // from internal/archtest
		"messages/doc.go": true, "messages/lost.go": false, "go.mod": false,
	} {
		if exists("internal/archtest", name) != want {
			t.Errorf("exists(%q) is %v", name, !want)
		}
	}
}
