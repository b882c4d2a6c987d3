package jsonschema

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// TestAtMostIsTheComplementOfAtLeast compares both as languages.
func TestAtMostIsTheComplementOfAtLeast(t *testing.T) {
	n := newNumberTerms(regex.NewSet(regex.Limits{}))
	for _, text := range []string{"0", "-0.0", "1", "9", "10", "19", "100", "2031", "-2032", "-1", "0.5", "-0.5", "0.05", "10.01", "99.99", "-100.305", "1e3", "1.5e-3", "4096.0"} {
		d, ok := parseDecimal(text)
		if !ok {
			t.Fatalf("%s is not a decimal", text)
		}
		for _, inclusive := range []bool{true, false} {
			got, want := n.atMost(d, inclusive), n.not(n.atLeast(d, !inclusive))
			more, err := n.set.Contains(want.plain, got.plain)
			if err != nil {
				t.Fatal(err)
			}
			less, err := n.set.Contains(got.plain, want.plain)
			if err != nil {
				t.Fatal(err)
			}
			if !more || !less || got.all != want.all || got.some != want.some {
				t.Errorf("up to %s, itself %v: nothing too much %v, all %v, signs %v and %v, want %v and %v",
					text, inclusive, more, less, got.all, got.some, want.all, want.some)
			}
		}
	}
}

// TestMultiples asks about many numbers and divides them.
func TestMultiples(t *testing.T) {
	for _, text := range []string{"1", "2", "3", "4", "5", "7", "8", "9", "10", "11", "12", "16", "20", "25", "32", "40", "60", "64", "100", "125", "128", "160", "256", "500", "1000", "1024", "2000",
		"0.1", "0.2", "0.25", "0.5", "0.01", "0.05", "0.001", "0.015625", "1.5", "2.5", "7.5", "12.5", "0.4", "1.25", "0.75", "2.4", "1000000"} {
		n := newNumberTerms(regex.NewSet(regex.Limits{}))
		d, _ := parseDecimal(text)
		multiples, ok := n.multipleOf(d)
		if !ok {
			t.Errorf("multiples of %s are refused", text)
			continue
		}
		divisor, _ := new(big.Rat).SetString(text)
		for whole := range 3_000 {
			if whole > 1_100 {
				whole *= 37
			}
			for _, fraction := range []string{"", ".0", ".000", ".5", ".25", ".7", ".050", ".015625", ".125", ".001", ".4000"} {
				number := fmt.Sprint(whole) + fraction
				value, _ := new(big.Rat).SetString(number)
				want := value.Quo(value, divisor).IsInt()
				if n.set.Matches(multiples.plain, number) != want || n.set.Matches(multiples.plain, "-"+number) != want {
					t.Fatalf("%s as a multiple of %s: %v", number, text, !want)
				}
			}
		}
		if n.set.Matches(multiples.plain, "00") || n.set.Matches(multiples.plain, "") || n.set.Matches(multiples.plain, "0.") {
			t.Errorf("multiples of %s are spelled in ways that numbers are not", text)
		}
	}
}
