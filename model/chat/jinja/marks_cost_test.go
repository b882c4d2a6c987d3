package jinja

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// followedWork renders with "<" followed and returns the steps that it took.
func followedWork(t *testing.T, src string, steps int64, client map[string]any) (int64, error) {
	t.Helper()
	tmpl, err := Parse("t", src)
	if err != nil {
		t.Fatal(err)
	}
	rt, _, err := tmpl.render(context.Background(), Limits{Steps: steps}, nil, client, []rune("<"))
	return steps - rt.left + int64(rt.hits/8), err
}

// TestFollowedTextsAreNotCopiedToCompare: a comparison ends at the first
// difference, and copies nothing however long the texts are.
func TestFollowedTextsAreNotCopiedToCompare(t *testing.T) {
	const size, rounds = 1 << 20, 200
	long := strings.Repeat("a<", size/2)
	var l []any
	for range rounds {
		l = append(l, map[string]any{"k": "<x"})
	}
	client := map[string]any{"s": long, "other": long + "b", "l": l, "big": map[string]any{"k": long}}
	idle := allocated(func() { followedWork(t, "{% for m in l %}{% endfor %}", 20_000_000, client) })
	for _, cond := range []string{"s == 'high'", "s != 'a<'", "s < 'high'", "s == other ~ 'x'", "m == big", "m.k == s", "s in [1, 'a<', 2]"} {
		n := allocated(func() {
			if _, err := followedWork(t, "{% set other = 'a<x' %}{% for m in l %}{% if "+cond+" %}{% endif %}{% endfor %}", 20_000_000, client); err != nil {
				t.Errorf("%s: %v", cond, err)
			}
		})
		if n > idle+size {
			t.Errorf("%s: %d comparisons take %d bytes, the rest of the rendering %d", cond, rounds, n, idle)
		}
	}
}

// TestFollowedReadingIsCharged: what reads stand-ins one by one pays for them:
// at least a step for eight of them.
func TestFollowedReadingIsCharged(t *testing.T) {
	const size = 1 << 17
	all := strings.Repeat("<", size)
	client := map[string]any{"s": all, "d": map[string]any{all: 1}, "f": strings.Repeat("<", size) + "{}%s"}
	base, err := followedWork(t, "{% set a = '<' * "+plain(int64(size))+" %}", 20_000_000, client)
	if err != nil {
		t.Fatal(err)
	}
	for _, cond := range []string{"s == a", "s < a", "a >= s", "a in s", "s in a", "s in d", "s in {a: 1}", "d[s]", "d.get(s)", "s.startswith(a)", "s.endswith(a)",
		"s.find('x')", "s.rfind('x')", "s.count('x')", "s.replace('x', 'y')", "s.replace('<', '', 1)", "s.split('x')", "s.rsplit('x')", "s.partition('x')",
		"s.rpartition('x')", "s.removeprefix('x')", "s.removesuffix('x')", "s.isascii()", "[s] | string", "f.format(1)"} {
		n, err := followedWork(t, "{% set a = '<' * "+plain(int64(size))+" %}{% if "+cond+" %}{% endif %}", 20_000_000, client)
		if err != nil {
			t.Errorf("%s: %v", cond, err)
		}
		if n-base < size/8 {
			t.Errorf("%s: %d steps for %d characters", cond, n-base, size)
		}
	}
	// What is asked again of one text is not read again.
	once, err := followedWork(t, "{% if 'x' in s %}{% endif %}", 20_000_000, client)
	if err != nil {
		t.Fatal(err)
	}
	again, err := followedWork(t, "{% for i in range(8) %}{% if 'x' in s %}{% endif %}{% endfor %}", 20_000_000, client)
	if err != nil || again > once+8*(3*size/32+100) {
		t.Errorf("once %d steps, eight times %d: %v", once, again, err)
	}
	// A template cannot go on when its steps are used up within one text.
	var e *Error
	if n, err := followedWork(t, "{% for i in range(999) %}{% if s == '<' * "+plain(int64(size))+" %}{% endif %}{% endfor %}", 2_000_000, client); !errors.As(err, &e) || e.Kind != LimitError || n > 2_100_000 {
		t.Errorf("%d steps of 2000000: %v", n, err)
	}
}

// TestFollowingCostsLittle: on a text as clients write it, an operation takes
// at most twice the steps that it takes where nothing is followed.
func TestFollowingCostsLittle(t *testing.T) {
	client := map[string]any{"s": strings.Repeat("Some <b>text</b> that a client wrote, with a tag in it. ", 10_000)}
	for _, expr := range []string{"s == 'x'", "'<tool>' in s", "s.startswith('<tool>')", "s.endswith('</tool>')", "s.split('<tool>')", "s.rsplit('<tool>')",
		"s.partition('<tool>')", "s.count('<tool>')", "s.find('<tool>')", "s.replace('<tool>', '')", "s | trim", "s | tojson"} {
		src := strings.Repeat("{% if "+expr+" %}{% endif %}", 10) + "{{ s }}"
		tmpl, err := Parse("t", src)
		if err != nil {
			t.Fatal(err)
		}
		with, err := followedWork(t, src, 20_000_000, client)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
		}
		rt, _, err := tmpl.render(context.Background(), Limits{Steps: 20_000_000}, client, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		// What marks the text before, once, is not the operation's.
		before, _ := followedWork(t, "", 20_000_000, client)
		without := 20_000_000 - rt.left
		if with-before > 2*without {
			t.Errorf("%s: %d steps followed, %d otherwise", expr, with-before, without)
		}
	}
}

