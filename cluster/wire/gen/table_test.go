package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of docs/wire.md anew")

// The Go types are what the generator makes of the source.
func TestGenerated(t *testing.T) {
	files, _, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 {
		t.Errorf("the generator writes %d files, want 1", len(files))
	}
	for name, want := range files {
		if have, err := os.ReadFile(filepath.Join("..", name)); err != nil || string(have) != want {
			t.Errorf("%s differs from what gen writes (%v); run make generate", name, err)
		}
	}
}

// docs/wire.md has every message and field of the source, with their comments. With
// -rewrite it is written anew.
func TestWireIsDocumented(t *testing.T) {
	const page, begin, end = "../../../docs/wire.md", "<!-- from cluster/wire/wire.proto -->\n", "<!-- end of wire.proto -->\n"
	_, messages, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	want := tables(t, messages)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(text), begin)
	have, after, closed := strings.Cut(rest, end)
	switch {
	case !opened || !closed:
		t.Fatalf("docs/wire.md has no section from %q to %q", begin, end)
	case have == want:
	case *rewrite:
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("the tables of docs/wire.md do not follow from wire.proto; go test ./cluster/wire/gen -rewrite writes them anew, then read them")
	}
}

// tables has one table for each message, in the order of the source.
func tables(t *testing.T, file protoreflect.FileDescriptor) string {
	var b strings.Builder
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| number | field | type | meaning |\n|---:|---|---|---|\n", m.Name(), comment(t, m))
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			fmt.Fprintf(&b, "| %d | `%s` | %s | %s |\n", f.Number(), f.Name(), kind(f), comment(t, f))
		}
	}
	return b.String() + "\n"
}

// kind is the type of a field.
func kind(f protoreflect.FieldDescriptor) string {
	name := f.Kind().String()
	if m := f.Message(); m != nil {
		name = fmt.Sprintf("[%s](#%s)", m.Name(), strings.ToLower(string(m.Name())))
	}
	switch oneof := f.ContainingOneof(); {
	case f.IsList():
		return "list of " + name
	case oneof != nil:
		return name + ", one of `" + string(oneof.Name()) + "`"
	}
	return name
}

// comment is what the source says about a message or a field; it must say something.
func comment(t *testing.T, d protoreflect.Descriptor) string {
	t.Helper()
	text := strings.Join(strings.Fields(d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments), " ")
	if text == "" {
		t.Errorf("wire.proto has no comment on %s", d.FullName())
	}
	if strings.Contains(text, "|") {
		t.Errorf("the comment on %s has a |, which ends a cell of the table", d.FullName())
	}
	return text
}
