package messages

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPageMapsAsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SliceOf(rapid.Custom(func(t *rapid.T) PageOwner { return PageOwner(rapid.IntRange(0, int(PageLeased)).Draw(t, "owner")) })).Draw(t, "map")
		text, err := PageMap(m).MarshalText()
		var back PageMap
		if err == nil {
			err = back.UnmarshalText(text)
		}
		if err != nil || string(back) != string(PageMap(m)) {
			t.Fatalf("%v became %s and then %v (%v)", m, text, back, err)
		}
	})
	if text, _ := (PageMap{PageFree, PageFree, PageEvictable, PageProtected, PageLeased, PageUnowned}).MarshalText(); string(text) != "2f1e1p1l1u" {
		t.Errorf("got %s", text)
	}
}

func FuzzPageMap(f *testing.F) {
	for _, text := range []string{"", "2f1e", "f", "2", "0f", "2x", "99999999999999999999f", "32768f1f", "-1f", "１f"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var m PageMap
		if m.UnmarshalText([]byte(text)) != nil {
			return
		}
		if len(m) > MostCells {
			t.Fatalf("%d pages", len(m))
		}
		again, _ := m.MarshalText()
		var back PageMap
		if err := back.UnmarshalText(again); err != nil || string(back) != string(m) {
			t.Fatalf("%q became %q: %v", text, again, err)
		}
	})
}

func TestMapsThatAreTooLongAreRefused(t *testing.T) {
	var m PageMap
	if err := m.UnmarshalText([]byte("32768f1f")); err == nil || !strings.Contains(err.Error(), "32768 in total") {
		t.Errorf("%d pages: %v", len(m), err)
	}
}

func TestShrunkMapsShowMostPages(t *testing.T) {
	var m PageMap
	for range 10 {
		m = append(m, PageFree, PageFree, PageLeased, PageEvictable)
	}
	m = append(m, PageLeased)
	if cells, per := m.Shrink(41); len(cells) != 41 || per != 1 {
		t.Errorf("%d cells of %d pages", len(cells), per)
	}
	cells, per := m.Shrink(11)
	text, _ := cells.MarshalText()
	if per != 4 || string(text) != "10f1l" {
		t.Errorf("%s, of %d pages each", text, per)
	}
	// Half and half shows what is used more.
	if cells, _ := (PageMap{PageFree, PageLeased}).Shrink(1); cells[0] != PageLeased {
		t.Errorf("got %s", cells[0])
	}
}
