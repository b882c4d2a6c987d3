//go:build cuda

package cuda

import (
	"math"
)

// ropeBytes is how much of a table is copied at once.
const ropeBytes = 4 << 20

// newRopeTable computes angles in float64 and rounds their cosines and sines, as gpu.Rope
// says, for all positions. The caller closes the table.
func newRopeTable(m *model, frequencies []float64, context int) (*ropeTable, error) {
	t := &ropeTable{frequencies: frequencies, context: context}
	row := int64(8 * len(frequencies)) // bytes
	var err error
	if t.memory, err = take(m.device, "the tables of rotary angles", max(1, row*int64(context)), "Lower context-length"); err != nil || row == 0 {
		return t, err
	}
	staging, err := m.device.Pin(max(row, min(row*int64(context), ropeBytes)))
	if err != nil {
		return t, err
	}
	defer staging.Close()
	each := int(int64(len(staging.Bytes())) / row)
	for from := 0; from < context; from += each {
		n := min(each, context-from)
		values := valuesOf[float32](staging.Bytes(), 0, n*2*len(frequencies))
		for p := range n {
			for j, f := range frequencies {
				sin, cos := math.Sincos(float64(from+p) * f)
				at := (p*len(frequencies) + j) * 2
				values[at], values[at+1] = float32(cos), float32(sin)
			}
		}
		if err := m.stream.Upload(t.memory, int64(from)*row, staging, 0, int64(n)*row); err != nil {
			return t, err
		}
		if err := m.stream.Synchronize(); err != nil {
			return t, err
		}
	}
	return t, nil
}
