package httpapi

import (
	"testing"

	"pgregory.net/rapid"
)

// Charges of some clients, compared with sums that are computed again after each
// change.
func TestBudgetAgainstSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const total = 16 * smallBody
		b := newBudget(total)
		charges := make([]*charge, 12)
		for i := range charges {
			charges[i] = &charge{from: b, client: string(rune('a' + i%3))}
		}
		for range rapid.IntRange(1, 60).Draw(t, "changes") {
			c := charges[rapid.IntRange(0, len(charges)-1).Draw(t, "body")]
			before, want := c.bytes, rapid.Int64Range(0, total).Draw(t, "bytes")
			if rapid.Bool().Draw(t, "small") {
				want %= smallBody + 1
			}
			refused := c.set(want) != ""
			if refused {
				c.bytes = want // what it would be
			}
			var used, large int64
			clients := map[string]int64{}
			for _, one := range charges {
				used += one.bytes
				if one.bytes > smallBody {
					large += one.bytes
					clients[one.client] += one.bytes
				}
			}
			grows := want > before && want > smallBody
			fits := used <= total && !(grows && used > total/4*3) && !(grows && clients[c.client] > total/2)
			if want > before && refused == fits || want <= before && refused {
				t.Fatalf("from %d to %d bytes: refused %t; %d used, %d large, %v", before, want, refused, used, large, clients)
			}
			if refused {
				c.bytes = before
			}
		}
		for _, c := range charges {
			if c.set(0) != "" {
				t.Fatal("nothing does not fit")
			}
		}
		if b.used != 0 || len(b.clients) != 0 {
			t.Fatalf("%d bytes and %v are left", b.used, b.clients)
		}
	})
}

// A client that fills the memory for large bodies leaves the reserve to small ones,
// and half of it to other clients.
func TestLargeBodiesLeaveRoom(t *testing.T) {
	const total = 16 * smallBody
	b := newBudget(total)
	hog, other := &charge{from: b, client: "hog"}, &charge{from: b, client: "other"}
	if full := hog.set(total/2 + 1); full == "" {
		t.Error("one client has more than half")
	}
	if full := hog.set(total / 2); full != "" {
		t.Errorf("half is refused: %s", full)
	}
	if full := other.set(total/4 + 1); full == "" {
		t.Error("large bodies are in the reserve")
	}
	if full := other.set(total / 4); full != "" {
		t.Errorf("the other client's share is refused: %s", full)
	}
	for i := range 4 {
		small := &charge{from: b, client: "hog"}
		if full := small.set(smallBody); full != "" {
			t.Errorf("small body %d: %s", i, full)
		}
	}
	if full := (&charge{from: b}).set(1); full == "" {
		t.Error("there is more than the total")
	}
}
