package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"port", "host", "page-size", "temperature"}
	for _, c := range []struct {
		name, want string
		limit      int
	}{
		{"prot", "port", 2}, {"page_size", "page-size", 3}, {"temprature", "temperature", 4}, {"port", "port", 0},
		{"hose", "host", 1}, {"zebra", "", 2}, {"", "", 2}, {"prot", "", 1}, {strings.Repeat("x", 1000), "", 2000},
	} {
		if got := Nearest(c.name, known, c.limit); got != c.want {
			t.Errorf("Nearest(%.20q, limit %d) = %q, want %q", c.name, c.limit, got, c.want)
		}
	}
}
