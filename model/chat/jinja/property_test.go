package jinja

import (
	"context"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func testRuntime() *runtime {
	lim := Limits{}.orDefault()
	return &runtime{ctx: context.Background(), lim: lim, left: lim.Steps, valueBytes: lim.OutputBytes}
}

// try returns the result or the failure of f.
func try(f func() any) (v any, err error) {
	defer func() {
		if e := recovered(recover()); e != nil {
			err = e
		}
	}()
	return f(), nil
}

// TestSliceAgainstTwin: slicing equals a walk that follows Python's definition
// position by position.
func TestSliceAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "n")
		part := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Int64Range(-10, 10), func(i int64) any { return i }))
		key := &sliceKey{part.Draw(t, "lo"), part.Draw(t, "hi"), part.Draw(t, "step")}
		if key.step == any(int64(0)) {
			return
		}
		items := make([]any, n)
		for i := range items {
			items[i] = string(rune('a' + i))
		}
		want := []any{}
		step := int64(1)
		if key.step != nil {
			step = key.step.(int64)
		}
		at := func(v any, def, lo, hi int64) int64 {
			if v == nil {
				return def
			}
			i := v.(int64)
			if i < 0 {
				i += int64(n)
			}
			return max(lo, min(hi, i))
		}
		if step > 0 {
			for i, end := at(key.lo, 0, 0, int64(n)), at(key.hi, int64(n), 0, int64(n)); i < end; i += step {
				want = append(want, items[i])
			}
		} else {
			for i, end := at(key.lo, int64(n)-1, -1, int64(n)-1), at(key.hi, -1, -1, int64(n)-1); i > end; i += step {
				want = append(want, items[i])
			}
		}
		got, err := try(func() any { return testRuntime().slice(newList(items), key) })
		if err != nil || fmt.Sprint(got.(*List).items) != fmt.Sprint(want) {
			t.Fatalf("got %v %v, want %v", got, err, want)
		}
		text := ""
		for _, w := range want {
			text += w.(string)
		}
		s, err := try(func() any { return testRuntime().slice("abcdefgh"[:n], key) })
		if err != nil || s != text {
			t.Fatalf("text: got %v %v, want %q", s, err, text)
		}
	})
}

// TestArithmeticAgainstBig: integers equal big integers with floor division,
// or are refused outside 64 bits.
func TestArithmeticAgainstBig(t *testing.T) {
	number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-20, 20), rapid.SampledFrom([]int64{-1 << 63, 1<<63 - 1, 1 << 31, -1 << 31}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, y := big.NewInt(a), big.NewInt(b)
		want := map[string]*big.Int{"+": new(big.Int).Add(x, y), "-": new(big.Int).Sub(x, y), "*": new(big.Int).Mul(x, y)}
		if b != 0 {
			q, m := new(big.Int).QuoRem(x, y, new(big.Int))
			if m.Sign() != 0 && (m.Sign() < 0) != (y.Sign() < 0) {
				q.Sub(q, big.NewInt(1))
				m.Add(m, y)
			}
			want["//"], want["%"] = q, m
		}
		for op, w := range want {
			got, err := try(func() any { return arith(op, a, b) })
			if !w.IsInt64() && err != nil {
				continue
			}
			if err != nil || plain(got) != w.String() {
				t.Fatalf("%d %s %d = %v %v, want %v", a, op, b, got, err, w)
			}
		}
	})
}

// values draws template values that can be dict keys.
func values() *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int64Range(-2, 2), func(i int64) any { return i }),
		rapid.Map(rapid.SampledFrom([]float64{0, 1, -1, 0.5, 1e300}), func(f float64) any { return f }),
		rapid.Map(rapid.SampledFrom([]string{"", "a", "1", "None"}), func(s string) any { return s }),
	)
	return rapid.OneOf(leaf, rapid.SampledFrom([]any{longInt("9223372036854775808"), longInt("-9223372036854775809")}))
}

// TestHashMatchesEquality: two keys hash the same exactly when they are equal,
// and a Dict behaves as a list of pairs searched with ==.
func TestHashMatchesEquality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rt := testRuntime()
		keys := rapid.SliceOfN(values(), 1, 30).Draw(t, "keys")
		d := NewDict(0)
		var twin []*List
	insert:
		for i, k := range keys {
			rt.put(d, k, i)
			for _, p := range twin {
				eq := rt.equal(p.items[0], k)
				if eq != (hashKey(p.items[0]) == hashKey(k)) {
					t.Fatalf("%v and %v: equal %v", p.items[0], k, eq)
				}
				if eq {
					p.items[1] = i
					continue insert
				}
			}
			twin = append(twin, newTuple(k, i))
		}
		if d.Len() != len(twin) {
			t.Fatalf("%d keys, want %d", d.Len(), len(twin))
		}
		for i, p := range twin {
			if v, ok := d.get(p.items[0]); !ok || v != p.items[1] || !reflect.DeepEqual(d.keys[i], p.items[0]) {
				t.Fatalf("key %v: %v %v", p.items[0], v, ok)
			}
		}
	})
}

// TestSplitJoin: joining the parts of a split restores the text.
func TestSplitJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("ab ,\té"))).Draw(t, "s")
		n := rapid.IntRange(-1, 3).Draw(t, "n")
		for _, name := range []string{"split", "rsplit"} {
			v := strMethods[name].apply(testRuntime(), name, s, args{pos: []any{",", int64(n)}})
			var parts []string
			for _, p := range v.(*List).items {
				parts = append(parts, p.(string))
			}
			if strings.Join(parts, ",") != s || n >= 0 && len(parts) > n+1 {
				t.Fatalf("%s(%q, %d) = %q", name, s, n, parts)
			}
		}
		v := strMethods["split"].apply(testRuntime(), "split", s, args{})
		if want := strings.Fields(s); fmt.Sprint(v.(*List).items) != fmt.Sprint(want) {
			t.Fatalf("split(%q) = %v, want %v", s, v.(*List).items, want)
		}
	})
}
