package archtest

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// checked is a package with the types of its expressions, without its tests.
type checked struct {
	path  string // within the repository
	fset  *token.FileSet
	files map[string]*ast.File // by name without folder and ending
	pkg   *types.Package
	info  *types.Info
}

// exports maps import paths to the compiler's export data.
var exports = sync.OnceValues(func() (map[string]string, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./...")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			files[path] = file
		}
	}
	return files, err
})

// typesOf type-checks one package of the repository.
func typesOf(t *testing.T, path string) *checked {
	t.Helper()
	files, err := exports()
	if err != nil {
		t.Fatalf("go list -export: %v", err)
	}
	list := exec.Command("go", "list", "-f", `{{join .GoFiles "\n"}}`, "./"+path)
	list.Dir, list.Stderr = root, os.Stderr
	names, err := list.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", path, err)
	}
	c := &checked{path: path, fset: token.NewFileSet(), files: map[string]*ast.File{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}}
	var all []*ast.File
	for name := range strings.FieldsSeq(string(names)) {
		file, err := parser.ParseFile(c.fset, filepath.Join(root, path, name), nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		c.files[strings.TrimSuffix(name, ".go")] = file
		all = append(all, file)
	}
	config := types.Config{Importer: importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })}
	if c.pkg, err = config.Check(module+path, c.fset, all, c.info); err != nil {
		t.Fatal(err)
	}
	return c
}
