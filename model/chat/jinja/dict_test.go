package jinja

import (
	"fmt"
	"testing"
)

func TestDictDelete(t *testing.T) {
	for _, size := range []int{3, 20} { // with and without an index
		d := NewDict(size)
		for i := range size {
			d.Set(fmt.Sprint(i), i)
		}
		d.Delete("1")
		d.Delete("none")
		_, there := d.Get("1")
		last, _ := d.Get(fmt.Sprint(size - 1))
		if there || d.Len() != size-1 || last != size-1 {
			t.Errorf("of %d: 1 is there: %v; %d are left; the last is %v", size, there, d.Len(), last)
		}
	}
}
