package trace

import "github.com/troupe-engine/troupe/telemetry/recording"

// MooncakeBlock is the number of tokens in a block of a Mooncake trace.
const MooncakeBlock = 512

// mooncake reads the traces that came with "Mooncake: Trading More Storage for
// Less Computation", FAST 2025.
type mooncake struct{ *records }

type mooncakeLine struct {
	Timestamp *float64      `json:"timestamp"`     // ms
	Input     *int64        `json:"input_length"`  // tokens
	Output    *int64        `json:"output_length"` // tokens
	HashIDs   recording.IDs `json:"hash_ids"`      // one per begun block
}

func openMooncake(path string, _ Options) (Reader, error) {
	r, err := openRecords(path)
	return mooncake{r}, err
}

func (m mooncake) Next() (*Request, error) {
	var v mooncakeLine
	if err := m.decode(&v); err != nil {
		return nil, err
	}
	if v.HashIDs == nil {
		return nil, m.fail("hash_ids is missing")
	}
	r := &Request{Blocks: v.HashIDs, BlockSize: MooncakeBlock}
	return r, m.fill(r, field[float64]{"timestamp", v.Timestamp}, field[int64]{"input_length", v.Input}, field[int64]{"output_length", v.Output}, true)
}
