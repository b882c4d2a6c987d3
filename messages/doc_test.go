package messages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// The protocol table of doc.go has a row for every message and receiver that
// the code has, and no other.
func TestProtocolTableMatchesTheCode(t *testing.T) {
	documented := documentedMessages(t)
	declared := declaredMessages(t)
	for _, d := range declared {
		if !slices.Contains(documented, d) {
			t.Errorf("%s is missing in the protocol table of doc.go", d)
		}
	}
	for _, d := range documented {
		if !slices.Contains(declared, d) {
			t.Errorf("the protocol table of doc.go has %s, which the code does not accept", d)
		}
	}
	if len(declared) < 30 {
		t.Errorf("only %d messages found; the scan is broken", len(declared))
	}
}

// documentedMessages returns "Message to receiver" for every row.
func documentedMessages(t *testing.T) []string {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.Contains(cells[2], "→") {
			continue
		}
		if name := strings.TrimSpace(cells[1]); name != "message" {
			for _, to := range strings.Split(cells[2], "→")[1:] {
				rows = append(rows, name+" to "+strings.TrimSpace(to))
			}
		}
	}
	return rows
}

// declaredMessages reads the marker methods: func (*Name) toReceiver().
func declaredMessages(t *testing.T) []string {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || !strings.HasPrefix(fn.Name.Name, "to") {
				continue
			}
			star, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				t.Errorf("%s: messages go by pointer", fn.Name.Name)
				continue
			}
			found = append(found, star.X.(*ast.Ident).Name+" to "+strings.ToLower(fn.Name.Name[2:]))
		}
	}
	return found
}
