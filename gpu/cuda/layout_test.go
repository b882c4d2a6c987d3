//go:build cuda

package cuda

import (
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/cudaemu"
)

// The structs of the host have the layout of those of the kernels.
func TestLayout(t *testing.T) {
	program, err := cudaemu.Program([]string{"testdata/layout.cc"}, []string{"kernels"}, cudaemu.Options{Header: "driver/include"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	ours := []any{stepHeader{}, sampleSpec{}, scoreSpec{}, tokenCount{}, tokenBias{}, pageWrite{}, sampleResult{}, scoreResult{}, topEntry{}}
	if len(lines) != len(ours) {
		t.Fatalf("%d structs of kernels: %q; %d of the host", len(lines), lines, len(ours))
	}
	for i, value := range ours {
		typ := reflect.TypeOf(value)
		want := fmt.Sprint(typ.Size())
		for f := range typ.NumField() {
			want += fmt.Sprintf(" %d", typ.Field(f).Offset)
		}
		if name, got, _ := strings.Cut(lines[i], " "); got != want {
			t.Errorf("%s has size and offsets %s, %s has %s", name, got, typ.Name(), want)
		}
	}
}
