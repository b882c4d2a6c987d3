//go:build cuda

package cuda

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// tensorMaps describe the matrices of products to the TMA unit of Hopper, which copies boxes
// of them. They lie one after the other in the device's memory.
type tensorMaps struct {
	device *driver.Device
	memory *driver.Memory
	list   [][mapBytes]byte
	known  map[matrix]uint64 // address of the map
	err    error
}

// matrix is one of 16-bit numbers.
type matrix struct {
	dtype         gpu.DType
	address       uint64
	rows, columns int
}

const mapBytes = 128

// Box of a copy: see kernels/tensor_gemm_wgmma.cu.
const (
	boxRows    = 64
	boxColumns = 64
	boxSwizzle = 128
)

// mostMaps is how many maps a program needs at most: of weights and of twins of buffers.
func mostMaps(p *gpu.Program) int { return len(p.Weights) + len(p.Buffers) }

// of returns the address of the map of a matrix of 16-bit numbers.
func (t *tensorMaps) of(dtype gpu.DType, address uint64, rows, columns int) uint64 {
	m := matrix{dtype, address, rows, columns}
	if at, is := t.known[m]; is {
		return at
	}
	element := driver.Float16Elements
	if dtype == gpu.BF16 {
		element = driver.BFloat16Elements
	}
	encoded, err := t.device.EncodeTile(driver.Tile{
		Type: element, Address: address, Sizes: []uint64{uint64(columns), uint64(rows)}, Strides: []uint64{uint64(2 * columns)},
		Box: []uint32{boxColumns, boxRows}, Swizzle: boxSwizzle,
	})
	if int64(len(t.list)+1)*mapBytes > t.memory.Size() {
		err = errors.Join(err, fmt.Errorf("bug: there are more than %d tensor maps; please report this", len(t.list)))
	}
	t.err = errors.Join(t.err, err)
	at := t.memory.Address() + uint64(len(t.list))*mapBytes
	t.list = append(t.list, encoded)
	if t.known == nil {
		t.known = map[matrix]uint64{}
	}
	t.known[m] = at
	return at
}

// upload copies the maps to the device.
func (t *tensorMaps) upload(s *driver.Stream) error {
	if t.err != nil || len(t.list) == 0 {
		return t.err
	}
	staging, err := t.device.Pin(int64(len(t.list)) * mapBytes)
	if err != nil {
		return err
	}
	for i, m := range t.list {
		copy(staging.Bytes()[i*mapBytes:], m[:])
	}
	err = s.Upload(t.memory, 0, staging, 0, int64(len(t.list))*mapBytes)
	return errors.Join(err, s.Synchronize(), staging.Close())
}
