package locked

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestBuffer(t *testing.T) {
	var b Buffer
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for range 100 {
				fmt.Fprintf(&b, "line of %d\n", i)
				if s := b.String(); !strings.HasSuffix(s, "\n") {
					t.Errorf("half a line: %q", s)
				}
			}
		})
	}
	writers.Wait()
	for i := range 8 {
		if n := strings.Count(b.String(), fmt.Sprintf("line of %d\n", i)); n != 100 {
			t.Errorf("%d lines of %d", n, i)
		}
	}
}
