package jinja

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// bigDict has n keys.
func bigDict(n int) *Dict {
	d := NewDict(n)
	for i := range n {
		d.Set("k"+plain(int64(i)), int64(i))
	}
	return d
}

// TestWorkIsChargedFirst: what would take more steps than are left is refused
// before memory is taken for it.
func TestWorkIsChargedFirst(t *testing.T) {
	const most = 1 << 20
	vars := map[string]any{"s": strings.Repeat("\n", 4<<20), "c": strings.Repeat("\x01", 4<<20), "w": strings.Repeat("a ", 2<<20), "d": bigDict(250_000)}
	for _, src := range []string{
		"{{ s.splitlines() | length }}",
		"{{ s | indent | length }}",
		"{{ d.items() }}",
		"{{ d | items | list | length }}",
		"{{ d | dictsort | length }}",
		"{{ d | list | sort | length }}",
		"{{ d | tojson }}",
		"{{ w.split() | length }}",
		"{{ w.split(' ') | length }}",
		"{{ w.rsplit(' ') | length }}",
		"{{ w | list | length }}",
		"{% for c in w %}{% endfor %}",
		"{{ w.replace('a', 'bbbbbbbb') | length }}",
		"{{ w * 100 }}",
		"{{ w | indent(9999999) }}",
		"{{ [1] * 9999999 }}",
	} {
		tmpl, err := Parse("t", src)
		if err != nil {
			t.Fatal(err)
		}
		n := allocated(func() {
			var e *Error
			_, err := tmpl.Render(context.Background(), Limits{Steps: 100_000}, vars)
			if !errors.As(err, &e) || e.Kind != LimitError {
				t.Errorf("%s: error %.200v, want a limit", src, err)
			}
		})
		if n > most {
			t.Errorf("%s: refused after %d bytes, want at most %d", src, n, most)
		}
	}
}

// TestTextsEndAtTheLimit: escapes make a text longer than it was; it is cut off
// there, not when it is whole.
func TestTextsEndAtTheLimit(t *testing.T) {
	c := strings.Repeat("\x01", 1<<20)
	vars := map[string]any{"c": c, "twice": NewFunction("twice", "", func([]any, func(any) string) (any, error) { return c + c, nil })}
	for _, src := range []string{"{{ c | tojson }}", "{{ [c] }}", "{{ [c, c] | tojson }}", "{% set x = twice() %}"} {
		tmpl, err := Parse("t", src)
		if err != nil {
			t.Fatal(err)
		}
		n := allocated(func() {
			var long *LengthError
			_, err := tmpl.Render(context.Background(), Limits{OutputBytes: 1 << 20}, vars)
			if !errors.As(err, &long) || long.Max != 1<<20 || long.Bytes <= long.Max {
				t.Errorf("%s: error %v, want a LengthError", src, err)
			}
		})
		if n > 6<<20 && !racedetector.Enabled {
			t.Errorf("%s: refused after %d bytes, want at most %d", src, n, 6<<20)
		}
	}
}

// TestReadingIsCharged: reading a long text or a large integer is charged for,
// it, each time.
func TestReadingIsCharged(t *testing.T) {
	const size = 1 << 20
	a := strings.Repeat("a", size)
	vars := map[string]any{"a": a, "b": a[:size-1] + "b", "d": map[string]any{a: 1}, "big": strings.Repeat("7", 4300),
		"f": NewFunction("f", "text", func([]any, func(any) string) (any, error) { return "", nil })}
	for src, want := range map[string]int64{
		"{{ (a | length) > 0 }}":    size / 32,
		"{{ a == b }}":              size / 32,
		"{{ a < b }}":               size / 32,
		"{{ a in b }}":              size / 32,
		"{{ a in d }}":              size / 32,
		"{{ d.get(b) }}":            size / 32,
		"{{ d[b] is defined }}":     size / 32,
		"{{ a[0] }}":                size / 32,
		"{{ a | float }}":           size / 32,
		"{{ a.startswith(b) }}":     2 * (size / 32),
		"{{ big | int > 0 }}":       4300 / 32,
		"{{ a.format() | length }}": size / 8,
		"{{ f(a) }}":                2 * size,
	} {
		tmpl, err := Parse("t", src)
		if err != nil {
			t.Fatal(err)
		}
		// It fails with less than it costs, and not with a little more.
		const rest = 20_000
		_, err = tmpl.Render(context.Background(), Limits{Steps: want}, vars)
		var e *Error
		if !errors.As(err, &e) || e.Kind != LimitError {
			t.Errorf("%s takes fewer than %d steps: error %v", src, want, err)
		}
		_, err = tmpl.Render(context.Background(), Limits{Steps: 8*want + rest}, vars)
		if errors.As(err, &e) && e.Kind == LimitError {
			t.Errorf("%s takes more than %d steps: error %v", src, 8*want+rest, err)
		}
	}
}

// TestFollowedTextsAreBounded: a text longer than any prompt is refused before
// it is copied, and all copies together are bounded.
func TestFollowedTextsAreBounded(t *testing.T) {
	tmpl, err := Parse("t", "x")
	if err != nil {
		t.Fatal(err)
	}
	long := map[string]any{"s": &List{items: []any{"", strings.Repeat("<", 1<<20)}}}
	n := allocated(func() {
		var e *LengthError
		_, err := tmpl.RenderMarked(context.Background(), Limits{OutputBytes: 1<<20 - 1}, nil, long, []rune("<"))
		if !errors.As(err, &e) || e.Bytes != 1<<20 || e.Max != 1<<20-1 {
			t.Errorf("error %v, want a LengthError", err)
		}
	})
	if n > 1<<16 {
		t.Errorf("refused after %d bytes", n)
	}
	many := &List{}
	for range 64 {
		many.items = append(many.items, strings.Repeat("<", 1<<16))
	}
	n = allocated(func() {
		var e *Error
		_, err := tmpl.RenderMarked(context.Background(), Limits{Steps: 100_000}, nil, map[string]any{"s": many}, []rune("<"))
		if !errors.As(err, &e) || e.Kind != LimitError {
			t.Errorf("error %v, want a limit", err)
		}
	})
	if n > 4<<20 { // 100,000 steps are 800,000 bytes, beside what strings.Map grows through
		t.Errorf("%d bytes copied", n)
	}
	// Stand-ins count as the characters that they replace.
	all, err := Parse("t", "{{ s }}")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("<", 1000)
	got, err := all.RenderMarked(context.Background(), Limits{OutputBytes: 1000}, nil, map[string]any{"s": text}, []rune("<"))
	if err != nil || got.Text != text || len(got.Client) != 1 || got.Client[0] != [2]int{0, 1000} {
		t.Errorf("1000 bytes of 1000: %d bytes %v, %v", len(got.Text), got.Client, err)
	}
}
