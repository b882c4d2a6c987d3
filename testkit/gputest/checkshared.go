package gputest

import (
	"errors"
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

// checkShared: models that share weights compute the same, each on its own pool, and the
// weights are kept until the last one is closed. A device may have no such models.
func checkShared(d gpu.Device) (err error) {
	p, w := Build(Shapes()[0], 7)
	spec := Pool(p, gpu.PoolSpec{PageSize: 4, Pages: 8})
	first, err := Load(d, p, w, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, first.Close()) }()
	sharer, is := first.(gpu.Sharer)
	if !is {
		return nil
	}
	second := sharer.Share()
	defer func() { err = errors.Join(err, second.Close()) }()
	if err := second.NewPool(spec); err != nil {
		return err
	}
	if first.Bytes()["weights"] == 0 || second.Bytes()["weights"] != 0 {
		return fmt.Errorf("the weights are counted as %d and %d bytes", first.Bytes()["weights"], second.Bytes()["weights"])
	}
	logits := func(m gpu.Model) ([][]float32, error) {
		part := Whole([]int32{1, 2, 3, 4, 5}, []int32{3, 1})
		part.KeepLogits = true
		rows, err := Fresh(m, part)
		if err != nil {
			return nil, err
		}
		return rows[0].Logits, nil
	}
	want, err := logits(first)
	if err != nil {
		return err
	}
	alike := func(what string) error {
		got, err := logits(second)
		if err == nil {
			err = Same(got, want)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	if err := alike("the second model"); err != nil {
		return err
	}
	if err := first.Close(); err != nil {
		return err
	}
	return alike("after the first model was closed")
}
