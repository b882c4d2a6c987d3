package pages_test

import (
	"fmt"

	"github.com/troupe-engine/troupe/memory/pages"
)

func ExampleAllocator() {
	a := pages.NewAllocator(8)
	first, _ := a.Alloc(3, nil)
	second, _ := a.Alloc(2, nil)
	fmt.Println(first, second, a.Free(), "free")

	// Freed pages are used again after those that were never allocated.
	a.Release(first[1:])
	next, ok := a.Alloc(4, nil)
	fmt.Println(next, ok)

	// All or nothing.
	_, ok = a.Alloc(2, nil)
	fmt.Println(ok, a.Free(), "free")
	// Output:
	// [1 2 3] [4 5] 3 free
	// [6 7 8 2] true
	// false 1 free
}
