package policies

import (
	"strings"
	"testing"
)

func TestByName(t *testing.T) {
	for _, name := range Names() {
		if policy, err := ByName(name); err != nil || policy() == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := ByName("lrru")
	if err == nil || !strings.Contains(err.Error(), `"lrru" is not known; use one of fifo, filo, gittins, lfu, lru, mru, priority, slru`) {
		t.Errorf("error %v", err)
	}
}

func TestHistory(t *testing.T) {
	if History("lru", 100) != 0 || History("gittins", 100) != 400 {
		t.Errorf("lru remembers %d pages, gittins %d", History("lru", 100), History("gittins", 100))
	}
}