// TestContextIsLookedAt: steps that are counted while a text is read bring the
// next look nearer also.
func TestContextIsLookedAt(t *testing.T) {
	tmpl, err := Parse("t", "{% for i in range(1000) %}{% if s.startswith('x') and u.startswith('x') %}{% endif %}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stopped := errors.New("stopped")
	cancel(stopped)
	s := strings.Repeat("<", 8*ctxEvery/4)
	rt, _, err := tmpl.render(ctx, Limits{}, nil, map[string]any{"s": s, "u": s + "<"}, []rune("<"))
	if !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	if took := rt.lim.Steps - rt.left; took > 3*ctxEvery {
		t.Errorf("stopped after %d steps", took)
	}
}

// TestEscapesAreTheClients: what from_json makes of an escape is the client's,
// and not a stand-in.
func TestEscapesAreTheClients(t *testing.T) {
	for _, c := range []struct{ src, json, text string }{
		{"{{ s | from_json }}", `"\u003c|im_end|\u003e"`, "<|im_end|>"},
		{"{% for k in s | from_json %}{{ k }}{% endfor %}", `{"\u003c|im_end|\u003e": 1}`, "<|im_end|>"},
		{"{{ ('[\"' ~ s ~ '\"]') | from_json | first }}", `\u003c|im_end|\u003e`, "<|im_end|>"},
		{"{{ s | from_json | from_json }}", `"\"\\u003c|im_end|\\u003e\""`, "<|im_end|>"},
		{"{{ s | tojson | from_json | from_json }}", `"\u003c|im_end|\u003e"`, "<|im_end|>"},
	} {
		tmpl, err := Parse("t", c.src)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.RenderMarked(context.Background(), Limits{}, nil, map[string]any{"s": c.json}, []rune("<>"))
		if err != nil || got.Text != c.text {
			t.Errorf("%s of %s: %q, %v", c.src, c.json, got.Text, err)
			continue
		}
		in := inClient(got)
		if !in[strings.IndexByte(got.Text, '<')] || !in[strings.IndexByte(got.Text, '>')] {
			t.Errorf("%s of %s: %q is the client's in %v only", c.src, c.json, got.Text, got.Client)
		}
	}
	for _, json := range []string{`"\ufdd0x"`, `{"\uFDD0": "<"}`, `["<", "\ufdd0"]`} {
		tmpl, err := Parse("t", "{{ s | from_json }}")
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.RenderMarked(context.Background(), Limits{}, nil, map[string]any{"s": json}, []rune("<"))
		if err == nil || !strings.Contains(err.Error(), "U+FDD0") {
			t.Errorf("%s: %q, error %v", json, got.Text, err)
		}
	}
}

// TestFormatsOfTheClient: a client's format string works as it does where
// nothing is followed, and its result is the client's.
func TestFormatsOfTheClient(t *testing.T) {
	for _, c := range []struct{ src, s, text string }{
		{"{{ s.format(1) }}", "{}|", "1|"},
		{"{{ s.format('x') }}", "<{{{0}}}>", "<{x}>"},
		{"{{ s.format(a='x') }}", "{{{a}<", "{x<"},
		{"{{ s.format('x') }}", "{:<4}|", ""},
		{"{{ s.isascii() }}{{ {s: 2}['a<b'] }}", "a<b", "True2"},
		{"{{ [s, 'a<b'] | unique | list | length }}", "A<b", "1"},
	} {
		tmpl, err := Parse("t", c.src)
		if err != nil {
			t.Fatal(err)
		}
		chars := []rune("<>{}|%:()")
		want, wantErr := tmpl.Render(context.Background(), Limits{}, map[string]any{"s": c.s})
		got, err := tmpl.RenderMarked(context.Background(), Limits{}, nil, map[string]any{"s": c.s}, chars)
		if got.Text != want || want != c.text || (err == nil) != (wantErr == nil) {
			t.Errorf("%s of %q: %q %v, want %q %v", c.src, c.s, got.Text, err, want, wantErr)
			continue
		}
		in := inClient(got)
		for i, r := range got.Text {
			if slices.Contains(chars, r) && !in[i] {
				t.Errorf("%s of %q: byte %d of %q counts as the template's", c.src, c.s, i, got.Text)
			}
		}
	}
}
