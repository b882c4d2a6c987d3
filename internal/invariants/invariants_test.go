package invariants

import "testing"

func TestFailPanicsWithViolation(t *testing.T) {
	defer func() {
		v, ok := recover().(Violation)
		if !ok || v.Error() != "invariant violated: page 7 owned 2 times" {
			t.Fatalf("recovered %v", v)
		}
	}()
	Check(true, "unreachable")
	Check(false, "page %d owned %d times", 7, 2)
	t.Fatal("Check returned")
}
