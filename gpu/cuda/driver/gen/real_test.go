//go:build cuda

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRealHeader compares our cuda.h with the one that TROUPE_CUDA_H names: symbols and
// signatures of functions, values of constants, sizes of types, offsets of fields.
func TestRealHeader(t *testing.T) {
	real := os.Getenv("TROUPE_CUDA_H")
	if real == "" {
		t.Skip("TROUPE_CUDA_H names no cuda.h of NVIDIA's, so ours is not compared with it")
	}
	if filepath.Base(real) != "cuda.h" {
		t.Fatalf("TROUPE_CUDA_H is %s; it must name a file cuda.h", real)
	}
	text, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`#define CUDA_VERSION 12\d{3}`).Match(text) {
		t.Skipf("%s is not of CUDA 12, whose signatures package cu needs", real)
	}
	source := filepath.Join(t.TempDir(), "facts.c")
	if err := os.WriteFile(source, []byte(facts(read(t))), 0o644); err != nil {
		t.Fatal(err)
	}
	theirs := run(t, source, filepath.Dir(real))
	ours := run(t, source, "../include")
	if len(ours) != len(theirs) {
		t.Fatalf("%d and %d facts", len(ours), len(theirs))
	}
	for i := range ours {
		if ours[i] != theirs[i] {
			t.Errorf("our cuda.h has %q, %s has %q", ours[i], real, theirs[i])
		}
	}
	t.Logf("%d facts are equal", len(ours))
}

// facts is a program that prints what the cuda.h that it is compiled with says. Since it
// declares all functions again, it does not compile if a signature differs.
func facts(h header) string {
	var b strings.Builder
	b.WriteString("#include <cuda.h>\n#include <stddef.h>\n#include <stdio.h>\n#define TEXT(x) #x\n#define SYMBOL(x) TEXT(x)\n")
	for _, f := range h.functions {
		b.WriteString(f.declaration + "\n")
	}
	b.WriteString("int main(void) {\n")
	for _, f := range h.functions {
		fmt.Fprintf(&b, "\tprintf(\"symbol of %s: %%s\\n\", SYMBOL(%s));\n", f.name, f.name)
	}
	for _, name := range h.constants {
		fmt.Fprintf(&b, "\tprintf(\"%s = %%lld\\n\", (long long)%s);\n", name, name)
	}
	for _, name := range h.types {
		fmt.Fprintf(&b, "\tprintf(\"sizeof %s = %%zu\\n\", sizeof(%s));\n", name, name)
	}
	for _, name := range h.fields {
		typ, field, _ := strings.Cut(name, ".")
		fmt.Fprintf(&b, "\tprintf(\"offset of %s = %%zu\\n\", offsetof(%s, %s));\n", name, typ, field)
	}
	b.WriteString("\treturn 0;\n}\n")
	return b.String()
}

func run(t *testing.T, source, include string) []string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "facts")
	if out, err := exec.Command("gcc", "-w", "-I", include, "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("with %s/cuda.h: %v\n%s", include, err, out)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
